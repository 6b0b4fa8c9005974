"""Requests as an engine would make them, for resources that only this check knows."""

from __future__ import annotations

from collections.abc import Sequence

from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson, dumps
from stdworker.model.kind import Stage, Transition
from stdworker.model.manifest import Reaction
from stdworker.model.outcome import ChildSpec
from stdworker.model.resource import Operation, Resource
from stdworker.model.task import ReactionRequest
from stdworker.testing.conformance.samples import NoSample, sample
from stdworker.testing.conformance.subject import Subject

STATUS = RawJson(b'{"check":true}')  # of resources that are said to have one
FINALIZER = "check"  # where a delete is asked for that no kind file declares


def make_request(subject: Subject, reaction: Reaction, name: str, uid: str, spec: RawJson | None) -> ReactionRequest:
    """One reaction to run on a resource at its first generation."""
    kind = subject.kind
    resource = Resource(uid, kind.kind, name, kind.version, generation=1, spec_json=spec)
    bundle = subject.kind_file.default_bundle if subject.kind_file else None
    request = ReactionRequest(
        reaction.stage, reaction.trigger, reaction.name, kind, resource, default=ProviderConfig(None, bundle)
    )
    match reaction.stage:
        case Stage.DELETE:
            resource.finalizers = (_finalizer(subject, reaction),)
        case Stage.OPERATE:
            request.operation = Operation(reaction.verb or reaction.name, _input(reaction))
        case Stage.REACT:
            resource.status_json = STATUS
            request.transition = Transition.SYNCED
            request.dedup_token = f"{uid}:synced:1:1:check"
    return request


def add_children(request: ReactionRequest, composed: Sequence[ChildSpec]) -> None:
    """The children that were composed before, as they are when they have settled."""
    children = [
        Resource("", child.kind, child.name, child.kind_version, 1, status_json=STATUS, is_ready=True, phase="Ready")
        for child in composed
    ]
    request.observed = request.descendants = children


def _finalizer(subject: Subject, reaction: Reaction) -> str:
    return reaction.finalizer or (subject.manifest.finalizer_name if subject.manifest else "") or FINALIZER


def _input(reaction: Reaction) -> RawJson | None:
    try:
        return dumps(sample(reaction.input_schema)) if reaction.input_schema is not None else None
    except NoSample:
        return None

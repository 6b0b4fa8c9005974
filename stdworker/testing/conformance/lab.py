"""Where cases try the program: they send it requests and get exchanges back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import NAMESPACE_URL, uuid4, uuid5

from stdworker.bridge.program import Program, task_variables
from stdworker.bridge.redact import Redactor
from stdworker.bridge.runtime import BridgeRuntime
from stdworker.framing.messages import Answer, Broken
from stdworker.framing.request import request_line
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson, dumps, join_members, members
from stdworker.model.kind import Stage, Transition
from stdworker.model.manifest import Reaction
from stdworker.model.resource import Operation, Resource
from stdworker.model.task import ReactionRequest
from stdworker.testing.conformance.descendants import kill_marked
from stdworker.testing.conformance.exchange import Ending, Exchange, judge_answer, judge_oneshot
from stdworker.testing.conformance.peer import Peer
from stdworker.testing.conformance.reproduce import call_command, pipe_command
from stdworker.testing.conformance.samples import NoSample, sample
from stdworker.testing.conformance.subject import Subject
from stdworker.testing.conformance.verdict import Skipped

SECRET = "check-secret-5b1f0c9e"
POLL_SECONDS = 0.02  # between looks at what can't be waited for
STATUS = RawJson(b'{"check":true}')  # of resources that are said to have one


class Lab:
    """Runs the program of one subject. Each process that it starts is ended with the case that asked for it.

    `mark` is in the environment of all of them.
    """

    def __init__(self, subject: Subject, runtime: BridgeRuntime) -> None:
        self.subject = subject
        self.launch = subject.launch
        self.runtime = runtime
        self.seconds = min(subject.timeout_seconds, subject.launch.timeout_seconds or subject.timeout_seconds)
        self.grace_seconds = min(self.launch.grace_seconds, self.seconds)
        self.program = Program(subject.kind, self.launch, Redactor(), runtime)
        self.mark = f"STDWORKER_CHECK={uuid4()}"
        self.base: Exchange | None = None  # how the program answers an ordinary request

    @property
    def streams(self) -> bool:
        return self.launch.mode == "stream"

    @property
    def answered(self) -> Exchange:
        """The exchange that every other is compared with."""
        assert self.base is not None
        return self.base

    # ---- requests ----

    def request(
        self, name: str, spec: RawJson | None = None, reaction: Reaction | None = None, *, no_spec: bool = False
    ) -> ReactionRequest:
        """A request about the resource `check-NAME`, by default with the base spec and the first reaction."""
        reaction = reaction or self.subject.reactions[0]
        kind = self.subject.kind
        resource = Resource(
            uid=str(uuid5(NAMESPACE_URL, f"stdworker-check:{name}")),
            kind=kind.kind,
            name=f"check-{name}",
            kind_version=kind.version,
            generation=1,
            spec_json=None if no_spec else spec or self.subject.base_spec,
            finalizers=self._finalizers(reaction),
        )
        request = ReactionRequest(
            stage=reaction.stage,
            trigger=reaction.trigger,
            reaction=reaction.name,
            kind=kind,
            resource=resource,
            default=ProviderConfig(None, self.subject.kind_file.default_bundle if self.subject.kind_file else None),
        )
        self._add_stage(request, reaction)
        return request

    def _finalizers(self, reaction: Reaction) -> tuple[str, ...]:
        manifest = self.subject.manifest
        if reaction.stage is not Stage.DELETE:
            return ()
        return (reaction.finalizer or (manifest.finalizer_name if manifest else "") or "check",)

    def _add_stage(self, request: ReactionRequest, reaction: Reaction) -> None:
        resource = request.resource
        match reaction.stage:
            case Stage.OPERATE:
                request.operation = Operation(reaction.verb or reaction.name, _input(reaction))
            case Stage.REACT:
                request.transition = Transition.SYNCED
                request.dedup_token = f"{resource.uid}:synced:1:1:check"
                resource.status_json = STATUS
            case Stage.ROLLUP:
                child = Resource("", resource.kind, f"{resource.name}-child", resource.kind_version, generation=1)
                child.is_ready, child.phase, child.status_json = True, "Ready", STATUS
                request.descendants = (child,)

    def line(self, request: ReactionRequest, settings: RawJson | None = None) -> tuple[str, bytes]:
        """The request's id and its line."""
        request_id = self.runtime.new_id()
        milliseconds = int(self.seconds * 1_000)
        return request_id, request_line(request_id, request, settings or self.launch.settings, milliseconds)

    def with_secret(self) -> RawJson:
        """The settings and one more, which is secret. Raises Skipped when the settings are no object."""
        known = members(self.launch.settings or RawJson(b"{}"))
        if known is None:
            raise Skipped("its settings are not an object")
        return join_members({**known, "check_token": dumps(SECRET)})

    # ---- exchanges ----

    async def ask(self, request: ReactionRequest, *, settings: RawJson | None = None) -> Exchange:
        """Run one request in a process of its own."""
        request_id, line = self.line(request, settings)
        exchange = await self.send(request_id, line, task_variables(request))
        return replace(exchange, command=call_command(self.subject, request))

    async def send(
        self,
        request_id: str,
        line: bytes,
        variables: Mapping[str, str] | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Exchange:
        """Send these bytes to a new process and judge what it makes of them."""
        async with self.running(variables, environment=environment, cwd=cwd) as peer:
            if self.streams:
                return await self.send_to(peer, request_id, line)
            started = time.monotonic()
            peer.write(line)
            peer.close_input()
            await peer.ended(self.seconds)
            judged = await asyncio.to_thread(judge_oneshot, line, peer, self.seconds)
            return replace(judged, seconds=time.monotonic() - started)

    async def send_raw(
        self,
        request_id: str,
        line: bytes,
        *,
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
        prefix: tuple[str, ...] = (),
    ) -> Exchange:
        """As `send`, for what no command but a pipe can do again; `prefix` is what goes before the program there."""
        found = await self.send(request_id, line, environment=environment, cwd=cwd)
        return replace(found, command=pipe_command(self.subject, line, prefix))

    def seen(self, peer: Peer, sent: bytes = b"") -> Exchange:
        """Evidence of what a process has done so far, without a judgement."""
        stderr = peer.stderr.value().decode("utf-8", "replace")
        command = pipe_command(self.subject, sent)
        return Exchange(sent, bytes(peer.stdout), stderr, peer.exit, Ending.SILENT, command=command)

    async def ask_in(self, peer: Peer, request: ReactionRequest) -> Exchange:
        """Run one more request in a process that runs already."""
        request_id, line = self.line(request)
        return replace(await self.send_to(peer, request_id, line), command=call_command(self.subject, request))

    async def send_to(self, peer: Peer, request_id: str, line: bytes) -> Exchange:
        started = time.monotonic()
        since = len(peer.messages())
        peer.write(line)

        def decided() -> bool:
            return peer.flooded or any(isinstance(message, Answer | Broken) for message in peer.messages()[since:])

        await peer.until(decided, self.seconds)
        judged = judge_answer(line, request_id, peer, self.seconds, since=since)
        return replace(judged, seconds=time.monotonic() - started)

    @asynccontextmanager
    async def running(
        self,
        variables: Mapping[str, str] | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> AsyncIterator[Peer]:
        """A process of the program; whatever it does, it is gone afterwards."""
        command = self.program.command()
        name, _, value = self.mark.partition("=")
        told = {**(command.environment if environment is None else environment), **(variables or {}), name: value}
        process = await self.runtime.start(replace(command, environment=told, cwd=cwd or command.cwd))
        peer = Peer(process, self.launch.limits)
        try:
            yield peer
        finally:
            await self.runtime.stop(process, (), killed_by="shutdown")
            kill_marked(self.mark)


def _input(reaction: Reaction) -> RawJson | None:
    try:
        return dumps(sample(reaction.input_schema)) if reaction.input_schema is not None else None
    except NoSample:
        return None

"""Where cases try the program: they send it requests and get exchanges back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import uuid4, uuid5

from stdworker.bridge.program import Program, task_variables
from stdworker.bridge.redact import Redactor
from stdworker.bridge.runtime import BridgeRuntime
from stdworker.bridge.socket_connection import dial
from stdworker.errors import ConfigError
from stdworker.framing.request import request_line
from stdworker.model.json_text import RawJson, dumps
from stdworker.model.kind import Stage, Trigger
from stdworker.model.manifest import Reaction
from stdworker.model.resource import Resource
from stdworker.model.task import ReactionRequest
from stdworker.testing.conformance.exchange import (
    Ending,
    Exchange,
    is_decisive,
    judge_answer,
    judge_children,
    judge_oneshot,
    seen,
)
from stdworker.testing.conformance.peer import Peer, ProcessPeer, SocketPeer
from stdworker.testing.conformance.reproduce import call_command, is_plain, pipe_command
from stdworker.testing.conformance.requests import add_children, make_request
from stdworker.testing.conformance.subject import Subject

POLL_SECONDS = 0.02  # between looks at what can't be waited for
MAKING = (Stage.WORK, Stage.COMPOSE)  # stages after which a resource exists


class Lab:
    """Runs the program of one subject. Each process that it starts is ended with the case that asked for it.

    `made` are the resources that the program has made and not deleted yet. `mark` is in its environment, so that
    it can know that it is being checked.
    """

    def __init__(self, subject: Subject, runtime: BridgeRuntime) -> None:
        self.subject = subject
        self.launch = subject.launch
        self.runtime = runtime
        self.seconds = min(subject.timeout_seconds, subject.launch.timeout_seconds or subject.timeout_seconds)
        self.grace_seconds = min(self.launch.grace_seconds, self.seconds)
        self.program = Program(subject.kind, self.launch, Redactor(), runtime)
        self._check = uuid4()
        self.mark = f"STDWORKER_CHECK={self._check}"
        self.made: dict[str, Resource] = {}
        self.base: Exchange | None = None  # how the program answers an ordinary request

    @property
    def persistent(self) -> bool:
        """Does one process, or one connection, take many requests?"""
        return self.launch.persistent

    @property
    def answered(self) -> Exchange:
        """The exchange that every other is compared with."""
        assert self.base is not None
        return self.base

    # ---- requests ----

    def request(
        self, name: str, spec: RawJson | None = None, reaction: Reaction | None = None, *, no_spec: bool = False
    ) -> ReactionRequest:
        """A request about the resource `check-NAME`, by default with the base spec and the reaction that makes it."""
        reaction = reaction or self.subject.maker or self.subject.reactions[0]
        document = None if no_spec else spec or self.subject.base_spec
        return make_request(self.subject, reaction, f"check-{name}", str(uuid5(self._check, name)), document)

    def deletion(self, name: str) -> ReactionRequest:
        """The request to delete one of `made`."""
        assert self.subject.deleter is not None
        made = self.made[name]
        request = make_request(self.subject, self.subject.deleter, name, made.uid, made.spec_json)
        request.resource.status_json = made.status_json
        return request

    def line(self, request: ReactionRequest, settings: RawJson | None = None) -> tuple[str, bytes]:
        """The request's id, which no program can guess by counting, and its line."""
        request_id = f"check-{self.runtime.new_id()}"
        milliseconds = int(self.seconds * 1_000)
        return request_id, request_line(request_id, request, settings or self.launch.settings, milliseconds)

    def line_unjudged(self, request: ReactionRequest) -> tuple[str, bytes]:
        """The same for a request whose end nobody may see; what it makes is deleted at the end."""
        if request.stage in MAKING:
            self.made.setdefault(request.resource.name, request.resource)
        return self.line(request)

    # ---- exchanges ----

    async def ask(
        self,
        request: ReactionRequest,
        *,
        more: bytes = b"",
        settings: RawJson | None = None,
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
        prefix: tuple[str, ...] = (),
    ) -> Exchange:
        """Run one request in a process of its own.

        `more` are members that the request has as well; `prefix` is what a shell must say before the program to
        do what `environment` and `cwd` do here.
        """
        request_id, line = self.line(request, settings)
        line = line.removesuffix(b"}\n") + more + b"}\n"
        plain = is_plain(request) and not more and settings is None and not prefix
        async with self.running(task_variables(request), environment=environment, cwd=cwd) as peer:
            found = await (self._talk(peer, request_id, line) if self.persistent else self._run(peer, line))
        command = call_command(self.subject, request) if plain else pipe_command(self.subject, line, prefix)
        return self._noted(request, replace(found, command=command))

    async def ask_in(self, peer: Peer, request: ReactionRequest) -> Exchange:
        """Run one more request in a process that runs already."""
        request_id, line = self.line(request)
        found = await self._talk(peer, request_id, line)
        command = call_command(self.subject, request) if is_plain(request) else pipe_command(self.subject, line)
        return self._noted(request, replace(found, command=command))

    async def react(self, prefix: str, reaction: Reaction) -> Exchange:
        """Run a reaction on a resource that was made for it, unless it is the one that makes."""
        name = f"{prefix}-{reaction.name}"
        maker = self.subject.maker
        if maker is None or reaction is maker:
            return await self.ask(self.request(name, reaction=reaction))
        made = await self.ask(self.request(name, reaction=maker))
        request = self.request(name, reaction=reaction)
        request.resource.status_json = status_of(made) or request.resource.status_json
        if reaction.trigger is Trigger.CHILDREN_SETTLED:
            add_children(request, made.response.outcome.children if made.response else ())
        return await self.ask(request)

    async def _run(self, peer: Peer, line: bytes) -> Exchange:
        started = time.monotonic()
        peer.write(line)
        peer.close_input()
        await peer.ended(self.seconds)
        return replace(judge_oneshot(line, peer, self.seconds), seconds=time.monotonic() - started)

    async def _talk(self, peer: Peer, request_id: str, line: bytes) -> Exchange:
        started = time.monotonic()
        since = len(peer.messages())
        peer.write(line)

        before = peer.asked
        peer.asked = {*before, request_id}

        def decided() -> bool:
            return peer.flooded or any(is_decisive(message, before) for message in peer.messages()[since:])

        await peer.until(decided, self.seconds)
        judged = judge_answer(line, request_id, peer, self.seconds, since=since)
        return replace(judged, seconds=time.monotonic() - started)

    def _noted(self, request: ReactionRequest, found: Exchange) -> Exchange:
        """Hold the answer against the request, and remember what the program has made, to delete it at the end."""
        resource = request.resource
        found = judge_children(found, [child.ref for child in request.observed])
        if request.stage in MAKING and found.ending is Ending.SUCCESS:
            resource.status_json = status_of(found)
            self.made[resource.name] = resource
        elif request.stage is Stage.DELETE:
            self.made.pop(resource.name, None)
        return found

    def seen(self, peer: Peer, sent: bytes = b"") -> Exchange:
        """Evidence of what a process has done so far, without a judgement."""
        return replace(seen(sent, peer), command=pipe_command(self.subject, sent))

    @asynccontextmanager
    async def running(
        self,
        variables: Mapping[str, str] | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> AsyncIterator[Peer]:
        """The program at work: a process of its own, or a connection to one that is there already."""
        if self.launch.mode == "socket":
            async with self._connected() as connected:
                yield connected
        else:
            async with self.process(variables, environment=environment, cwd=cwd) as started:
                yield started

    @asynccontextmanager
    async def process(
        self,
        variables: Mapping[str, str] | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> AsyncIterator[ProcessPeer]:
        """A process of the program; whatever it does, it is gone afterwards."""
        command = self.program.command()
        name, _, value = self.mark.partition("=")
        told = {**(command.environment if environment is None else environment), **(variables or {}), name: value}
        process = await self.runtime.start(replace(command, environment=told, cwd=cwd or command.cwd))
        peer = ProcessPeer(process, self.launch.limits)
        try:
            yield peer
        finally:
            await self.runtime.stop(process, (), killed_by="shutdown")

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[SocketPeer]:
        address = self.launch.socket or ""
        try:
            async with asyncio.timeout(self.seconds):
                peer = await dial(address, lambda: SocketPeer(self.launch.limits))
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error or "it took too long"
            hint = "in mode socket nothing is started: run the program first"
            raise ConfigError(f"can't connect to {address}: {why}", path="/socket", hint=hint) from None
        try:
            yield peer
        finally:
            peer.transport.abort()


def status_of(found: Exchange) -> RawJson | None:
    """The status in an answer, verbatim."""
    status = found.response.outcome.status if found.response else None
    return None if status is None else dumps(status)

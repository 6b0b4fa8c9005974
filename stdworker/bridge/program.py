"""One program under one effective config: how it is started, and what its answers mean."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace

from stdworker.bridge.launch import LaunchConfig
from stdworker.bridge.redact import Redactor
from stdworker.bridge.result import BridgeResult, program_failure, response_failure
from stdworker.bridge.runtime import BridgeRuntime
from stdworker.bridge.sideband import Sideband
from stdworker.errors import ConfigError, ResponseError, TaskFailure, Terminal
from stdworker.framing.request import request_line
from stdworker.framing.response import UNKNOWN_FIELDS_SHOWN_MAX, Response, check_edges, parse_response
from stdworker.model.kind import KindVersion
from stdworker.model.task import ReactionRequest
from stdworker.process.account import Account, find_account, refuse_harmful
from stdworker.process.command import Command, resolve
from stdworker.process.confinement import Confinement
from stdworker.process.environment import program_environment
from stdworker.process.spawn import Process

OFF_LOOP_BYTES = 65_536  # a response above this is read in a thread
REPORT_SHARE = 0.05  # of the time left until a task's deadline, to stop its program and say why
REPORT_SECONDS_MAX = 0.25


class Program:
    """The executable of a kind with its arguments, environment, limits and secrets."""

    def __init__(self, kind: KindVersion, launch: LaunchConfig, redact: Redactor, runtime: BridgeRuntime) -> None:
        self.kind = kind
        self.launch = launch
        self.redact = redact
        self.runtime = runtime
        self._resolved: Command | None = None

    def command(self) -> Command:
        """The program file, found once. Raises ConfigError when it can't be found or executed."""
        if self._resolved is None:
            launch = self.launch
            account = find_account(launch.user, launch.group) if launch.user or launch.group else None
            environment = program_environment(
                self.runtime.variables,
                inherit=launch.inherit_env,
                passthrough=launch.env_passthrough,
                extra={"STDWORKER_KIND": self.kind.kind, **(account.variables if account else {}), **launch.env},
            )
            resolved = resolve(launch.command, launch.args, launch.cwd, environment)
            self._resolved = replace(resolved, confinement=_confinement(launch, account))
        return self._resolved

    def check(self) -> None:
        """Look the program up anew; raises ConfigError when it is ours to start and isn't there."""
        self._resolved = None
        if self.launch.mode != "socket":
            self.command()

    async def start(self, variables: Mapping[str, str]) -> Process:
        """Start a process. Raises ConfigError or Retry, saying why it can't be."""
        try:
            return await self.runtime.start(self._with(variables))
        except ConfigError:
            self.check()  # says it better, or finds the program that has moved
            return await self.runtime.start(self._with(variables))

    def _with(self, variables: Mapping[str, str]) -> Command:
        command = self.command()
        return replace(command, environment={**command.environment, **variables}) if variables else command

    def line(self, request_id: str, request: ReactionRequest, seconds: float | None) -> bytes:
        """The request as one line; `seconds` is the time that it has. Raises Terminal when it can't be written."""
        deadline_ms = None if seconds is None else max(0, int(seconds * 1000))
        try:
            line = request_line(request_id, request, self.launch.settings, deadline_ms)
        except UnicodeDecodeError:
            text = "a document of the task is not UTF-8; the broker should have refused it"
            raise Terminal(text, reason="BadRequest", code="not_utf8") from None
        if request.transcript is not None:
            request.transcript.sent(line)
        return line

    def time_limit(self, request: ReactionRequest) -> float | None:
        """Seconds for one request from now: the shorter of the config's timeout and the task's deadline.

        The task's ends a little early: at the very deadline the worker reports for itself, and knows no stderr.
        """
        own = self.launch.timeout_seconds
        if request.deadline is None:
            return own
        left = request.deadline - time.monotonic()
        left -= min(REPORT_SECONDS_MAX, left * REPORT_SHARE)
        return left if own is None else min(own, left)

    def sideband(self) -> Sideband:
        """A new one, for a process of this program or a connection to it."""
        return Sideband(self.kind.kind, self.redact, self.launch.limits.stderr_tail_bytes, self.runtime.counters)

    async def read(self, document: bytes, request: ReactionRequest, sideband: Sideband) -> BridgeResult:
        """What a response means: an outcome, or the failure that it states or is."""
        try:
            response = await self.parse(document)
            if response.error is None:
                check_edges(response.outcome, (resource.ref for resource in request.observed))
        except ResponseError as error:
            return BridgeResult(failure=self.redacted(response_failure(error, sideband.shown_tail())))
        failure = self._judge_unknown(response, sideband)
        if failure is None and response.error is not None:
            failure = self.redacted(program_failure(response.error, terminal=response.error.terminal))
            failure.status = response.outcome.status
        if failure is not None:
            return BridgeResult(failure=failure)
        return BridgeResult(outcome=response.outcome)

    async def parse(self, document: bytes) -> Response:
        depth_max = self.launch.limits.depth
        if len(document) <= OFF_LOOP_BYTES:
            return parse_response(document, depth_max=depth_max)
        return await asyncio.to_thread(parse_response, document, depth_max=depth_max)

    def redacted(self, failure: TaskFailure) -> TaskFailure:
        failure.message = self.redact(failure.message)
        failure.args = (failure.message,)
        return failure

    def _judge_unknown(self, response: Response, sideband: Sideband) -> TaskFailure | None:
        if not response.unknown:
            return None
        names = ", ".join(response.unknown[:UNKNOWN_FIELDS_SHOWN_MAX])
        more = len(response.unknown) - UNKNOWN_FIELDS_SHOWN_MAX
        text = f"the response has fields that the protocol doesn't know: {names}" + f" and {more} more" * (more > 0)
        if self.launch.strict:
            return Terminal(text, reason="BadResponse", code="unknown_field")
        sideband.warn(text)
        return None


def _confinement(launch: LaunchConfig, account: Account | None) -> Confinement | None:
    if account is not None:
        refuse_harmful(launch.env)
    limits = launch.limits
    confinement = Confinement(limits.memory_bytes, limits.cpu_seconds, limits.open_files, account)
    confinement.check()
    return confinement or None


def task_variables(request: ReactionRequest) -> dict[str, str]:
    """What the environment of a process that runs one request says about it."""
    resource = request.resource
    return {
        "STDWORKER_NAME": resource.name,
        "STDWORKER_UID": resource.uid,
        "STDWORKER_GENERATION": str(resource.generation),
        "STDWORKER_REACTION": request.reaction,
    }

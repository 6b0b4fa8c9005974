"""A program as a provider: what a plugin author wraps an executable with."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from stdworker.bridge.launch import (
    LaunchConfig,
    check_command,
    check_exact,
    check_sealed,
    effective_launch,
    parse_launch,
)
from stdworker.bridge.oneshot import run_oneshot
from stdworker.bridge.pools import Pools
from stdworker.bridge.program import Program
from stdworker.bridge.record import Recorder, records_folder
from stdworker.bridge.redact import Redactor
from stdworker.bridge.result import BridgeResult, as_result
from stdworker.bridge.runtime import BridgeRuntime, Counters
from stdworker.bridge.supervision import Mistakes
from stdworker.bridge.view import ProgramView
from stdworker.errors import ConfigError, Released, TaskFailure
from stdworker.model.config import ProviderConfig, merge
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome
from stdworker.model.task import ReactionRequest
from stdworker.process.command import Signature, signature

PROGRAMS_MAX = 256  # effective configs that are kept read
MISTAKE_SECONDS = 60.0  # after which an unready one-shot kind gets another chance to start its program

log = logging.getLogger("stdworker.bridge")

_Layers = tuple[RawJson | None, RawJson | None]


class ProgramProvider:
    """Serves one kind with a program.

    `base_config` and `base_bundle` are those of a kind file, under the broker's; `fixed_command` is a program that
    no config may change, `default_command` one that applies when no config names another. With
    `sealed_by_default` a resource's own config may only change `settings` and `timeout_seconds`, unless the
    default config says otherwise. `path` names the file that the kind comes from. Requests are recorded in
    `record_file`, or when the config asks for it in the kind's own file. `on_ready_change` is called when
    what `ready` answers may have changed, so that nobody has to wait for the next poll.
    """

    def __init__(
        self,
        kind: KindVersion,
        *,
        default_command: str | None = None,
        fixed_command: str | None = None,
        base_config: RawJson | None = None,
        base_bundle: bytes | None = None,
        sealed_by_default: bool = False,
        path: str | None = None,
        record_file: Path | None = None,
        run: BridgeRuntime,
    ) -> None:
        self._kind = kind
        self._default_command = default_command
        self._fixed_command = fixed_command
        self._base = base_config
        self._base_bundle = base_bundle
        self._sealed_by_default = sealed_by_default
        self._path = path
        self._record_file = record_file
        self._recorder = Recorder(record_file or records_folder(run.variables) / f"{kind}.jsonl", run)
        self._runtime = run
        self._default = ProviderConfig()
        self._programs: OrderedDict[_Layers, Program] = OrderedDict()
        self._pools = Pools(run, self._ready_changed)
        self._mistakes = Mistakes()
        self._mistaken_at = 0.0
        self._mistaken_file: Signature = ()
        self._closed = False
        self._located = ""
        self.readiness_reason = ""
        self.on_ready_change: Callable[[], None] | None = None
        run.users += 1

    @property
    def kind(self) -> KindVersion:
        return self._kind

    @property
    def path(self) -> str | None:
        """The file that the kind comes from, for lists of kinds."""
        return self._path

    @property
    def counters(self) -> Counters:
        """What happened so far, over all kinds that share the runtime."""
        return self._runtime.counters

    @property
    def credit(self) -> int | None:
        """How many tasks under the default config run at once; None when each has a process of its own."""
        program = self._default_program()
        return program.launch.slots if program is not None and program.launch.persistent else None

    async def work(self, request: ReactionRequest) -> Outcome:
        """Run the program for one request. Raises Terminal, Retry or Released."""
        result = await self.run(request)
        if result.failure is not None:
            raise result.failure
        assert result.outcome is not None
        return result.outcome

    async def run(self, request: ReactionRequest) -> BridgeResult:
        """As `work`, with all that is known about the run and with the failure as a value."""
        return await as_result(self._run(request))

    async def on_config(self, config: ProviderConfig) -> None:
        """Take the kind's default config. Running persistent programs hear of new settings if they asked to."""
        before = self._default_program()
        self._default = config
        self._programs.clear()
        self._mistakes.mended()
        after = self._default_program()
        self._pools.keep(after if after is not None and after.launch.persistent else None)
        if before is not None and (after is None or after.launch.pool_key != before.launch.pool_key):
            self._pools.close_idle(before)
        if after is not None and after.launch.persistent:
            pool = self._pools.open(after, evict=True)
            if pool is not None:
                pool.start()
                pool.tell_config(after.launch.settings)

    async def ready(self) -> bool:
        """Whether the default config is legal, its program is there, and (persistent) alive and willing."""
        self.readiness_reason = self._not_ready_reason()
        return not self.readiness_reason

    async def close(self) -> None:
        """End every process of this kind. Waits for them, at most about twice the grace period."""
        if self._closed:
            return
        self._closed = True
        await self._pools.close()
        self._runtime.users -= 1
        if not self._runtime.users:
            await self._runtime.close()

    def view(self) -> ProgramView:
        """What runs now. Starts nothing."""
        default = self._default_program()
        key = default.launch.pool_key if default is not None else None
        pools = tuple(pool.view(default=pool.program.launch.pool_key == key) for pool in self._pools)
        return ProgramView(
            mode=default.launch.mode if default is not None else None,
            ready=not self.readiness_reason,
            reason=self.readiness_reason,
            breaker_open=any(pool.breaker_open for pool in pools if pool.default),
            pools=pools,
        )

    # ---- which program ----

    def _program(self, default: RawJson | None, override: RawJson | None) -> Program:
        key = (default, override)
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = self._read(default, override)
            if len(self._programs) > PROGRAMS_MAX:
                self._programs.popitem(last=False)
        return program

    def _read(self, default: RawJson | None, override: RawJson | None) -> Program:
        check_exact(default)
        check_exact(override)
        base = merge(self._base, default)
        check_sealed(base, override, sealed_by_default=self._sealed_by_default)
        redact = Redactor(base, override)
        try:
            launch = self._launch(effective_launch(self._base, default, override))
        except ConfigError as error:
            error.message = redact(error.message)
            raise
        return Program(self._kind, launch, redact, self._runtime)

    def _launch(self, effective: RawJson | None) -> LaunchConfig:
        if self._fixed_command is None:
            return parse_launch(effective, default_command=self._default_command)
        check_command(effective, self._fixed_command)
        launch = parse_launch(effective, default_command=self._fixed_command)
        return replace(launch, command=self._fixed_command)  # a link that the config named may lead elsewhere by then

    async def _run(self, request: ReactionRequest) -> BridgeResult:
        if self._closed:
            raise Released("the provider is closed", reason="ShuttingDown", code="shutting_down")
        if self._base_bundle is not None and request.default.bundle is None:
            request = replace(request, default=replace(request.default, bundle=self._base_bundle))
        program = self._program(request.default.spec, request.override.spec)
        if self._record_file is None and not program.launch.record:
            return await self._ask(program, request)
        config = effective_launch(self._base, request.default.spec, request.override.spec)
        return await self._recorder.run(program, request, config, partial(self._ask, program))

    async def _ask(self, program: Program, request: ReactionRequest) -> BridgeResult:
        if not program.launch.persistent:
            return await self._run_oneshot(program, request)
        pool = self._pools.find(program) or await self._pools.wait(program, request.deadline)
        try:
            return await pool.run(request, program)
        finally:
            if not pool.busy:
                self._pools.freed()

    async def _run_oneshot(self, program: Program, request: ReactionRequest) -> BridgeResult:
        try:
            result = await run_oneshot(program, request)
        except ConfigError as error:
            if self._is_default(program) and self._mistakes.made(error):
                self._mistaken_at, self._mistaken_file = time.monotonic(), _file_of(program)
                self._ready_changed()
            raise
        if self._mistakes.any and self._is_default(program) and self._mistakes.mended():
            self._ready_changed()
        return result

    def _is_default(self, program: Program) -> bool:
        """A resource's own mistake is not the kind's."""
        default = self._default_program()
        return default is not None and default.launch.pool_key == program.launch.pool_key

    def _default_program(self) -> Program | None:
        """That of the default config; None while the config is wrong or names none."""
        try:
            return self._program(self._default.spec, None)
        except (ConfigError, TaskFailure):
            return None

    # ---- readiness ----

    def _ready_changed(self) -> None:
        if self.on_ready_change is not None:
            self.on_ready_change()

    def _not_ready_reason(self) -> str:
        try:
            program = self._program(self._default.spec, None)
            program.check()
        except (ConfigError, TaskFailure) as error:
            return str(error)
        if program.launch.mode != "socket" and program.command().path != self._located:
            self._located = program.command().path
            log.info("%s is served by %s", self._kind, self._located)
        if not program.launch.persistent:
            return self._oneshot_reason(program)
        pool = self._pools.open(program, evict=False)
        if pool is None:
            return ""
        pool.start()
        return pool.not_ready_reason

    def _oneshot_reason(self, program: Program) -> str:
        """A program that is there and still can't be started gets another chance when it changes, and now and then."""
        if self._mistakes.reason:
            waited = time.monotonic() - self._mistaken_at
            if waited >= MISTAKE_SECONDS or _file_of(program) != self._mistaken_file:
                self._mistakes.mended()
        return self._mistakes.reason


def _file_of(program: Program) -> Signature:
    try:
        return signature(program.command())
    except ConfigError:
        return ()

"""Our own commands as processes of `stdworker dev`, which end when it does, however it does."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress

READY = re.compile(rb"ready: REST and docs on (\S+), broker on (\S+), store")
START_SECONDS_MAX = 20.0
STOP_SECONDS_MAX = 20.0


_CODE = "from stdworker.cli.tether import tether; tether(); from {module} import main; main()"


class Process:
    """One of our own commands; it logs to our terminal, and our end of its stdin holds it."""

    def __init__(self, environment: Mapping[str, str], module: str, command: str, stderr: int | None = None) -> None:
        # Its own session: Ctrl-C reaches us alone, and we stop it in order.
        self.popen = subprocess.Popen(
            [sys.executable, "-c", _CODE.format(module=module), command],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
        )

    @property
    def ended(self) -> bool:
        return self.popen.poll() is not None

    def stop(self) -> None:
        """Ask, wait, insist."""
        self.popen.send_signal(signal.SIGTERM)
        try:
            self.popen.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()
        assert self.popen.stdin is not None
        self.popen.stdin.close()


class Engine(Process):
    """`converge serve`; its log, passed on to our terminal, tells which addresses it has."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(environment, "stdworker.cli.engine", "serve", stderr=subprocess.PIPE)
        self._addresses: Future[tuple[str, str] | None] = Future()
        self._relay = threading.Thread(target=self._pass_on, daemon=True)
        self._relay.start()

    def ready(self) -> tuple[str, str] | None:
        """The addresses of REST and broker once it serves; None when it ends instead, or takes too long."""
        try:
            return self._addresses.result(START_SECONDS_MAX)
        except TimeoutError:
            return None

    def stop(self) -> None:
        super().stop()
        self._relay.join()

    def _pass_on(self) -> None:
        assert self.popen.stderr is not None
        with self.popen.stderr as lines:
            for line in lines:
                with suppress(OSError):
                    sys.stderr.buffer.write(line)
                    sys.stderr.buffer.flush()
                if not self._addresses.done() and (match := READY.search(line)):
                    self._addresses.set_result((match[1].decode(), match[2].decode()))
        if not self._addresses.done():
            self._addresses.set_result(None)

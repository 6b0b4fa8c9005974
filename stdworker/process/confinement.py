"""What the system holds a program to: limits, user and group. All of it through one launcher that the program replaces.

A launcher is a short command line, `sh -c 'ulimit …; exec "$@"' sh setpriv … PROGRAM`, and costs an exec or two. It
runs only when something is configured. Nothing is set between fork and exec in this process: see `spawn`.
"""

from __future__ import annotations

import os
import resource
import shlex
from dataclasses import dataclass
from pathlib import Path

from stdworker.errors import ConfigError
from stdworker.process.account import Account
from stdworker.process.exits import Exit

CPU_GRACE_SECONDS = 5  # after SIGXCPU, then the kernel insists
REFUSED = 126  # the exit status of a launcher that couldn't set a limit

_SHELL = "/bin/sh"
_KIBIBYTE = 1_024


@dataclass(frozen=True, slots=True)
class Confinement:
    """None is as much as the worker has. `memory_group`, a cgroup of version 2, holds the memory limit if given."""

    memory_bytes: int | None = None
    cpu_seconds: int | None = None
    open_files: int | None = None
    account: Account | None = None
    memory_group: Path | None = None

    def __bool__(self) -> bool:
        return any((self.memory_bytes, self.cpu_seconds, self.open_files, self.account))

    def check(self) -> None:
        """Raise ConfigError for a limit above what this process may give, or one that nothing here can set."""
        if self._steps() and not os.access(_SHELL, os.X_OK):
            text = f"limits need {_SHELL}, which this system doesn't have"
            raise ConfigError(text, path="/limits", code="shell_missing", hint="use an image with a shell")
        for name, value, kind in (
            ("memory_bytes", self.memory_bytes, resource.RLIMIT_DATA),
            ("cpu_seconds", self.cpu_seconds and self.cpu_seconds + CPU_GRACE_SECONDS, resource.RLIMIT_CPU),
            ("open_files", self.open_files, resource.RLIMIT_NOFILE),
        ):
            hard = resource.getrlimit(kind)[1]
            if value is not None and hard != resource.RLIM_INFINITY and value > hard and os.geteuid() != 0:
                text = f"{value} is more than this worker may give ({hard})"
                raise ConfigError(text, path=f"/limits/{name}", code="limit_too_high")

    @property
    def launcher(self) -> tuple[str, ...]:
        """What stands before the program on the command line."""
        after = () if self.account is None else self.account.launcher
        steps = self._steps()
        if not steps:
            return after
        return (_SHELL, "-c", f'{{ {" && ".join(steps)}; }} || exit {REFUSED}; exec "$@"', "sh", *after)

    def _steps(self) -> list[str]:
        steps = []
        if self.memory_group is not None:
            steps.append(f"echo 0 >{shlex.quote(str(self.memory_group / 'cgroup.procs'))}")
        elif self.memory_bytes is not None:
            steps.append(f"ulimit -d {-(-self.memory_bytes // _KIBIBYTE)}")
        if self.cpu_seconds is not None:
            steps += [f"ulimit -S -t {self.cpu_seconds}", f"ulimit -H -t {self.cpu_seconds + CPU_GRACE_SECONDS}"]
        if self.open_files is not None:
            steps.append(f"ulimit -n {self.open_files}")
        return steps

    def explain(self, ended: Exit) -> str:
        """Which limit a bad end may come from; "" when none."""
        if ended.signal == "SIGXCPU":
            return f"it used up limits.cpu_seconds ({self.cpu_seconds})" if self.cpu_seconds else ""
        if ended.signal == "SIGKILL" and self.cpu_seconds is not None:
            return f"the kernel does this {CPU_GRACE_SECONDS} s after limits.cpu_seconds ({self.cpu_seconds})"
        if ended.code == REFUSED and self.account is not None:
            return f"the {self.account.name} may not be allowed to execute it"
        died = ended.signal is not None or (ended.code or 0) > 128
        if died and self.memory_bytes is not None and self.memory_group is None:
            return f"it may have had no more memory: limits.memory_bytes is {self.memory_bytes}"
        return ""

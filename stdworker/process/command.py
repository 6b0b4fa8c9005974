"""From a command in a config to a program file, and the files whose change means a new program."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stdworker.errors import ConfigError
from stdworker.process.confinement import Confinement

WATCHED_FILES_MAX = 8
SCRIPTS = {
    ".awk",
    ".cjs",
    ".jar",
    ".jq",
    ".js",
    ".lua",
    ".mjs",
    ".php",
    ".pl",
    ".py",
    ".pyz",
    ".rb",
    ".sed",
    ".sh",
    ".ts",
}

Signature = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Command:
    """What to execute: the program's path, its arguments (without the program), its folder and environment.

    `confinement` is what the system holds it to.
    """

    path: str
    arguments: tuple[str, ...]
    cwd: str | None
    environment: Mapping[str, str]
    confinement: Confinement | None = None

    @property
    def argv(self) -> list[str]:
        launcher = () if self.confinement is None else self.confinement.launcher
        return [*launcher, self.path, *self.arguments]


def resolve(command: str, arguments: Sequence[str], cwd: str | None, environment: Mapping[str, str]) -> Command:
    """Find the program as the child itself would. Raises ConfigError, its code telling what is wrong.

    A name without a slash is looked up on the PATH of the child's environment; `./x` is relative to `cwd`.
    """
    _refuse_nul({"command": command, "cwd": cwd or ""})
    _refuse_nul({f"argument {number}": text for number, text in enumerate(arguments, 1)})
    _refuse_nul({f"the environment variable {name!r}": name + value for name, value in environment.items()})
    if cwd is not None and not os.path.isdir(cwd):
        raise no_folder(cwd)
    if "/" in command:
        path = os.path.join(cwd or os.curdir, command)  # noqa: PTH118 (Path would drop a leading ./)
        _require_executable(path, command, cwd, environment)
    else:
        path = _search(command, cwd, environment)
    return Command(_absolute(path), tuple(arguments), cwd, environment)


def _refuse_nul(texts: Mapping[str, str]) -> None:
    """The message doesn't show the text: it may be a secret."""
    for name, text in texts.items():
        if "\0" in text:
            raise ConfigError(f"{name} contains a NUL character; no program can be given that", code="nul_character")


def signature(command: Command) -> Signature:
    """Identity, size and time of the program file and of the scripts among its arguments: `node server.js` too.

    Not of every file: one that the program writes, a database or a log, would replace it again and again.
    """
    base = Path(command.cwd or os.curdir)
    files = [Path(command.path), *(base / argument for argument in command.arguments[: WATCHED_FILES_MAX - 1])]
    found = [(file, status) for file in files if (status := _status(file)) is not None]
    return tuple(
        (str(file), status.st_ino, status.st_size, status.st_mtime_ns)
        for file, status in found
        if status.st_mode & 0o111 or file.suffix.lower() in SCRIPTS
    )


def _status(file: Path) -> os.stat_result | None:
    try:
        found = file.stat()
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _absolute(path: str) -> str:
    """As it is when this process has no folder any more."""
    try:
        return os.path.abspath(path)  # noqa: PTH100
    except FileNotFoundError:
        return path


def _search(command: str, cwd: str | None, environment: Mapping[str, str]) -> str:
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    candidates = [os.path.join(cwd or os.curdir, folder, command) for folder in folders]  # noqa: PTH118
    found = [path for path in candidates if os.path.isfile(path)]
    runnable = next((path for path in found if os.access(path, os.X_OK)), None)
    if runnable is not None:
        return runnable
    if found:
        raise not_executable(found[0])
    raise _not_found(command, f"not on the program's PATH ({os.pathsep.join(folders)})", cwd, environment)


def _require_executable(path: str, command: str, cwd: str | None, environment: Mapping[str, str]) -> None:
    if os.path.isdir(path):
        raise is_a_directory(path)
    if not os.path.exists(path):
        place = _absolute(path)
        raise _not_found(command, f"{'it' if place == command else place} {why_not_there(path)}", cwd, environment)
    if not os.access(path, os.X_OK):
        raise not_executable(path)


def no_folder(cwd: str) -> ConfigError:
    text = f"the working directory {cwd} {why_not_there(cwd)}"
    return ConfigError(text, path="/cwd", code="cwd_missing", hint="create it, or take cwd out")


def why_not_there(path: str) -> str:
    """What the system says about a file that it doesn't show us."""
    try:
        Path(path).stat()
    except FileNotFoundError:
        return "doesn't exist"
    except OSError as error:
        return f"can't be reached: {error.strerror}"
    return "is not a directory"


def is_a_directory(path: str) -> ConfigError:
    text = f"{path} is a directory, not a program"
    return ConfigError(text, path="/command", code="is_a_directory", hint="name a file in it")


def not_executable(path: str) -> ConfigError:
    mode = stat.filemode(Path(path).stat().st_mode)
    text = f"{path} is not executable (mode {mode})"
    return ConfigError(text, path="/command", code="not_executable", hint=f"chmod +x {path}")


def _not_found(command: str, where: str, cwd: str | None, environment: Mapping[str, str]) -> ConfigError:
    first, *rest = command.split() or [command]
    if rest and _resolves(first, cwd, environment):
        listed = ", ".join(f'"{word}"' for word in rest)
        return ConfigError(
            f"there is no program named {command!r}; it looks like a command line",
            path="/command",
            code="command_line_as_program",
            hint=f'did you mean "command": "{first}", "args": [{listed}]?',
        )
    here = "/" not in command and os.path.isfile(os.path.join(cwd or os.curdir, command))  # noqa: PTH118
    if here:
        hint = f"did you mean ./{command}?"
    else:
        hint = "put it there, or name another" if "/" in command else "install it, or name it with its path"
    return ConfigError(f"no program {command!r}: {where}", path="/command", code="program_not_found", hint=hint)


def _resolves(command: str, cwd: str | None, environment: Mapping[str, str]) -> bool:
    try:
        resolve(command, (), cwd, environment)
    except ConfigError:
        return False
    return True

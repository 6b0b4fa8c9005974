"""Why a program didn't start, said so that the person who must fix it can."""

from __future__ import annotations

import errno
import os
import platform
from pathlib import Path

from stdworker.errors import ConfigError, Retry, StdworkerError
from stdworker.process.command import Command, is_a_directory, no_folder, not_executable, why_not_there

STRING_BYTES_MAX = 131_071  # Linux: one argument or NAME=value, without its NUL
HEAD_BYTES = 4_096

_BUSY_HOST = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_MACHINES = {
    3: "x86",
    8: "mips",
    20: "powerpc",
    21: "ppc64",
    22: "s390x",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    243: "riscv64",
}
_ALSO_RUNS = {(62, 3), (183, 40)}


def diagnose(error: OSError, command: Command) -> StdworkerError:
    """The failure behind an exec error: ConfigError for what somebody must change, Retry when the host is busy."""
    if error.errno in _BUSY_HOST:
        text = f"the host can't start another process now: {error.strerror}"
        return Retry(text, code="spawn_refused", reason="SpawnRefused")
    if error.errno == errno.ETXTBSY:
        text = f"{command.path} is being written right now"
        return Retry(text, code="file_busy", reason="FileBusy")
    if error.errno == errno.E2BIG:
        return _too_long(command)
    if command.cwd is not None and not os.path.isdir(command.cwd):
        return no_folder(command.cwd)
    return _about_file(error, command.path)


def _too_long(command: Command) -> ConfigError:
    strings = [(f"argument {number}", text) for number, text in enumerate(command.arguments, 1)]
    strings += [(f"the environment variable {name}", f"{name}={value}") for name, value in command.environment.items()]
    sizes = {name: len(os.fsencode(text)) for name, text in strings}
    largest = max(sizes, key=sizes.__getitem__)
    total = sum(sizes.values())
    return ConfigError(
        f"arguments and environment are too long: {largest} has {sizes[largest]} bytes"
        f" (one may have {STRING_BYTES_MAX}), all together {total}",
        code="argument_too_long",
        hint="hand large values over in settings; they reach the program on its standard input",
    )


def require_startable(command: Command) -> None:
    """Raise ConfigError for a file that the system can't execute, before a launcher tries.

    A launcher would run a text without `#!` by a shell, and say nothing but an exit status about the rest. Where the
    kernel was taught other formats (binfmt_misc), files of these are left to it.
    """
    try:
        head = _read_head(command.path)
    except OSError as error:
        if error.errno in _BUSY_HOST:
            raise diagnose(error, command) from None
        head = b""
    if not os.access(command.path, os.X_OK) or not _is_startable(head):
        raise _about_file(OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC)), command.path)


def _is_startable(head: bytes) -> bool:
    if head.startswith(b"#!"):
        line = head.split(b"\n", 1)[0][2:]
        words = line.split()
        return not line.endswith(b"\r") and bool(words) and os.access(words[0], os.X_OK)
    if head.startswith(b"\x7fELF"):
        ours = _head("/proc/self/exe")
        fine = head[18:20] == ours[18:20] or (_machine(ours), _machine(head)) in _ALSO_RUNS
    else:
        fine = False
    return fine or _knows_other_formats()


def _knows_other_formats() -> bool:
    return any(entry.name not in ("register", "status") for entry in Path("/proc/sys/fs/binfmt_misc").glob("*"))


def _head(path: str) -> bytes:
    try:
        return _read_head(path)
    except OSError:
        return b""


def _read_head(path: str) -> bytes:
    with Path(path).open("rb") as opened:
        return opened.read(HEAD_BYTES)


def _about_file(error: OSError, path: str) -> ConfigError:
    if os.path.isdir(path):
        return is_a_directory(path)
    if not os.path.exists(path):
        text = f"{path} is gone: it {why_not_there(path)}"
        return ConfigError(text, path="/command", code="program_not_found", hint="put it back, or name another")
    if not os.access(path, os.X_OK):
        return not_executable(path)
    head = _head(path)
    if head.startswith(b"#!"):
        return _about_interpreter(error, path, head)
    if head.startswith(b"\x7fELF"):
        return _about_binary(error, path, head)
    if error.errno == errno.ENOEXEC:
        what = "is empty" if not head else "has no #! line, so the system doesn't know what runs it"
        return ConfigError(
            f"{path} {what}", path="/command", code="no_shebang", hint="begin it with #!/bin/bash or the like"
        )
    return ConfigError(f"{path} can't be started: {error.strerror}", path="/command", code="cannot_start")


def _about_interpreter(error: OSError, path: str, head: bytes) -> ConfigError:
    line = head.split(b"\n", 1)[0][2:]
    if line.endswith(b"\r"):
        text = f"the #! line of {path} ends in a carriage return"
        return ConfigError(text, path="/command", code="shebang_crlf", hint="save the file with Unix line endings")
    words = line.decode("utf-8", "replace").split()
    interpreter = words[0] if words else ""
    text = f"{path} asks for the interpreter {interpreter!r}"
    if not interpreter or not os.path.exists(interpreter):
        hint = "install it, or change the #! line"
        return ConfigError(f"{text}, which doesn't exist", path="/command", code="interpreter_missing", hint=hint)
    text = f"{text}, which can't be started: {error.strerror}"
    return ConfigError(text, path="/command", code="interpreter_unusable", hint="change the #! line")


def _about_binary(error: OSError, path: str, head: bytes) -> ConfigError:
    if error.errno == errno.ENOENT:
        text = f"{path} needs a loader (ld.so) that this system doesn't have"
        return ConfigError(text, path="/command", code="interpreter_missing", hint="it was built for another libc")
    built_for = _MACHINES.get(_machine(head), f"machine {_machine(head)}")
    text = f"{path} is built for {built_for}, this host is {platform.machine()}"
    return ConfigError(text, path="/command", code="wrong_architecture", hint="build it for this one")


def _machine(head: bytes) -> int:
    """What an ELF file is built for."""
    return int.from_bytes(head[18:20], "big" if head[5:6] == b"\x02" else "little")


def crlf_shebang(path: str) -> bool:
    """Does the `#!` line end in CR? `#!/usr/bin/env bash` then fails inside env, as exit status 127."""
    line = _head(path).split(b"\n", 1)[0]
    return line.startswith(b"#!") and line.endswith(b"\r")

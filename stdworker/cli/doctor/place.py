"""The place where a worker would run: Python, libraries, the process, the container around it."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import stdworker
from stdworker.bridge import BridgeRuntime, ProgramProvider
from stdworker.cli.doctor.finding import Finding, fine, problem, warning
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import dumps
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.resource import Resource
from stdworker.model.task import ReactionRequest
from stdworker.process.adoption import Children
from stdworker.process.memory import MOUNT, OWN, control_group

LIBRARIES = ("grpcio", "protobuf", "msgspec", "orjson")
OPEN_FILES_MIN = 1_024  # a running program costs the worker four
PROCESSES_LEFT_MIN = 200
MEMORY_BYTES_MIN = 256 << 20
TRIAL_SECONDS = 10.0  # for a program that only answers
DAY_SECONDS = 86_400.0
SHELLS = ("sh", "bash", "dash", "ash", "zsh", "ksh", "busybox")

_ANSWER = 'print("{}")'
_KIND = KindVersion("doctor")


def look_around(variables: Mapping[str, str]) -> Iterator[Finding]:
    """All about this place. Starts one program that does nothing."""
    yield python()
    yield libraries()
    yield wire()
    yield fork_support(variables)
    yield trial()
    yield orphans()
    yield first_process()
    yield open_files()
    yield from cgroup_limits()
    yield temporary_files(variables)
    yield locale(variables)
    yield clock()


def python() -> Finding:
    told = f"stdworker {stdworker.__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}"
    if not sys.platform.startswith("linux"):
        return warning("python", told, "it is made for Linux; elsewhere programs may outlive a worker that is killed")
    return fine("python", f"{told}, {platform.machine()}")


def libraries() -> Finding:
    try:
        versions = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]
    except importlib.metadata.PackageNotFoundError as error:
        return problem("libraries", f"{error.name} is not installed", "pip install --force-reinstall stdworker")
    return fine("libraries", ", ".join(versions))


def wire() -> Finding:
    """The generated messages refuse runtimes that are older than their generator."""
    try:
        from stdworker.wire.generated import worker_pb2
    except Exception as error:
        told = f"the broker's messages can't be loaded: {type(error).__name__}: {error}"
        return problem("wire", told, "pip install --upgrade protobuf")
    return fine("wire", f"protobuf reads the messages of {worker_pb2.DESCRIPTOR.package}")


def fork_support(variables: Mapping[str, str]) -> Finding:
    if variables.get("GRPC_ENABLE_FORK_SUPPORT", "0").lower() in ("1", "true"):
        told = "GRPC_ENABLE_FORK_SUPPORT is on: programs that are started while a stream is live may crash"
        return problem("fork support", told, "unset GRPC_ENABLE_FORK_SUPPORT")
    return fine("fork support", "gRPC's fork handlers are off, as they must be beside programs")


def trial() -> Finding:
    """A program that answers at once, run as a worker would run it, guardian and all."""
    milliseconds, failure = asyncio.run(_run_trial())
    if failure:
        return problem("programs", f"a program can't be run: {failure}")
    return fine("programs", f"a program starts and answers in {milliseconds:.0f} ms, and wouldn't outlive a worker")


async def _run_trial() -> tuple[float, str]:
    config = {"command": sys.executable, "args": ["-I", "-S", "-c", _ANSWER], "timeout_seconds": TRIAL_SECONDS}
    provider = ProgramProvider(_KIND, run=BridgeRuntime())
    about = Resource("", _KIND.kind, "doctor", _KIND.version)
    trigger = Stage.WORK.trigger
    asked = ReactionRequest(Stage.WORK, trigger, "work", _KIND, about, default=ProviderConfig(dumps(config)))
    try:
        result = await provider.run(asked)
    finally:
        await provider.close()
    return result.duration_seconds * 1_000, str(result.failure or "")


def orphans() -> Finding:
    try:
        Children().close()
    except OSError as error:
        told = f"this process can't adopt orphans ({error.strerror or error})"
        return warning("orphans", told, "what a program leaves behind is found by its environment only, and later")
    return fine("orphans", "descendants that leave their program's group are adopted, found and killed")


def first_process(number: int | None = None, proc: Path = Path("/proc")) -> Finding:
    """PID 1 gets the signals of a container; a shell there keeps them to itself."""
    if (os.getpid() if number is None else number) == 1:
        return fine("pid 1", "this is PID 1: it gets the container's signals, and reaps orphans")
    try:
        words = (proc / "1/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return fine("pid 1", "not visible from here")
    name = Path(words[0]).name.lstrip("-")
    if name in SHELLS and "-c" in words:
        told = f"PID 1 is {' '.join(words).strip()!r}: a shell doesn't hand SIGTERM on, so a worker is killed undrained"
        return warning("pid 1", told, 'write CMD as a list, ["stdworker", "run"], or begin the command with exec')
    return fine("pid 1", f"PID 1 is {name or 'the kernel'}")


def open_files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    shown = "unlimited" if soft == resource.RLIM_INFINITY else str(soft)
    if soft != resource.RLIM_INFINITY and soft < OPEN_FILES_MIN:
        told = f"only {soft} files may be open at once, for about {soft // 4} running programs"
        return warning("open files", told, f"ulimit -n {min(hard, 65_536) if hard > soft else 65_536}")
    return fine("open files", f"{shown} may be open at once")


def cgroup_limits(cgroups: Path = MOUNT, own: Path = OWN) -> Iterator[Finding]:
    """The tightest limit of this process's control group and those above it, version 2."""
    groups = _groups(cgroups, own)
    processes = _least(groups, "pids.max")
    if processes is None:
        yield fine("processes", "no control group limits them")
    else:
        limit, group = processes
        left = limit - (_number(group / "pids.current") or 0)
        if left < PROCESSES_LEFT_MIN:
            told = f"{left} more processes may start (limit {limit}); each running program takes at least one"
            yield warning("processes", told, "raise the limit (pids.max, --pids-limit), or lower WORKER_MAX_PARALLEL")
        else:
            yield fine("processes", f"{left} more may start (limit {limit})")
    memory = _least(groups, "memory.max")
    if memory is None:
        yield fine("memory", "no control group limits it")
    elif memory[0] < MEMORY_BYTES_MIN:
        told = f"the limit is {memory[0] >> 20} MiB for the worker and all its programs"
        yield warning("memory", told, "raise it, or the kernel kills what asks for more")
    else:
        yield fine("memory", f"the limit is {memory[0] >> 20} MiB for the worker and all its programs")


def _groups(cgroups: Path, own: Path) -> list[Path]:
    group = control_group(cgroups, own)
    if group is None:
        return []
    return [group, *(parent for parent in group.parents if parent.is_relative_to(cgroups))]


def _least(groups: list[Path], name: str) -> tuple[int, Path] | None:
    limits = [(limit, group) for group in groups if (limit := _number(group / name)) is not None]
    return min(limits, key=lambda found: found[0]) if limits else None


def _number(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def temporary_files(variables: Mapping[str, str]) -> Finding:
    """In the folder that programs take, which get our TMPDIR."""
    folder = variables.get("TMPDIR") or "/tmp"  # noqa: S108
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"0")
    except OSError as error:
        told = f"{folder}, the folder for temporary files, can't be written: {error.strerror or error}"
        return warning("temporary files", told, "mount a tmpfs at /tmp, or set TMPDIR; many programs need one")
    return fine("temporary files", f"{folder} can be written")


def locale(variables: Mapping[str, str]) -> Finding:
    """Programs get our locale, or C.UTF-8 when we have none."""
    named = next((name for name in ("LC_ALL", "LC_CTYPE", "LANG") if variables.get(name)), None)
    if named is None:
        return fine("locale", "none is set; programs get C.UTF-8")
    value = variables[named]
    if value.lower().replace("-", "").endswith("utf8"):
        return fine("locale", f"{named}={value}")
    told = f"{named}={value} is not UTF-8; programs that obey it may garble text or refuse it"
    return warning("locale", told, f"set {named}=C.UTF-8")


def clock(now: Callable[[], float] = time.time) -> Finding:
    """Certificates are judged by it. It can't be right if it is before our own files were written."""
    written = Path(stdworker.__file__).stat().st_mtime
    told = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now()))
    if now() < written - DAY_SECONDS:
        return problem(
            "clock", f"it says {told}, before stdworker was installed", "set it; TLS fails with a wrong clock"
        )
    return fine("clock", told)

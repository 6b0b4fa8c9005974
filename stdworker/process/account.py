"""The user and group that a program runs as, when they aren't the worker's."""

from __future__ import annotations

import difflib
import grp
import os
import pwd
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stdworker.errors import ConfigError, Retry

ID_MAX = (1 << 32) - 2  # the number above means "no change"

_Found = tuple[int | None, int | None, tuple[int, ...], dict[str, str]]  # uid, gid, all groups, variables

_CAP_SETGID, _CAP_SETUID = 6, 7  # in linux/capability.h

# What a dynamic loader or a shell acts upon: it would reach the launcher, which still runs as root.
_HARMFUL_PREFIXES = ("LD_", "BASH_FUNC_", "GLIBC_", "GCONV_", "MALLOC_")
_HARMFUL = frozenset(("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "LOCPATH", "NLSPATH"))


@dataclass(frozen=True, slots=True)
class Account:
    """`name` says who it is, for people. `launcher` is the command line that becomes it and then the program that
    follows. `variables` are HOME, USER and LOGNAME of the user.
    """

    name: str
    launcher: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)


def find_account(user: str | None, group: str | None) -> Account:
    """Look up both, names or numbers.

    Raises ConfigError when there is no such one, the worker isn't root, or the system has no tool for it; Retry when
    the host can't look now.
    """
    found: _Found = (None, None, (), {}) if user is None else _user(user)
    uid, gid, groups, variables = found
    if group is not None:
        gid = _group(group)
    if gid is None:
        text = f"the user {user} has no entry in the user database, so nobody knows its group"
        raise ConfigError(text, path="/user", code="group_missing", hint='name the group too: "group": …')
    key, name = ("user", user) if user is not None else ("group", group)
    if os.geteuid() != 0:
        text = f"only a worker that runs as root can run programs as another {key}; this one is user {os.geteuid()}"
        raise ConfigError(text, path=f"/{key}", code="not_root", hint=f"start the worker as root, or unset {key!r}")
    if missing := _missing_capabilities(uid):
        text = f"root of this place may not become another {key}: it lacks {' and '.join(missing)}"
        hint = f"add it to the capabilities of the container (cap_add), or unset {key!r}"
        raise ConfigError(text, path=f"/{key}", code="capability_missing", hint=hint)
    who = [] if uid is None else [f"--reuid={uid}"]
    listed = ",".join(map(str, groups or (gid,)))
    return Account(f"{key} {name}", (_tool(), *who, f"--regid={gid}", f"--groups={listed}", "--"), variables)


def _missing_capabilities(uid: int | None) -> list[str]:
    """What a root that was confined lacks to set groups, and to become this user."""
    needed = {"CAP_SETGID": _CAP_SETGID} | ({"CAP_SETUID": _CAP_SETUID} if uid not in (None, os.geteuid()) else {})
    held = _capabilities()
    return [name for name, bit in needed.items() if not held >> bit & 1]


def _capabilities() -> int:
    """The effective ones of this process as bits; all of them where the system doesn't say."""
    try:
        told = Path("/proc/self/status").read_text()
    except OSError:
        return -1
    return next((int(line.split()[1], 16) for line in told.splitlines() if line.startswith("CapEff:")), -1)


def _tool() -> str:
    tool = shutil.which("setpriv") or shutil.which("setpriv", path=os.defpath)
    if tool is None or Path(tool).resolve().name == "busybox":
        text = "user and group need the program setpriv of util-linux, which this system doesn't have"
        hint = "install the package util-linux (on Alpine: setpriv)"
        raise ConfigError(text, path="/user", code="setpriv_missing", hint=hint)
    return str(Path(tool).absolute())


def refuse_harmful(names: Iterable[str]) -> None:
    """Raise ConfigError for a variable with which a program's config could take over the launcher."""
    for name in names:
        if name in _HARMFUL or name.startswith(_HARMFUL_PREFIXES):
            text = (
                f"{name} can't be set for a program that runs as another user: the launcher, still root, would see it"
            )
            raise ConfigError(text, path="/env", code="harmful_variable", hint="set it inside the program")


def _user(user: str) -> _Found:
    try:
        found = pwd.getpwuid(int(user)) if user.isdecimal() else pwd.getpwnam(user)
    except (KeyError, OverflowError):
        _require_a_descriptor()
        if not user.isdecimal() or int(user) > ID_MAX:
            raise _unknown("user", user, (entry.pw_name for entry in pwd.getpwall())) from None
        return int(user), None, (), {"HOME": "/", "USER": user, "LOGNAME": user}
    variables = {"HOME": found.pw_dir, "USER": found.pw_name, "LOGNAME": found.pw_name}
    return found.pw_uid, found.pw_gid, tuple(os.getgrouplist(found.pw_name, found.pw_gid)), variables


def _group(group: str) -> int:
    if group.isdecimal() and int(group) <= ID_MAX:
        return int(group)
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        _require_a_descriptor()
        raise _unknown("group", group, (entry.gr_name for entry in grp.getgrall())) from None


def _require_a_descriptor() -> None:
    """A host that has none left can't look anybody up, and the standard library takes that for an unknown name."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        text = f"the host can't look up users now: {error.strerror}"
        raise Retry(text, code="spawn_refused", reason="SpawnRefused") from None


def _unknown(key: str, name: str, names: Iterable[str]) -> ConfigError:
    near = difflib.get_close_matches(name, list(names), n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else ""
    return ConfigError(f"there is no {key} {name!r} on this host", path=f"/{key}", code=f"unknown_{key}", hint=hint)

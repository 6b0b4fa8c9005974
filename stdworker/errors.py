"""Every error that this project raises on purpose.

Two questions place a class: who must act, and is it worth trying again?

    StdworkerError                      code, message, hint
    ├── SettingsError                   operator: a setting of ours is missing or malformed
    ├── ConfigError                     operator: a provider config, kind file or manifest is wrong
    │   ├── ConfigKeyError              a key that no launch config has, with the nearest one
    │   └── ManifestError               a kind manifest that breaks a rule, all violations at once
    ├── PluginError                     plugin author: a plugin can't be loaded or clashes with another
    ├── StoreError                      operator: the engine's database failed
    │   └── StoreUnavailable            it can't be used now, whatever is asked of it
    ├── RequestError                    caller: the engine can't do what was asked
    │   ├── NotFound                    no such thing
    │   ├── Conflict                    the thing's state, or its owner, stands against it
    │   │   └── Incompatible            a kind version published anew would break what was published
    │   └── Invalid                     the request breaks rules, all violations at once
    ├── ProtocolError                   peer: bytes that don't keep the contract
    │   ├── JsonError                   text that is not JSON as this project accepts it
    │   └── ResponseError               a program's response that breaks the stdio protocol
    └── TaskFailure                     the verdict on one task
        ├── Terminal                    do not retry
        ├── Retry                       transient: try again, after a delay if one is given
        └── Released                    given back: not counted as an attempt

A provider raises `Terminal` or `Retry`; the host turns anything else that a provider raises into a
transient failure. `code` is stable: tests, metrics and other languages match on it, never on the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = [
    "ConfigError",
    "ConfigKeyError",
    "Conflict",
    "Incompatible",
    "Invalid",
    "JsonError",
    "ManifestError",
    "NotFound",
    "PluginError",
    "ProtocolError",
    "Released",
    "RequestError",
    "ResponseError",
    "Retry",
    "SettingsError",
    "StdworkerError",
    "StoreError",
    "StoreUnavailable",
    "TaskFailure",
    "Terminal",
    "without_user",
]


PATH_CHARACTERS_MAX = 400  # of a path in a message

_USER = re.compile(r"//[^/\s]+@")


def _shown(path: str) -> str:
    """A path with its middle left out if its keys are endless."""
    return path if len(path) <= PATH_CHARACTERS_MAX else f"{path[: PATH_CHARACTERS_MAX // 2]}…{path[-100:]}"


def without_user(address: str) -> str:
    """An address to show: user and password before the host are `***`."""
    return _USER.sub("//***@", address)


class StdworkerError(Exception):
    """The root of the tree.

    `message` is one sentence for the person who must act, `hint` says what to do next ("" if the message
    says it all), `code` is a stable snake_case name.
    """

    code = "stdworker_error"

    def __init__(self, message: str, *, hint: str = "", code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class SettingsError(StdworkerError):
    """A setting of the environment or the command line that can't be used."""

    code = "bad_setting"

    def __init__(self, variable: str, value: str | None, expected: str, *, hint: str = "") -> None:
        got = "is not set" if value is None else f"is {without_user(value)!r}"
        super().__init__(f"{variable} {got}; expected {expected}", hint=hint)
        self.variable = variable
        self.value = value
        self.expected = expected


class ConfigError(StdworkerError):
    """A document that an operator wrote and that can't be used; `path` is an RFC 6901 pointer into it."""

    code = "bad_config"

    def __init__(self, message: str, *, path: str = "", hint: str = "", code: str | None = None) -> None:
        super().__init__(f"{_shown(path)}: {message}" if path else message, hint=hint, code=code)
        self.path = path


class ConfigKeyError(ConfigError):
    """A key that nothing reads, almost always a misspelt one."""

    code = "unknown_config_key"

    def __init__(self, key: str, allowed: Iterable[str], *, path: str = "") -> None:
        import difflib

        names = sorted(allowed)
        near = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(names)}"
        super().__init__(f"unknown key {key!r}", path=path, hint=hint)
        self.key = key


class ManifestError(ConfigError):
    """A kind manifest that breaks rules; `violations` holds (pointer, sentence), one for each."""

    code = "bad_manifest"

    def __init__(self, violations: Iterable[tuple[str, str]], *, where: str = "manifest") -> None:
        self.violations = list(violations)
        told = "; ".join(f"{path or '/'}: {text}" for path, text in self.violations)
        super().__init__(f"{where} is not legal: {told}")


class PluginError(StdworkerError):
    """A plugin that can't be loaded, or two origins that claim one kind."""

    code = "bad_plugin"


class StoreError(StdworkerError):
    """The engine's database can't be opened, read or written; nothing of the transaction is stored."""

    code = "store_failed"


class StoreUnavailable(StoreError):
    """The database can't be used now (full, locked, damaged, unreachable, closed): no single request is at fault."""

    code = "store_unavailable"


class RequestError(StdworkerError):
    """The engine refuses a request; nothing was changed."""

    code = "refused"


class NotFound(RequestError):
    """What the request names doesn't exist."""

    code = "not_found"


class Conflict(RequestError):
    """It exists, but its state or its owner stands against the request."""

    code = "conflict"


class Incompatible(Conflict):
    """A schema published anew breaks the one before; `violations`: (pointer into the manifest, sentence) pairs."""

    code = "incompatible"

    def __init__(self, message: str, violations: Iterable[tuple[str, str]], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.violations = list(violations)


class Invalid(RequestError):
    """The request breaks rules; `violations` holds (place, sentence) pairs.

    A place is an RFC 6901 pointer into the body, or a parameter as `query/limit`.
    """

    code = "invalid"

    def __init__(
        self, message: str, violations: Iterable[tuple[str, str]] = (), *, hint: str = "", code: str | None = None
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.violations = list(violations)

    @classmethod
    def at(cls, place: str, told: str, *, code: str | None = None) -> Invalid:
        """One rule is broken, at one place."""
        return cls(f"{place}: {told}", [(place, told)], code=code)


class ProtocolError(StdworkerError):
    """A peer sent what the contract doesn't allow."""

    code = "protocol_error"


class JsonError(ProtocolError):
    """Text that is not JSON, or JSON that can't be carried unchanged; `path` points at the place."""

    code = "bad_json"

    def __init__(self, message: str, *, path: str = "", hint: str = "", code: str | None = None) -> None:
        super().__init__(f"{_shown(path)}: {message}" if path else message, hint=hint, code=code)
        self.path = path


class ResponseError(ProtocolError):
    """A program's response that breaks the stdio protocol."""

    code = "bad_response"


class TaskFailure(StdworkerError):
    """How one task failed.

    `reason` is a CamelCase word for conditions and metrics. `status`, when given, is stored although the
    task failed. Base of `Terminal`, `Retry` and `Released`; raise one of those.
    """

    code = "task_failed"
    terminal = False
    released = False

    def __init__(
        self, message: str, *, reason: str = "", hint: str = "", code: str | None = None, status: Any = None
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.reason = reason
        self.status = status


class Terminal(TaskFailure):
    """The task can't succeed until its resource or config changes: nothing is retried."""

    code = "terminal"
    terminal = True


class Retry(TaskFailure):
    """The task failed for now. `after` asks for a delay in seconds; None leaves it to the engine's backoff."""

    code = "transient"

    def __init__(self, message: str, *, after: float | None = None, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)
        self.after = after


class Released(TaskFailure):
    """The task is given back unfinished (kind not ready, drain, cancel): not an attempt."""

    code = "released"
    released = True

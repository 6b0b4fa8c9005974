"""Which environment a program sees: an allow-list, never the worker's secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

PASSED = frozenset(("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TRACEPARENT"))
PASSED_PREFIXES = ("LC_",)
WITHHELD_PREFIXES = ("TLS_", "BROKER_", "DATABASE_")  # the worker's own way in; no setting passes them
DEFAULTS = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}


def program_environment(
    host: Mapping[str, str], *, inherit: bool = False, passthrough: Iterable[str] = (), extra: Mapping[str, str]
) -> dict[str, str]:
    """What a program gets of the host's environment, with `extra` on top.

    Only the allow-list and the names in `passthrough`; with `inherit` everything but what is withheld.
    Programs get a search path and a UTF-8 locale even when the host has none.
    """
    wanted = set(passthrough)
    chosen = {
        name: value
        for name, value in host.items()
        if (inherit or name in PASSED or name in wanted or name.startswith(PASSED_PREFIXES))
        and not name.startswith(WITHHELD_PREFIXES)
    }
    return {**DEFAULTS, **chosen, **extra}

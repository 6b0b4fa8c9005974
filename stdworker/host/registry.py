"""Which provider serves which kind version."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence

from stdworker.errors import PluginError, SettingsError
from stdworker.model.kind import KIND, VERSION_MAX, KindVersion
from stdworker.model.task import Provider

log = logging.getLogger("stdworker.plugins")

_MEMBERS = ("kind", "work", "on_config", "ready")


class Registry(Mapping[KindVersion, Provider]):
    """Providers by the pair they serve, each with the origin that people look for when two clash.

    Iterates in sorted order, which is the order of Subscribe.
    """

    def __init__(self, providers: Iterable[tuple[Provider, str]] = ()) -> None:
        self._served: dict[KindVersion, tuple[Provider, str]] = {}
        for provider, origin in providers:
            self.add(provider, origin)

    def add(self, provider: Provider, origin: str) -> None:
        """Raises PluginError if this is no provider, or if its pair is already served (naming both origins)."""
        pair = _pair(provider, origin)
        if pair in self._served:
            other = self._served[pair][1]
            within_one = other.partition(",")[0] == origin.partition(",")[0]
            raise PluginError(
                f"{pair} is served twice: by {other} and by {origin}",
                hint=f"remove or rename one of the two{'' if within_one else ', or choose with STDWORKER_PLUGINS'}",
                code="duplicate_kind",
            )
        self._served[pair] = (provider, origin)

    def origin(self, pair: KindVersion) -> str:
        return self._served[pair][1]

    def only(self, names: Sequence[str], *, missing_allowed: bool = False) -> Registry:
        """The part that WORKER_KINDS allows; no names allow all. A bare name allows every version.

        Raises SettingsError for names that nothing serves; `missing_allowed` (a plugin failed to load, and
        may have served them) tolerates those as long as something is left.
        """
        if not names:
            return self
        allowed = {pair for pair in self if pair.kind in names or str(pair) in names}
        met = {pair.kind for pair in allowed} | {str(pair) for pair in allowed}
        missing = [name for name in names if name not in met]
        if missing and not (missing_allowed and allowed):
            served = ", ".join(map(str, self)) or "nothing"
            raise SettingsError(
                "WORKER_KINDS", ",".join(names), f"kinds that are served: {served}", hint=f"missing: {missing[0]}"
            )
        for name in missing:
            log.warning("WORKER_KINDS names %s, which nothing serves; a broken plugin may be why", name)
        return Registry(self._served[pair] for pair in allowed)

    def __getitem__(self, pair: KindVersion) -> Provider:
        return self._served[pair][0]

    def __iter__(self) -> Iterator[KindVersion]:
        return iter(sorted(self._served))

    def __len__(self) -> int:
        return len(self._served)


def _pair(provider: Provider, origin: str) -> KindVersion:
    absent = [name for name in _MEMBERS if not hasattr(provider, name)]
    if absent:
        raise PluginError(f"{origin}: {provider!r} is no provider: it has no {', '.join(absent)}", code="no_provider")
    pair = provider.kind
    if not isinstance(pair, KindVersion):
        raise PluginError(f"{origin}: the kind of {provider!r} is {pair!r}, no KindVersion", code="bad_kind")
    if not KIND.fullmatch(pair.kind) or not 1 <= pair.version <= VERSION_MAX:
        raise PluginError(
            f"{origin}: {str(pair)!r} is no kind version (name of a-z, 0-9, '.', '-'; version 1 to {VERSION_MAX})",
            code="bad_kind",
        )
    return pair

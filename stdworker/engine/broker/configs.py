"""Default configs on their way to workers: whole, each edit at least once, never older after newer."""

from __future__ import annotations

from collections.abc import Iterable

from stdworker.engine.broker.session import NEVER_PUSHED, Session
from stdworker.engine.reconcile import Engine
from stdworker.model.config import ProviderConfig
from stdworker.model.kind import KindVersion


class ConfigPush:
    """Knows what each stream has seen by the config's revision."""

    def __init__(self, engine: Engine, sessions: set[Session]) -> None:
        self._engine = engine
        self._sessions = sessions

    async def prime(self, session: Session) -> None:
        """Send the defaults of all pairs of a stream that just opened."""
        await self._push(session.pairs, [session])

    async def refresh(self, pairs: Iterable[KindVersion]) -> None:
        """Send the defaults of these pairs to every stream that is behind."""
        await self._push(pairs, self._sessions)

    async def _push(self, pairs: Iterable[KindVersion], sessions: Iterable[Session]) -> None:
        configs = await self._engine.default_configs(list(pairs))
        for session in sessions:
            for pair, default in configs.items():
                slots = session.pairs.get(pair)
                if slots is None or default.revision <= slots.config_revision:
                    continue
                first = slots.config_revision == NEVER_PUSHED
                slots.config_revision = default.revision
                if not first or has_content(default.config):
                    session.outbox.put_config(pair, default.config)


def has_content(config: ProviderConfig) -> bool:
    """Does it say anything?"""
    return bool(config.spec or config.bundle)

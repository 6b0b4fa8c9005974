"""The program under test: how it is launched, what it declares, and which specs to try it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stdworker.bridge.describe import kind_named
from stdworker.bridge.launch import LaunchConfig, effective_launch, parse_launch
from stdworker.bridge.redact import Redactor
from stdworker.errors import ConfigError
from stdworker.model.json_text import RawJson, dumps, join_members, members
from stdworker.model.kind import Emit, KindVersion, Stage
from stdworker.model.kind_file import KindFile
from stdworker.model.manifest import Manifest, Reaction
from stdworker.testing.conformance.samples import NoSample, sample

NO_SPEC = RawJson(b"{}")


@dataclass(frozen=True, slots=True)
class Subject:
    """What is checked. `call_options` are those of `stdworker call` that set up the same; `redact` hides the secrets
    of its config.
    """

    command: str
    arguments: tuple[str, ...]
    kind: KindVersion
    launch: LaunchConfig
    redact: Redactor
    kind_file: KindFile | None
    specs: tuple[RawJson, ...]
    asked_reactions: tuple[str, ...]
    timeout_seconds: float
    call_options: tuple[str, ...]

    @classmethod
    def of(
        cls,
        command: str,
        arguments: Sequence[str] = (),
        *,
        kind: KindVersion | None = None,
        kind_file: KindFile | None = None,
        config: RawJson | None = None,
        mode: str | None = None,
        specs: Sequence[RawJson] = (),
        reactions: Sequence[str] = (),
        timeout_seconds: float,
        call_options: Sequence[str] = (),
    ) -> Subject:
        """Put together what is known. Raises ConfigError for an illegal config and an unknown reaction."""
        typed = {"command": dumps(command)}
        typed |= {key: dumps(value) for key, value in (("args", list(arguments)), ("mode", mode)) if value}
        over = {**(members(config or NO_SPEC) or {}), **typed}
        base = kind_file.default_config if kind_file else None
        declared = [reaction.name for reaction in kind_file.manifest.reactions] if kind_file else list(reactions)
        for name in reactions:
            if name not in declared:
                raise ConfigError(f"there is no reaction {name!r}; the kind declares {', '.join(declared)}")
        config = effective_launch(base, join_members(over), None)
        return cls(
            command,
            tuple(arguments),
            kind or (kind_file.pair if kind_file else kind_named(command)),
            parse_launch(config),
            Redactor(config),
            kind_file,
            tuple(specs),
            tuple(reactions),
            timeout_seconds,
            tuple(call_options),
        )

    @property
    def manifest(self) -> Manifest | None:
        return self.kind_file.manifest if self.kind_file else None

    @property
    def spec_schema(self) -> Mapping[str, Any] | None:
        return self.manifest.spec_schema if self.manifest else None

    @property
    def base_spec(self) -> RawJson:
        """The spec that should work: the first given one, else the least that the schema allows.

        Raises NoSample when it takes a person to think of one.
        """
        if self.specs:
            return self.specs[0]
        return NO_SPEC if self.spec_schema is None else dumps(sample(self.spec_schema))

    @property
    def has_sample(self) -> bool:
        try:
            return bool(self.base_spec)
        except NoSample:
            return False

    @property
    def reactions(self) -> tuple[Reaction, ...]:
        """Those asked for, else the declared ones, else one that works."""
        declared = {reaction.name: reaction for reaction in self.manifest.reactions} if self.manifest else {}
        names = self.asked_reactions or tuple(declared) or (Stage.WORK.value,)
        return tuple(declared.get(name) or _undeclared(name) for name in names)

    @property
    def maker(self) -> Reaction | None:
        """The reaction that makes a resource, if it has one."""
        return next((r for r in self.reactions if r.stage in (Stage.WORK, Stage.COMPOSE)), None)

    @property
    def deleter(self) -> Reaction | None:
        return next((r for r in self.reactions if r.stage is Stage.DELETE), None)


def _undeclared(name: str) -> Reaction:
    """A reaction of which only the name is known, so its name must say the stage."""
    stage = Stage(name) if name in set(Stage) else Stage.WORK
    emits = frozenset((Emit.CHILDREN,)) if stage is Stage.COMPOSE else frozenset[Emit]()
    return Reaction(name, stage.trigger, emits, verb=name if stage is Stage.OPERATE else "")

"""Options that stand for environment variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def settings_options(variables: dict[str, str]) -> Callable[[F], F]:
    """One option for each variable, of the same name (`BROKER_ADDR` is `--broker-addr`), with its help."""

    def add(command: F) -> F:
        for name, text in reversed(variables.items()):
            option = click.option(f"--{name.lower().replace('_', '-')}", name.lower(), metavar="VALUE", help=text)
            command = option(command)
        return command

    return add


def given(options: Mapping[str, str | None]) -> dict[str, str]:
    """The variables that options set; they win over the environment."""
    return {name.upper(): value for name, value in options.items() if value is not None}

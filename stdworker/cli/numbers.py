"""Numbers on a command line; what is none is refused in a sentence of ours."""

from __future__ import annotations

from typing import Any

import click


class WholeNumber(click.IntRange):
    """A whole number from `min` on, up to `max` if there is one."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(_sentence(value, "a whole number", self), param, ctx)


class Number(click.FloatRange):
    """The same, also with a fraction."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(_sentence(value, "a number", self), param, ctx)


def _sentence(value: Any, what: str, range_: click.IntRange | click.FloatRange) -> str:
    return f"{value!r} is not {what} from {range_.min} {'on' if range_.max is None else f'to {range_.max}'}"

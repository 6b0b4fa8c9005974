"""Numbers on a command line."""

from __future__ import annotations

from typing import Any

import click


class _Sentence(click.ParamType):
    """What is no such number is refused in a sentence of ours."""

    what: str
    min: float | None
    max: float | None

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            upper = "on" if self.max is None else f"to {self.max}"
            self.fail(f"{value!r} is not {self.what} from {self.min} {upper}", param, ctx)


class WholeNumber(_Sentence, click.IntRange):
    """A whole number from `min` on, up to `max` if there is one."""

    name = "number"
    what = "a whole number"


class Number(_Sentence, click.FloatRange):
    """The same with a fraction."""

    name = "number"
    what = "a number"

"""How a command ends that is interrupted, that nobody reads, or that the system refuses something."""

from __future__ import annotations

import difflib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click


class CommandLine(click.Group):
    """A group of commands. Exit status 128 + the signal at Ctrl-C and when the reader of stdout has gone."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with in_order():
            context = super().make_context(*args, **kwargs)
        if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            context.color = False
        return context

    def invoke(self, ctx: click.Context) -> Any:
        with in_order():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Click 8.4 knows near names too, but not those of commands that are loaded when they are asked for."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@contextmanager
def in_order() -> Iterator[None]:
    """Raises SystemExit, and ClickException for what the system refuses."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        _discard(sys.stdout, sys.stderr)
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        _discard(sys.stdout)
        place = f"{error.filename}: " if error.filename else ""
        raise click.ClickException(f"{place}{error.strerror or error}") from None


def _discard(*streams: TextIO | None) -> None:
    """What is still in their buffers would fail again at the end of Python."""
    with Path(os.devnull).open("w") as nowhere:
        for stream in filter(None, streams):
            os.dup2(nowhere.fileno(), stream.fileno())

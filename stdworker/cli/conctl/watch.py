"""`conctl watch`: a line for each change, over every interruption, until somebody interrupts it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import click
import httpx

from stdworker.cli.conctl.client import API, CONNECT_SECONDS, Client, Failed
from stdworker.cli.conctl.reconnecting import Pauses, is_away
from stdworker.cli.terminal import plain
from stdworker.model.json_text import loads

SILENCE_SECONDS = 45.0  # three heartbeats
STEADY_SECONDS = 10.0  # a stream that lived so long makes the next pause short again


@dataclass(slots=True)
class Watching:
    """A stream that is taken up again where it broke off. Raises Failed when it never began or can't go on."""

    client: Client
    path: str
    query: Mapping[str, Any]
    last: str = ""
    """The id after which to resume; "" before the first."""
    _told: str = field(default="", init=False)
    """Why the stream broke off, as it was told; "" once it goes on."""
    _pauses: Pauses = field(default_factory=Pauses, init=False)

    def events(self) -> Iterator[bytes]:
        """The JSON of each change."""
        while True:
            began = time.monotonic()
            try:
                yield from self._stream()
                reason = "the stream ended"
            except Failed as error:
                if not (self.last and is_away(error)):
                    raise
                reason = error.message.splitlines()[0]
            if time.monotonic() - began >= STEADY_SECONDS:
                self._pauses.reset()
            if reason != self._told:
                click.echo(f"({plain(reason)}; watching goes on after event {self.last})", err=True)
                self._told = reason
            self._pauses.sleep()

    def _stream(self) -> Iterator[bytes]:
        limit = self.client.connection.timeout_seconds
        timeout = httpx.Timeout(limit, connect=min(limit, CONNECT_SECONDS))
        headers = {"last-event-id": self.last} if self.last else {}
        try:
            with self.client.http().stream(
                "GET", API + self.path, params=self.query, headers=headers, timeout=timeout
            ) as response:
                if response.is_error:
                    response.read()
                    raise self.client.refused(response)
                response.request.extensions["timeout"]["read"] = limit = SILENCE_SECONDS
                yield from self._changes(response)
        except httpx.ReadTimeout:
            raise self.client.late(limit) from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as error:
            raise self.client.unreachable(error) from None

    def _changes(self, response: httpx.Response) -> Iterator[bytes]:
        for fields in blocks(response.iter_bytes()):
            self.last, self._told = fields.get(b"id", self.last.encode()).decode(), ""
            if fields.get(b"event") == b"end":
                return
            if b"data" in fields:
                yield fields[b"data"]


def blocks(pieces: Iterator[bytes]) -> Iterator[dict[bytes, bytes]]:
    """The fields of each block of server-sent events, which our engine writes a line each."""
    fields: dict[bytes, bytes] = {}
    for line in _lines(pieces):
        name, _, value = line.partition(b": ")
        if name:
            fields[name] = value
        elif fields:
            yield fields
            fields = {}


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Only LF ends a line: what else Unicode knows may be in a document."""
    begun: list[bytes] = []
    for piece in pieces:
        first, *others = piece.split(b"\n")
        begun.append(first)
        for line in others:
            yield b"".join(begun)
            begun = [line]


def line_of(change: bytes, form: str) -> str:
    """`14:03:11  MODIFIED  leaf/a  Ready  PhaseChanged`, and what the event says; or only the name."""
    told = loads(change)
    event, resource = told["event"], told["resource"]
    name = f"{event['resource']['kind']}/{event['resource']['name']}"
    if form == "name":
        return name
    at = datetime.fromisoformat(event["created_at"]).astimezone().strftime("%H:%M:%S")
    phase = resource["phase"] if resource else "-"
    what = " ".join(filter(None, (event["type"], event["reason"], event["message"])))
    return plain(f"{at}  {told['type']:8}  {name}  {phase}  {what}").replace("\n", " ")

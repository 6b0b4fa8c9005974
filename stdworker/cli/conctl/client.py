"""Talking to the engine's REST API. Whatever goes wrong is one clear sentence."""

from __future__ import annotations

import ipaddress
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import click
import httpx

from stdworker.cli.conctl.hints import hint
from stdworker.errors import without_user
from stdworker.model.json_text import RawJson, elements, loads, members

API = "/api/v1"
NDJSON = "application/x-ndjson"
PAGE_ITEMS = 500
RETRIES_MAX = 5
RETRY_AFTER_SECONDS = 1.0  # when the engine asks for patience without saying how much
CONNECT_SECONDS = 5.0
WRITTEN_ERRORS_MAX = 20


class Failed(click.ClickException):
    """What was asked could not be done; exit status 1. `status` is the HTTP status, 0 without an answer.

    `problem` is what the engine said, if it did.
    """

    def __init__(self, message: str, status: int = 0, problem: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.problem = problem


@dataclass(slots=True)
class Connection:
    """Where the engine is and how it is reached."""

    server: str = "http://localhost:8080"
    timeout_seconds: float = 30.0
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_ca: Path | None = None
    insecure: bool = False


class Listed(NamedTuple):
    """The items of a list; `is_cut` when there are more."""

    items: list[RawJson]
    is_cut: bool


@dataclass(slots=True)
class Listing:
    """A list that is read page by page; at most `limit` items unless it is 0, of those that are `chosen` if that is
    given. `is_cut` is known at its end."""

    client: Client
    path: str
    member: str
    query: Mapping[str, Any]
    limit: int = 0
    chosen: Callable[[Mapping[str, Any]], bool] | None = None
    is_cut: bool = False

    def pages(self) -> Iterator[list[RawJson]]:
        """The items of each page that has some, verbatim. Raises Failed."""
        cursor: str | None = None
        left = self.limit
        while True:
            found, cursor = self._page(cursor, left)
            self.is_cut = bool(self.limit) and (cursor is not None or len(found) > left)
            found = found[:left] if self.limit else found
            left -= len(found)
            if found:
                yield found
            if cursor is None or (self.limit and left <= 0):
                return

    def _page(self, cursor: str | None, left: int) -> tuple[list[RawJson], str | None]:
        size = min(left, PAGE_ITEMS) if self.limit and self.chosen is None else PAGE_ITEMS
        response = self.client.call("GET", self.path, query={**self.query, "limit": size, "cursor": cursor})
        found = elements((members(response.content) or {}).get(self.member, b"[]")) or []
        if self.chosen is not None:
            found = [item for item in found if self.chosen(loads(item))]
        return found, response.headers.get("x-next-cursor")

    def all(self) -> Iterator[RawJson]:
        return (item for page in self.pages() for item in page)


@dataclass(slots=True)
class Client:
    """A connection in use. Every method raises Failed."""

    connection: Connection
    _http: httpx.Client | None = field(default=None, repr=False)
    is_reached: bool = field(default=False, init=False)
    """Something has answered: an engine that doesn't any more is away for a while."""

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._http is not None:
            self._http.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        media_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float | None = None,
        again: bool = True,
    ) -> httpx.Response:
        """One request; `path` follows the API's prefix.

        An engine that asks for patience (429, 503 with Retry-After) is asked again within the time. `again`: also
        after a 503, which may have done what was asked.
        """
        limit = timeout_seconds or self.connection.timeout_seconds
        deadline = time.monotonic() + limit
        typed = {"content-type": media_type} if body is not None else {}
        for attempt in range(RETRIES_MAX + 1):
            response = self._ask(method, path, given(query or {}), body, {**typed, **(headers or {})}, limit)
            pause_seconds = _asked_pause_seconds(response, again=again)
            if pause_seconds is None or attempt == RETRIES_MAX or time.monotonic() + pause_seconds > deadline:
                break
            click.echo(f"(the engine asks for patience; trying again in {pause_seconds:g} s)", err=True)
            time.sleep(pause_seconds)
        if response.is_error:
            raise self.refused(response)
        return response

    def _ask(
        self, method: str, path: str, query: dict[str, Any], body: bytes | None, headers: dict[str, str], limit: float
    ) -> httpx.Response:
        timeout = httpx.Timeout(limit, connect=min(limit, CONNECT_SECONDS))
        try:
            http = self.http()
        except (httpx.InvalidURL, UnicodeError) as error:
            raise self.unreachable(error) from None
        try:
            response = http.request(method, API + path, params=query, content=body, headers=headers, timeout=timeout)
        except httpx.TimeoutException:
            raise self.late(limit) from None
        except UnicodeEncodeError as error:
            raise Failed(f"{error.object!r} is not UTF-8") from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as error:
            raise self.unreachable(error) from None
        self.is_reached = True
        return response

    def document(self, path: str, query: Mapping[str, Any] | None = None) -> RawJson:
        return RawJson(self.call("GET", path, query=query).content)

    def value(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        return loads(self.document(path, query))

    def items(self, path: str, member: str, query: Mapping[str, Any], limit: int = 0) -> Listed:
        """The items of all pages of a list, verbatim; at most `limit` unless it is 0."""
        listing = Listing(self, path, member, query, limit)
        return Listed(list(listing.all()), listing.is_cut)

    def http(self) -> httpx.Client:
        if self._http is None:
            self._http = httpx.Client(
                base_url=self.connection.server,
                verify=_trust(self.connection),
                trust_env=not _is_loopback(self.connection.server),
            )
        return self._http

    def refused(self, response: httpx.Response) -> Failed:
        """What the engine says of a request that it turned away."""
        problem = _problem(response)
        told = _told(response, problem)
        if problem is not None and str(problem.get("type", "")).endswith(":no_such_route"):
            told += f"\nIs {without_user(self.connection.server)} the address of an engine, and as new as this conctl?"
        return Failed(told, response.status_code, problem)

    def late(self, seconds: float) -> Failed:
        return Failed(f"no answer from {without_user(self.connection.server)} within {round(seconds, 2):g} s")

    def unreachable(self, error: Exception) -> Failed:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        told = f"no engine answers at {without_user(self.connection.server)}: {reason}"
        return Failed(f"{told}\n{hint(reason, self.connection.server)}")


def given(query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value not in (None, "", (), [])}


def _is_loopback(server: str) -> bool:
    host = httpx.URL(server).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _trust(connection: Connection) -> ssl.SSLContext | bool:
    if not connection.server.startswith("https://"):
        return False  # nothing to verify, and reading all authorities takes longer than a request
    try:
        context = ssl.create_default_context(cafile=connection.tls_ca)
        if connection.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if connection.tls_cert:
            context.load_cert_chain(connection.tls_cert, connection.tls_key)
    except (OSError, ssl.SSLError) as error:
        lone = connection.tls_cert and not connection.tls_key
        raise Failed(f"the TLS files can't be used: {error}{' (no --tls-key is given)' if lone else ''}") from None
    return context


def _asked_pause_seconds(response: httpx.Response, *, again: bool) -> float | None:
    """How long the engine asks us to wait before the same request; None: it doesn't."""
    after = response.headers.get("retry-after", "")
    if response.status_code not in (429, 503) or (response.status_code == 503 and not (again and after)):
        return None
    return float(after) if after.isascii() and after.isdigit() else RETRY_AFTER_SECONDS


def _problem(response: httpx.Response) -> Mapping[str, Any] | None:
    try:
        problem = loads(response.content)
        return problem if isinstance(problem["detail"], str) and isinstance(problem["errors"], list) else None
    except (ValueError, LookupError, TypeError):
        return None


def _told(response: httpx.Response, problem: Mapping[str, Any] | None) -> str:
    """A problem's own words: its detail, and each violation that the detail doesn't say."""
    if problem is not None:
        return explain(problem["detail"], problem["errors"])
    text = response.text.strip().split("\n")[0][:200]
    return f"{response.request.url} answered {response.status_code} {response.reason_phrase}: {text}".rstrip(": ")


def explain(
    detail: str, errors: list[Mapping[str, Any]], place_of: Callable[[str], str] = lambda location: location
) -> str:
    """A problem in sentences; `place_of` says where a location is, if it knows better."""
    lines = [f"  {told}" for error in errors if (told := _violation(detail, error, place_of(error["location"])))]
    if len(lines) > WRITTEN_ERRORS_MAX:
        lines = [*lines[:WRITTEN_ERRORS_MAX], f"  … and {len(lines) - WRITTEN_ERRORS_MAX} more"]
    return "\n".join([detail, *lines])


def _violation(detail: str, error: Mapping[str, Any], place: str) -> str:
    """What the detail doesn't say of it."""
    if error["message"] not in detail:
        return f"{place}: {error['message']}"
    if place == error["location"]:
        return ""
    pointer = error["location"].removeprefix("body")
    return f"at {place.removesuffix(f' {pointer}') if f'{pointer}: ' in detail else place}"

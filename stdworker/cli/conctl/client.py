"""Talking to the engine's REST API. Whatever goes wrong is one clear sentence."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import click
import httpx

from stdworker.errors import without_user
from stdworker.model.json_text import RawJson, elements, loads, members

API = "/api/v1"
PAGE_ITEMS = 500
CONNECT_SECONDS = 5.0
WRITTEN_ERRORS_MAX = 20


class Failed(click.ClickException):
    """What was asked could not be done; exit status 1. `status` is the HTTP status, 0 without an answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


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
class Client:
    """A connection in use. Every method raises Failed."""

    connection: Connection
    _http: httpx.Client | None = field(default=None, repr=False)

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
        timeout_seconds: float | None = None,
    ) -> httpx.Response:
        """One request; `path` follows the API's prefix."""
        limit = timeout_seconds or self.connection.timeout_seconds
        try:
            response = self.http().request(
                method,
                API + path,
                params=given(query or {}),
                content=body,
                headers={"content-type": media_type} if body is not None else None,
                timeout=httpx.Timeout(limit, connect=min(limit, CONNECT_SECONDS)),
            )
        except httpx.TimeoutException:
            raise Failed(f"no answer from {without_user(self.connection.server)} within {limit:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as error:
            raise self.unreachable(error) from None
        if response.is_error:
            raise self.refused(response)
        return response

    def document(self, path: str, query: Mapping[str, Any] | None = None) -> RawJson:
        return RawJson(self.call("GET", path, query=query).content)

    def value(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        return loads(self.document(path, query))

    def items(self, path: str, member: str, query: Mapping[str, Any], limit: int = 0) -> Listed:
        """The items of all pages of a list, verbatim; at most `limit` unless it is 0."""
        found: list[RawJson] = []
        cursor: str | None = None
        while True:
            size = min(limit - len(found), PAGE_ITEMS) if limit else PAGE_ITEMS
            response = self.call("GET", path, query={**query, "limit": size, "cursor": cursor})
            found += elements((members(response.content) or {}).get(member, b"[]")) or []
            cursor = response.headers.get("x-next-cursor")
            if cursor is None or (limit and len(found) >= limit):
                return Listed(found, cursor is not None)

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
        return Failed(_told(response), response.status_code)

    def unreachable(self, error: Exception) -> Failed:
        reason = " ".join(str(error).split()) or type(error).__name__
        return Failed(
            f"no engine answers at {without_user(self.connection.server)}: {reason}\n"
            "Start one with `converge serve`, or name its address with --server or CONVERGE_SERVER."
        )


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
        raise Failed(f"the TLS files can't be used: {error}") from None
    return context


def _told(response: httpx.Response) -> str:
    """A problem's own words: its detail, and each violation that the detail doesn't say."""
    try:
        problem = loads(response.content)
        detail, errors = problem["detail"], problem["errors"]
    except (ValueError, LookupError, TypeError):
        text = response.text.strip().split("\n")[0][:200]
        return f"{response.request.url} answered {response.status_code} {response.reason_phrase}: {text}".rstrip(": ")
    return explain(detail, errors)


def explain(detail: str, errors: list[Mapping[str, Any]]) -> str:
    lines = [f"  {e['location']}: {e['message']}" for e in errors if e["message"] not in detail]
    if len(lines) > WRITTEN_ERRORS_MAX:
        lines = [*lines[:WRITTEN_ERRORS_MAX], f"  … and {len(lines) - WRITTEN_ERRORS_MAX} more"]
    return "\n".join([detail, *lines])

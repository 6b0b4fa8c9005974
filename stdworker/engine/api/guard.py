"""What every request passes before and after its route: who may ask, how long it may take, safe headers.

A browser lends its user's place in the network to any page. So the Host must be one that no foreign name can
stand for (DNS rebinding), and a write must neither come from a foreign origin nor be sendable by a plain form.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stdworker.engine.api.problems import Refused, problem, problem_of, respond
from stdworker.engine.api.rate import RateLimit
from stdworker.engine.tls import Identity, is_allowed

REQUEST_SECONDS = 30.0
UNTIMED_SUFFIXES = ("/wait", "/watch", "/resources/batch")

PROBES = frozenset({"/livez", "/readyz"})  # whoever watches a process has no identity, and must not be slowed down

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
JSON_TYPES = frozenset({"application/json", "application/x-ndjson"})

HEADERS = {
    "X-API-Version": "v1",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask.

    `hosts` are names, beside loopback ones and addresses, by which the API is called; `*` stands for any.
    `spiffe_ids` are the clients that are served, all if there are none. Pages of `origins` may call from browsers.
    `requests_per_second_max` is for each client, 0 for no limit.
    """

    hosts: Collection[str] = ()
    spiffe_ids: Collection[str] = ()
    origins: Collection[str] = ()
    requests_per_second_max: int = 0


class Guard:
    """ASGI middleware that lets in what `access` says."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in access.hosts if host)
        self.spiffe_ids = access.spiffe_ids
        self.origins = frozenset(origin.lower() for origin in access.origins)
        most = access.requests_per_second_max
        self.rate = RateLimit(most) if most else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"
        answer = _Answer(send, is_bare=is_head)
        if is_head:
            scope = {**scope, "method": "GET"}
        try:
            self.admit(scope)
        except Refused as refused:
            await respond(problem_of(refused, scope["path"]), refused.headers)(scope, receive, answer)
            return
        limit = asyncio.timeout(None if scope["path"].endswith(UNTIMED_SUFFIXES) else REQUEST_SECONDS)
        try:
            async with limit:
                await self.app(scope, receive, answer)
        except TimeoutError:
            if answer.started or not limit.expired():
                raise
            told = problem(503, "too_slow", f"no answer within {REQUEST_SECONDS:.0f} s", scope["path"])
            await respond(told)(scope, receive, answer)

    def admit(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self.known(_hostname(host)):
            raise Refused(
                421,
                "foreign_host",
                f"the Host {host!r} is not one of this engine",
                hint="call it by its address or a loopback name, or add the name to the engine's ALLOWED_HOSTS",
            )
        if scope["path"] not in PROBES:
            self.admit_client(scope)
        if scope["method"] in SAFE_METHODS:
            return
        origin = headers.get("origin")
        if origin is not None and not self.is_own(origin, host):
            raise Refused(403, "foreign_origin", f"writes from the origin {origin!r} are refused")
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type not in JSON_TYPES and (media_type or _has_body(headers)):
            told = media_type or "nothing"
            raise Refused(415, "not_json", f"the body's content-type is {told}; send application/json")

    def admit_client(self, scope: Scope) -> None:
        who = client_of(scope)
        if not is_allowed(who, self.spiffe_ids):
            told = who.actor if who else "a client without a certificate"
            raise Refused(403, "not_allowed", f"{told} is none of the engine's API_AUTHZ_SPIFFE_IDS")
        if self.rate is None:
            return
        name = who.actor if who else address_of(scope)
        seconds = self.rate.wait_seconds(name, asyncio.get_running_loop().time())
        if seconds > 0:
            after = {"Retry-After": str(math.ceil(seconds))}
            raise Refused(429, "too_many_requests", "more requests than API_RATE_LIMIT_RPS allows", headers=after)

    def is_own(self, origin: str, host: str) -> bool:
        return urlsplit(origin).netloc.lower() == host.lower() or origin.lower() in self.origins

    def known(self, hostname: str) -> bool:
        if hostname in self.hosts or hostname == "localhost" or hostname.endswith(".localhost"):
            return True
        try:
            ipaddress.ip_address(hostname)
        except ValueError:
            return "*" in self.hosts
        return True


def client_of(scope: Scope) -> Identity | None:
    """Whose certificate the connection was opened with."""
    who: Identity | None = scope.get("state", {}).get("identity")
    return who


def address_of(scope: Scope) -> str:
    """Where the caller is; "" where nobody can tell. A socket for both families hands IPv4 addresses on as IPv6."""
    host: str = scope["client"][0] if scope["client"] else ""
    return host.removeprefix("::ffff:") if "." in host else host


class _Answer:
    """Adds the headers, and remembers whether the answer has begun.

    To a HEAD it is that to the GET without the body, which ends it: also a stream that has no end.
    """

    def __init__(self, send: Send, *, is_bare: bool) -> None:
        self.send = send
        self.is_bare = is_bare
        self.started = False
        self.ended = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        elif self.is_bare:
            if self.ended:
                return
            self.ended = True
            message = {"type": "http.response.body"}
        await self.send(message)


def _hostname(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"

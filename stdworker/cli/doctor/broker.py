"""The way to the broker, step by step, so that the one that fails is named; and the address of our own probes."""

from __future__ import annotations

import asyncio
import http.client
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import grpc
import grpc.aio

from stdworker.cli.doctor.finding import Finding, Level, fine, problem, warning
from stdworker.errors import SettingsError
from stdworker.model.settings import BrokerAddress, WorkerSettings
from stdworker.wire.certificate import validity
from stdworker.wire.channel import TlsFiles, open_channel
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.wire.service import WorkerClient

STEP_SECONDS = 5.0
DAYS_LEFT_MIN = 14

_REFUSED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
_NO_ANSWER = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def look_at_broker(settings: WorkerSettings) -> list[Finding]:
    """Every step until one fails. Takes at most some `STEP_SECONDS`."""

    async def steps() -> list[Finding]:
        return [finding async for finding in _steps(settings)]

    return asyncio.run(steps())


def look_at_health_address(address: tuple[str, int] | None) -> Iterator[Finding]:
    """Can the probes be served there, or does a worker serve them already?"""
    if address is None:
        return
    host, port = address
    shown = f"{host}:{port}"
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            yield fine("HEALTH_ADDR", f"{shown} is free")
    except OSError as error:
        if _probes_answer(host or "127.0.0.1", port):
            yield fine("HEALTH_ADDR", f"a worker serves its probes at {shown} now")
        else:
            told = f"{shown} can't be listened on: {error.strerror or error}"
            yield problem("HEALTH_ADDR", told, "choose another port, or stop what holds it")


def _probes_answer(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=STEP_SECONDS)
    try:
        connection.request("GET", "/livez")
        return connection.getresponse().status in (200, 503)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


async def _steps(settings: WorkerSettings) -> AsyncIterator[Finding]:
    address = settings.broker
    if address is None:
        return
    if settings.tls_cert_file is not None:
        yield own_certificate(settings.tls_cert_file)
    for step in (_resolve, _connect, _handshake, _ask):
        finding = await step(address, settings)
        if finding is not None:
            yield finding
            if finding.level is Level.PROBLEM:
                return


def own_certificate(file: Path) -> Finding:
    """Its dates; that it goes with its key is tried in the handshake."""
    try:
        dates = validity(file.read_text("ascii"))
    except (OSError, ValueError) as error:
        return problem("certificate", f"TLS_CERT_FILE {file} can't be read: {error}")
    if dates is None:
        return problem("certificate", f"TLS_CERT_FILE {file} is no certificate")
    return _judge_dates("certificate", f"ours ({file})", *dates)


def _judge_dates(about: str, whose: str, first: float, last: float) -> Finding:
    now = time.time()
    if now < first:
        return problem(about, f"{whose} is valid only from {_day(first)} on", "is the clock right?")
    if now > last:
        return problem(about, f"{whose} expired on {_day(last)}", "renew it")
    days = int((last - now) / 86_400)
    told = f"{whose} is valid until {_day(last)}, {days} days"
    return warning(about, told, "renew it soon") if days < DAYS_LEFT_MIN else fine(about, told)


def _day(instant: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(instant))


# ---- the steps: None is passed over ----


def _endpoint(address: BrokerAddress) -> tuple[str, int]:
    parts = urlsplit(f"//{address.target}")
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def _socket_path(address: BrokerAddress) -> str | None:
    return address.target.removeprefix("unix://") if address.target.startswith("unix:") else None


async def _resolve(address: BrokerAddress, settings: WorkerSettings) -> Finding | None:
    if _socket_path(address) is not None:
        return None
    host, port = _endpoint(address)
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(STEP_SECONDS):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        return problem("broker name", f"no answer about {host} within {STEP_SECONDS:g} s", "look at /etc/resolv.conf")
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        return problem("broker name", f"{host} isn't known: {why}", "is BROKER_ADDR spelled right?")
    addresses = dict.fromkeys(str(entry[4][0]) for entry in found)
    return None if host in addresses else fine("broker name", f"{host} is {', '.join(addresses)}")


async def _connect(address: BrokerAddress, settings: WorkerSettings) -> Finding:
    path = _socket_path(address)
    where = path if path is not None else address.target
    try:
        async with asyncio.timeout(STEP_SECONDS):
            if path is not None:
                _, writer = await asyncio.open_unix_connection(path)
            else:
                _, writer = await asyncio.open_connection(*_endpoint(address))
    except TimeoutError:
        told = f"no connection to {where} within {STEP_SECONDS:g} s"
        return problem("broker connection", told, "a firewall, or a host that is down?")
    except OSError as error:
        told = f"no connection to {where}: {error.strerror or error}"
        return problem("broker connection", told, "does the broker run, and listen there?")
    await _close(writer)
    return fine("broker connection", f"{where} accepts connections")


async def _handshake(address: BrokerAddress, settings: WorkerSettings) -> Finding | None:
    if not address.tls:
        return None
    host, port = _endpoint(address)
    try:
        context = _context(settings)
        async with asyncio.timeout(STEP_SECONDS):
            _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=host)
    except TimeoutError:
        return problem("broker TLS", f"no handshake within {STEP_SECONDS:g} s", "is TLS spoken at that port?")
    except ssl.SSLCertVerificationError as error:
        told = f"the broker's certificate is refused: {error.verify_message}"
        return problem("broker TLS", told, "BROKER_CA_FILE must name who signed it, and its name must be the host's")
    except (OSError, ValueError) as error:
        told = f"the handshake fails: {getattr(error, 'reason', None) or error}"
        return problem("broker TLS", told, "is TLS spoken at that port, and do key and certificate go together?")
    secure: ssl.SSLObject = writer.get_extra_info("ssl_object")
    certificate, protocol, chosen = secure.getpeercert() or {}, secure.version(), secure.selected_alpn_protocol()
    await _close(writer)
    if chosen != "h2":
        return problem(
            "broker TLS", f"{address.target} speaks {protocol} but no HTTP/2, so no gRPC", "is it the broker?"
        )
    dates = [ssl.cert_time_to_seconds(str(certificate[name])) for name in ("notBefore", "notAfter")]
    return _judge_dates("broker TLS", f"{protocol}; the broker's certificate", *dates)


def _context(settings: WorkerSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=settings.broker_ca_file)
    if settings.tls_cert_file is not None:
        context.load_cert_chain(settings.tls_cert_file, settings.tls_key_file)
    context.set_alpn_protocols(["h2"])
    return context


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    try:
        await writer.wait_closed()
    except OSError:
        return


async def _ask(address: BrokerAddress, settings: WorkerSettings) -> Finding:
    """A call that changes nothing: the configs of no kinds."""
    try:
        channel = open_channel(address, TlsFiles.of(settings))
    except SettingsError as error:
        return problem("broker", str(error))
    async with channel:
        try:
            await WorkerClient(channel).get_provider_config(pb.GetProviderConfigRequest(), timeout=STEP_SECONDS)
        except grpc.aio.AioRpcError as error:
            return _judge_status(address, settings, error)
    return fine("broker", f"{address.target} answers as a broker")


def _judge_status(address: BrokerAddress, settings: WorkerSettings, error: grpc.aio.AioRpcError) -> Finding:
    code = error.code()
    told = f"{code.name.lower()}: {error.details()}"
    if code in _NO_ANSWER:
        return problem("broker", f"{address.target} doesn't speak gRPC with us: {told}", _advice(address, settings))
    if code in _REFUSED:
        return problem("broker", f"the broker refuses this worker: {told}", "look at TLS_CERT_FILE")
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return problem("broker", f"{address.target} speaks gRPC, but is no broker of ours: {told}")
    return fine("broker", f"{address.target} answers as a broker ({told})")


def _advice(address: BrokerAddress, settings: WorkerSettings) -> str:
    """With TLS 1.3 a server refuses a certificate, or the lack of one, after the handshake, without a word."""
    if not address.tls:
        return "is that the REST port, or is TLS spoken there (https://)?"
    if settings.tls_cert_file is None:
        return "it may want a certificate of ours: set TLS_CERT_FILE and TLS_KEY_FILE"
    return "does it accept the certificate in TLS_CERT_FILE?"

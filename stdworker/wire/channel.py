"""Channels to a broker: limits, keepalive and TLS."""

from __future__ import annotations

import logging
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import grpc.aio

from stdworker.errors import SettingsError
from stdworker.model.settings import BrokerAddress, WorkerSettings

log = logging.getLogger("stdworker.wire")

MESSAGE_BYTES_MAX = 512 * 1024 * 1024
KEEPALIVE_SECONDS = 30
KEEPALIVE_CAUTIOUS_SECONDS = 300  # after a server said too_many_pings
KEEPALIVE_TIMEOUT_SECONDS = 10

LIMITS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
)


def channel_options(keepalive_seconds: int = KEEPALIVE_SECONDS) -> list[tuple[str, int]]:
    """Message limits, and pings that a server with default settings accepts.

    `grpc.keepalive_timeout_ms` alone doesn't bound how long a hung peer goes unnoticed;
    `grpc.http2.ping_timeout_ms`, a minute by default, does.
    """
    return [
        *LIMITS,
        ("grpc.keepalive_time_ms", keepalive_seconds * 1_000),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_SECONDS * 1_000),
        ("grpc.http2.ping_timeout_ms", KEEPALIVE_TIMEOUT_SECONDS * 1_000),
        ("grpc.initial_reconnect_backoff_ms", 500),
        ("grpc.max_reconnect_backoff_ms", 5_000),
        ("grpc.use_local_subchannel_pool", 1),
    ]


@dataclass(slots=True)
class TlsFiles:
    """Certificate, key and CA as files that are replaced while the worker runs.

    They are read again at most every `reload_seconds`, when a channel is made; a rotation seen half done
    (files that can't be read or don't parse) leaves the last good credentials in use.
    """

    cert: Path | None = None
    key: Path | None = None
    ca: Path | None = None
    reload_seconds: float = 30.0
    _credentials: grpc.ChannelCredentials | None = field(default=None, repr=False)
    _contents: tuple[bytes | None, ...] = ()
    _read_at: float = 0.0

    @classmethod
    def of(cls, settings: WorkerSettings) -> TlsFiles:
        return cls(settings.tls_cert_file, settings.tls_key_file, settings.broker_ca_file, settings.tls_reload_seconds)

    def credentials(self) -> grpc.ChannelCredentials:
        """Raises SettingsError if the files have never been good."""
        now = time.monotonic()
        if self._credentials is None or now - self._read_at >= self.reload_seconds:
            self._read_at = now
            self._reload()
        assert self._credentials is not None
        return self._credentials

    def _reload(self) -> None:
        try:
            contents = self._read()
        except SettingsError as error:
            if self._credentials is None:
                raise
            log.warning("the TLS files are not reloaded: %s", error)
            return
        if contents != self._contents:
            self._contents = contents
            ca, key, cert = contents
            self._credentials = grpc.ssl_channel_credentials(ca, key, cert)

    def _read(self) -> tuple[bytes | None, ...]:
        named = (("BROKER_CA_FILE", self.ca), ("TLS_KEY_FILE", self.key), ("TLS_CERT_FILE", self.cert))
        contents = tuple(_read_pem(variable, path) for variable, path in named)
        if self.cert and self.key:
            _check_pair(self.cert, self.key)
        return contents


def _read_pem(variable: str, path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SettingsError(variable, str(path), "a file that can be read", hint=str(error)) from None
    if b"-----BEGIN" not in content:
        raise SettingsError(variable, str(path), "a PEM file")
    return content


def _check_pair(cert: Path, key: Path) -> None:
    """grpc takes any bytes and fails at the handshake without a reason; OpenSSL says what is wrong."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(cert, key)
    except (ssl.SSLError, OSError) as error:
        raise SettingsError(
            "TLS_CERT_FILE", str(cert), f"a certificate that goes with {key}", hint=str(error)
        ) from None


def open_channel(
    address: BrokerAddress, tls: TlsFiles | None = None, *, keepalive_seconds: int = KEEPALIVE_SECONDS
) -> grpc.aio.Channel:
    """A channel that dials when it is first used. Raises SettingsError for TLS files that can't be used."""
    options = channel_options(keepalive_seconds)
    if not address.tls:
        return grpc.aio.insecure_channel(address.target, options=options)
    return grpc.aio.secure_channel(address.target, (tls or TlsFiles()).credentials(), options=options)

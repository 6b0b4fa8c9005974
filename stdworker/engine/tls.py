"""TLS of both listeners, and who is on the other side.

The files may be replaced while the engine runs: they are looked at before each handshake. What can't be used,
as in the middle of a rotation, is told once, and the last good ones stay in use.
"""

from __future__ import annotations

import contextlib
import logging
import ssl
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from stdworker.errors import SettingsError
from stdworker.wire.certificate import validity

log = logging.getLogger("stdworker.server")

SPIFFE = "spiffe://"
ACTOR_CHARACTERS_MAX = 512

_Signature = tuple[tuple[int, int, int], ...]
_EXPECTED = {
    "TLS_CERT_FILE": "a certificate in PEM that goes with TLS_KEY_FILE",
    "TLS_KEY_FILE": "the key of TLS_CERT_FILE in PEM, without a password",
    "TLS_CLIENT_CA_FILE": "certificates of authorities in PEM",
}


class Pems(NamedTuple):
    """What the files held when they were good together; without a `client_ca` nobody is asked who they are."""

    cert: bytes
    key: bytes
    client_ca: bytes | None


@dataclass(slots=True)
class ServerTls:
    """Certificate and key of a listener, and whose clients it trusts."""

    cert_file: Path
    key_file: Path
    client_ca_file: Path | None = None
    _pems: Pems | None = field(default=None, repr=False)
    _context: ssl.SSLContext | None = field(default=None, repr=False)
    _seen: _Signature = ()

    @property
    def is_mutual(self) -> bool:
        return self.client_ca_file is not None

    def context(self) -> ssl.SSLContext:
        """For handshakes from now on. Raises SettingsError if the files have never been good."""
        self._look()
        assert self._context is not None
        return self._context

    def pems(self) -> Pems:
        """As `context`, for those who make their own."""
        self._look()
        assert self._pems is not None
        return self._pems

    def _look(self) -> None:
        try:
            signature = self._signature()
            if signature == self._seen:
                return
            self._context, self._pems = self._read()
            self._seen = signature
        except SettingsError as error:
            if self._pems is None:
                raise
            if self._seen:
                log.warning("the TLS files are not reloaded: %s", error)
            self._seen = ()

    def _signature(self) -> _Signature:
        paths = (self.cert_file, self.key_file, self.client_ca_file)
        return tuple(_stamp(variable, path) for variable, path in zip(_EXPECTED, paths, strict=True) if path)

    def _read(self) -> tuple[ssl.SSLContext, Pems]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with _told("TLS_KEY_FILE", self.key_file):
            key = self.key_file.read_bytes()
        with _told("TLS_CERT_FILE", self.cert_file):
            cert = self.cert_file.read_bytes()
            context.load_cert_chain(self.cert_file, self.key_file, password="")  # else OpenSSL asks at the terminal
        client_ca = None
        if self.client_ca_file:
            with _told("TLS_CLIENT_CA_FILE", self.client_ca_file):
                client_ca = self.client_ca_file.read_bytes()
                context.load_verify_locations(self.client_ca_file)
            context.verify_mode = ssl.CERT_REQUIRED
        context.sni_callback = self._renew
        _warn_of_dates(self.cert_file, cert)
        return context, Pems(cert, key, client_ca)

    def _renew(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        """Called at the start of each handshake, with or without a name."""
        connection.context = self.context()


def _stamp(variable: str, path: Path) -> tuple[int, int, int]:
    with _told(variable, path):
        status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


@contextlib.contextmanager
def _told(variable: str, path: Path) -> Iterator[None]:
    """Raises SettingsError for what the system and OpenSSL refuse."""
    try:
        yield
    except OSError as error:  # ssl.SSLError is one
        raise SettingsError(variable, str(path), _EXPECTED[variable], hint=str(error)) from None


def _warn_of_dates(path: Path, cert: bytes) -> None:
    """Nothing but a log line: clients that don't look may be content."""
    dates = validity(cert.decode("ascii", "replace"))
    if dates is None or dates[0] <= time.time() <= dates[1]:
        return
    told = "is valid from %s to %s, which is not now: clients that look at it don't come in"
    log.warning(f"the certificate {path} {told}", *(time.strftime("%Y-%m-%d", time.gmtime(date)) for date in dates))


# ---- who it is ----


class Identity(NamedTuple):
    """Who showed a certificate: `actor` is how the audit calls them, `spiffe_id` is "" if it names none."""

    actor: str
    spiffe_id: str = ""


def identity(uris: Sequence[str], common_name: str) -> Identity:
    """A certificate with exactly one URI, of SPIFFE's scheme, is a SPIFFE identity; any other is its subject."""
    if len(uris) == 1 and uris[0].startswith(SPIFFE):
        return Identity(_plain(uris[0]), uris[0])
    return Identity(_plain(f"CN={common_name}"))


def identity_of(certificate: Mapping[str, Any]) -> Identity:
    """As `ssl` shows a certificate that it has verified."""
    uris = [value for what, value in certificate.get("subjectAltName", ()) if what == "URI"]
    names = [value for part in certificate.get("subject", ()) for what, value in part if what == "commonName"]
    return identity(uris, names[0] if names else "")


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:ACTOR_CHARACTERS_MAX])


def is_allowed(who: Identity | None, patterns: Collection[str]) -> bool:
    """Is it one of these SPIFFE ids, or below one that ends in `/*`? Without patterns everyone is."""
    if not patterns:
        return True
    spiffe_id = who.spiffe_id if who else ""
    return any(
        spiffe_id.startswith(pattern[:-1]) if pattern.endswith("/*") else spiffe_id == pattern for pattern in patterns
    )

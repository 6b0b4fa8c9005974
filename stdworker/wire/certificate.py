"""From when to when a certificate is valid: Python tells that of a peer's certificate, not of one in a file."""

from __future__ import annotations

import re
import ssl
from datetime import UTC, datetime

_TIME = rb"(?:\x17\x0d(\d{12})Z|\x18\x0f(\d{14})Z)"
_VALIDITY = re.compile(rb"\x30[\x1e\x20\x22]" + _TIME + _TIME)  # RFC 5280 4.1.2.5, as DER
_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"


def validity(pem: str) -> tuple[float, float] | None:
    """The first and the last instant, in Unix seconds, of the first certificate of a text; None if that is none.

    Raises ValueError for what is no PEM.
    """
    found = _VALIDITY.search(ssl.PEM_cert_to_DER_cert(_BEGIN + pem.partition(_BEGIN)[2].partition(_END)[0] + _END))
    return (_instant(found[1], found[2]), _instant(found[3], found[4])) if found else None


def _instant(short: bytes | None, full: bytes | None) -> float:
    """UTCTime has two digits of the year: 50 and more are of the last century."""
    if short is not None:
        full = (b"19" if short >= b"50" else b"20") + short
    assert full is not None
    return datetime.strptime(full.decode(), "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()

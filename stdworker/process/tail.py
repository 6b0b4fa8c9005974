"""The last bytes of a stream, in bounded memory."""

from __future__ import annotations

from collections import deque


class Tail:
    """Keeps the last `bytes_max` bytes. Drops whole chunks, so it may hold one chunk more."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self._chunks: deque[bytes] = deque()
        self._held = 0

    def add(self, chunk: bytes) -> None:
        chunk = chunk[-self.bytes_max :] if self.bytes_max else b""
        self._chunks.append(chunk)
        self._held += len(chunk)
        while self._held - len(self._chunks[0]) >= self.bytes_max:
            self._held -= len(self._chunks.popleft())
            if not self._chunks:
                return

    def clear(self) -> None:
        self._chunks.clear()
        self._held = 0

    def value(self) -> bytes:
        return b"".join(self._chunks)

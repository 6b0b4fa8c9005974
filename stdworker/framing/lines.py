"""Bytes become lines. A line ends at LF and nowhere else; memory stays bounded whatever a program prints."""

from __future__ import annotations

from typing import NamedTuple

SHOWN_BYTES_MAX = 200  # how much of a discarded line is kept to show it

_BOM = b"\xef\xbb\xbf"


class Overlong(NamedTuple):
    """A line that was discarded because it is longer than the limit: its first bytes, and how long it was."""

    start: bytes
    size: int


class LineBuffer:
    """Cuts a stream of chunks into lines.

    A CR before the LF and a byte order mark at the start of the stream are stripped. A line of more than
    `line_bytes_max` bytes before its LF is discarded as it arrives and becomes one `Overlong`; the next line
    is read as if nothing had happened. Holds at most `line_bytes_max` bytes between calls.
    """

    def __init__(self, line_bytes_max: int) -> None:
        self.line_bytes_max = line_bytes_max
        self._held = bytearray()
        self._size = 0
        self._at_start = True

    def feed(self, chunk: bytes) -> list[bytes | Overlong]:
        """The lines that `chunk` completes, in order."""
        *lines, rest = chunk.split(b"\n")
        pieces: list[bytes | Overlong] = [*lines]
        if b"\r" in chunk or len(chunk) > self.line_bytes_max:
            pieces = [self._cleaned(line) for line in lines]
        if lines and (self._size or self._at_start):
            self._hold(lines[0])
            pieces[0] = self._take()
        if rest:
            self._hold(rest)
        return pieces

    def end(self) -> list[bytes | Overlong]:
        """The last line, when the stream ended without LF."""
        return [self._take()] if self._size else []

    def __len__(self) -> int:
        """How many bytes came since the last LF."""
        return self._size

    @property
    def unfinished(self) -> bytes:
        """What came since the last LF."""
        return bytes(self._held)

    def _hold(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self.line_bytes_max:
            self._held += piece
        else:  # from here on only the start is kept
            self._held = self._held[:SHOWN_BYTES_MAX] + piece[: max(0, SHOWN_BYTES_MAX - len(self._held))]

    def _take(self) -> bytes | Overlong:
        line, size = bytes(self._held), self._size
        self._held, self._size = bytearray(), 0
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        return Overlong(line, size) if size > self.line_bytes_max else line.removesuffix(b"\r")

    def _cleaned(self, line: bytes) -> bytes | Overlong:
        if len(line) > self.line_bytes_max:
            return Overlong(line[:SHOWN_BYTES_MAX], len(line))
        return line.removesuffix(b"\r")

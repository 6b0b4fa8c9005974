"""What a session needs of a connection. gRPC is one such; nothing else in a session knows it."""

from __future__ import annotations

from typing import Protocol

from stdworker.errors import StdworkerError
from stdworker.wire.generated import worker_pb2 as pb


class Unreachable(StdworkerError):
    """The broker can't be reached, ended the stream, or doesn't answer (`timed_out`); the worker dials again."""

    code = "broker_unreachable"

    def __init__(self, message: str, *, timed_out: bool = False, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.timed_out = timed_out


class Stream(Protocol):
    """One WorkStream. Each method raises Unreachable when the stream is lost."""

    async def extensions(self) -> frozenset[str]:
        """What the broker listed; a base broker may take its time, so nothing waits for it."""

    async def read(self) -> pb.WorkStreamServerMsg | None:
        """The next frame; None when the broker ended the stream. Never cancelled while the stream is to live."""

    async def write(self, frame: bytes) -> None:
        """Send a serialized WorkStreamClientMsg. Never cancelled while the stream is to live."""

    async def half_close(self) -> None:
        """Say goodbye: nothing more is written."""

    def cancel(self) -> None:
        """Cut the stream."""


class Transport(Protocol):
    """A connection to one broker."""

    def open(self) -> Stream: ...

    async def pull(
        self, request: pb.GetProviderConfigRequest, timeout_seconds: float
    ) -> pb.GetProviderConfigResponse: ...

    async def close(self) -> None: ...


class Dial(Protocol):
    """Makes a connection each time it is called, and may learn from how one ended. `str` names the broker."""

    def __call__(self) -> Transport: ...

    def note(self, error: Unreachable) -> None: ...

"""Protobuf ⇄ model, and channels to a broker. The only package below the worker that knows gRPC."""

import os

# Read by grpc when it is first imported: children are spawned beside live streams, never forked with them,
# and its notes about GOAWAY frames are not for a user's terminal.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")

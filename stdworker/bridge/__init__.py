"""Any executable as a provider: `ProgramProvider` wraps one, `BridgeRuntime` is what all of them share."""

from stdworker.bridge.launch import LaunchConfig, Limits, parse_launch
from stdworker.bridge.provider import ProgramProvider
from stdworker.bridge.result import BridgeResult
from stdworker.bridge.runtime import BridgeRuntime, Counters
from stdworker.bridge.view import PeerView, PoolView, ProgramView

__all__ = [
    "BridgeResult",
    "BridgeRuntime",
    "Counters",
    "LaunchConfig",
    "Limits",
    "PeerView",
    "PoolView",
    "ProgramProvider",
    "ProgramView",
    "parse_launch",
]

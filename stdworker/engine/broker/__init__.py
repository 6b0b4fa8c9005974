"""Worker streams: sessions and credit, claims, results, leases, config push."""

from stdworker.engine.broker.broker import Broker
from stdworker.engine.broker.grpc_server import GrpcServer
from stdworker.engine.broker.membership import Membership, member_id

__all__ = ["Broker", "GrpcServer", "Membership", "member_id"]

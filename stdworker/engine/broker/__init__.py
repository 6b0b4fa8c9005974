"""Worker streams: sessions and credit, claims, results, leases, config push."""

from stdworker.engine.broker.broker import Broker, BrokerOptions
from stdworker.engine.broker.grpc_server import GrpcServer
from stdworker.engine.broker.membership import Membership, member_id

__all__ = ["Broker", "BrokerOptions", "GrpcServer", "Membership", "member_id"]

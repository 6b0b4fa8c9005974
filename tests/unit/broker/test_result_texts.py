"""A worker of any make may report any text; what reaches the store is what every store can hold."""

from stdworker.engine.broker.convert import decode_complete
from stdworker.model.kind import Stage
from stdworker.wire.generated import worker_pb2 as pb


def test_nul_which_postgres_refuses_is_spelled_as_an_escape():
    told = pb.StageComplete(lease_token="t", stage=pb.STAGE_WORK, error_message="a\0b", error_reason="\0")

    settlement = decode_complete(told, Stage.WORK)

    assert (settlement.error, settlement.reason) == (r"a\x00b", r"\x00")

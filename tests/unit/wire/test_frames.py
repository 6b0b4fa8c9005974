from hypothesis import given
from hypothesis import strategies as st

from stdworker.wire.frames import complete_frame, completes_frame
from stdworker.wire.generated import worker_pb2 as pb

sizes = st.sampled_from([0, 1, 100, 127, 128, 129, 16_383, 16_384, 70_000])
completes = sizes.map(lambda size: pb.StageComplete(lease_token="t", claim_epoch=3, status=b"x" * size))


@given(completes)
def test_a_single_result_reads_as_protobuf_wrote_it(complete):
    frame = pb.WorkStreamClientMsg.FromString(complete_frame(complete.SerializeToString()))
    assert frame == pb.WorkStreamClientMsg(complete=complete)


@given(st.lists(completes, max_size=5))
def test_a_batch_reads_as_protobuf_wrote_it(batch):
    frame = pb.WorkStreamClientMsg.FromString(completes_frame(c.SerializeToString() for c in batch))
    assert frame == pb.WorkStreamClientMsg(completes=pb.CompleteBatch(completes=batch))

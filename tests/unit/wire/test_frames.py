import pytest
from hypothesis import given
from hypothesis import strategies as st

from stdworker.wire.frames import complete_frame, completes_frame, task_frame, tasks_frame
from stdworker.wire.generated import worker_pb2 as pb

sizes = st.sampled_from([0, 1, 100, 127, 128, 129, 16_383, 16_384, 70_000])
completes = sizes.map(lambda size: pb.StageComplete(lease_token="t", claim_epoch=3, status=b"x" * size))
tasks = sizes.map(lambda size: pb.StageTask(lease_token="t", claim_epoch=3, provider_config=b"x" * size))


@pytest.mark.parametrize(
    ("messages", "made", "expected"),
    [
        (completes, complete_frame, lambda message: pb.WorkStreamClientMsg(complete=message)),
        (tasks, task_frame, lambda message: pb.WorkStreamServerMsg(task=message)),
    ],
)
@given(data=st.data())
def test_a_single_message_reads_as_protobuf_wrote_it(messages, made, expected, data):
    message = data.draw(messages)
    frame = expected(message)
    assert type(frame).FromString(made(message.SerializeToString())) == frame


@pytest.mark.parametrize(
    ("messages", "made", "expected"),
    [
        (completes, completes_frame, lambda b: pb.WorkStreamClientMsg(completes=pb.CompleteBatch(completes=b))),
        (tasks, tasks_frame, lambda b: pb.WorkStreamServerMsg(tasks=pb.TaskBatch(tasks=b))),
    ],
)
@given(data=st.data())
def test_a_batch_reads_as_protobuf_wrote_it(messages, made, expected, data):
    batch = data.draw(st.lists(messages, max_size=5))
    frame = expected(batch)
    assert type(frame).FromString(made(message.SerializeToString() for message in batch)) == frame

from hypothesis import given
from hypothesis import strategies as st

from stdworker.wire.frames import complete_frame, completes_frame, task_frame, tasks_frame
from stdworker.wire.generated import worker_pb2 as pb

sizes = st.sampled_from([0, 1, 100, 127, 128, 129, 16_383, 16_384, 70_000])
completes = sizes.map(lambda size: pb.StageComplete(lease_token="t", claim_epoch=3, status=b"x" * size))
tasks = sizes.map(lambda size: pb.StageTask(lease_token="t", claim_epoch=3, provider_config=b"x" * size))


@given(completes)
def test_a_single_result_reads_as_protobuf_wrote_it(complete):
    frame = pb.WorkStreamClientMsg.FromString(complete_frame(complete.SerializeToString()))
    assert frame == pb.WorkStreamClientMsg(complete=complete)


@given(st.lists(completes, max_size=5))
def test_a_batch_reads_as_protobuf_wrote_it(batch):
    frame = pb.WorkStreamClientMsg.FromString(completes_frame(c.SerializeToString() for c in batch))
    assert frame == pb.WorkStreamClientMsg(completes=pb.CompleteBatch(completes=batch))


@given(tasks)
def test_a_single_task_reads_as_protobuf_wrote_it(task):
    frame = pb.WorkStreamServerMsg.FromString(task_frame(task.SerializeToString()))
    assert frame == pb.WorkStreamServerMsg(task=task)


@given(st.lists(tasks, max_size=5))
def test_a_batch_of_tasks_reads_as_protobuf_wrote_it(batch):
    frame = pb.WorkStreamServerMsg.FromString(tasks_frame(task.SerializeToString() for task in batch))
    assert frame == pb.WorkStreamServerMsg(tasks=pb.TaskBatch(tasks=batch))

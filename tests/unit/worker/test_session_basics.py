"""A worker against a broker that knows the extensions, and against one that knows only the base contract."""

import pytest

from stdworker.model.kind import KindVersion
from stdworker.testing import make_request

BOTH = pytest.mark.parametrize("peer", [{}, {"extensions": ()}], ids=["extensions", "base"])


@BOTH
def test_a_task_comes_back_as_a_result(play, noop, peer):
    async def scenario(ground):
        ground.serve(noop())
        stream = await ground.stream()
        return await stream.run(make_request(KindVersion("thing"), name="ada"))

    assert play(scenario, **peer).outcome.status == b'{"done":"ada"}'

"""What JSON peers can't agree on is refused in every mode: for good, with its path and the first bytes received."""

import base64
import json

import pytest

from stdworker import protocol_files
from stdworker.errors import Terminal

pytestmark = pytest.mark.anyio

VECTORS = json.loads(protocol_files.read("stdio/v1/vectors/values.json"))["vectors"]
OTHERWISE = ("ok", "trailing_text")  # text after a value is no part of it: what is wrong then is the object around it
REFUSED = [pytest.param(vector, id=vector["name"]) for vector in VECTORS if vector["verdict"] not in OTHERWISE]

# Answers the first request with the document in a file, all others with 7.
PROGRAM = r"""
number=0
while IFS= read -r request; do
  id=${request#*\"id\":\"} id=${id%%\"*}
  printf '{"id":"%s","status":' "$id"
  if [ $((number++)) = 0 ]; then cat "$1"; else printf 7; fi
  printf '}\n'
done
"""


@pytest.mark.parametrize("mode", ["oneshot", "stream"])
@pytest.mark.parametrize("vector", REFUSED)
async def test_a_status_that_no_peer_can_carry_fails_its_request_and_names_the_path(provide, tmp_path, mode, vector):
    document = tmp_path / "document"
    document.write_bytes(base64.b64decode(vector["base64"]) if "base64" in vector else vector["text"].encode())
    program = await provide(mode=mode, command="bash", args=["-c", PROGRAM, "program", str(document)])

    failure = (await program.run()).failure

    assert isinstance(failure, Terminal)
    assert failure.reason == "BadResponse"
    assert f"/status{vector.get('path', '')}" in failure.message or "UTF-8" in failure.message
    assert 'received: {"id":"' in failure.message
    if mode == "stream":
        assert await program.status() == b"7"

"""The vectors of both modes, with real programs."""

import asyncio
import json

import pytest

from stdworker import protocol_files
from stdworker.errors import Retry, Terminal

pytestmark = pytest.mark.anyio

# Prints a file, then ends: by a signal if the name of one is given.
ENDING = 'cat "$1"; case $2 in [0-9]*) exit "$2";; *) kill -"$2" $$;; esac'
# Takes as many requests as it is told, and then prints a file in which $ID1 is the id of the first one.
ANSWERING = r"""
prints=$(cat "$1"; printf .)
for number in $(seq "$2"); do
  IFS= read -r request
  id=${request#*\"id\":\"}
  prints=${prints//\$ID$number/${id%%\"*}}
done
printf %s "${prints%.}"
IFS= read -r request
"""


def vectors(name):
    found = json.loads(protocol_files.read(f"stdio/v1/vectors/{name}.json"))["vectors"]
    return [pytest.param(vector, id=vector["name"]) for vector in found]


@pytest.mark.parametrize("vector", vectors("exits"))
async def test_a_one_shot_program_ends_its_request_as_the_vector_says(provide, tmp_path, vector):
    stdout = tmp_path / "stdout"
    stdout.write_bytes(vector["stdout"].encode())
    ending = vector.get("signal", str(vector.get("exit")))
    args = ["-c", ENDING, "ending", str(stdout), ending]
    program = await provide(command="bash", args=args, strict=vector.get("strict", False))

    result = await program.run()

    verdict = {"success": type(None), "terminal": Terminal, "transient": Retry}[vector["verdict"]]
    assert type(result.failure) is verdict, result.failure
    if result.failure is None:
        assert result.outcome.status == (None if vector["status"] is None else vector["status"].encode())
    else:
        assert result.failure.reason == vector["reason"]
        assert vector.get("message", "") in result.failure.message


@pytest.mark.parametrize("vector", vectors("streams"))
async def test_requests_of_a_persistent_program_end_as_the_vector_says(provide, tmp_path, vector):
    prints = tmp_path / "prints"
    prints.write_bytes("".join(line + "\n" for line in vector["prints"]).encode())
    args = ["-c", ANSWERING, "answering", str(prints), str(vector["requests"])]
    program = await provide(mode="stream", command="bash", args=args, concurrency=vector["requests"])

    results = await asyncio.gather(*(program.run(name=f"r{n}") for n in range(vector["requests"])))

    told = [r.failure.reason if r.failure else r.outcome.status and r.outcome.status.decode() for r in results]
    assert told == vector["results"], [result.failure for result in results]

"""The complete program of the protocol's README is complete, and its list of what a program gets too."""

import re

import pytest

from stdworker import protocol_files
from stdworker.process.environment import DEFAULTS, PASSED

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", ["oneshot", "stream"])
async def test_the_program_of_the_readme_runs_in_every_mode(provide, script, mode):
    readme = protocol_files.read("stdio/v1/README.md").decode("utf-8")
    [program] = re.findall(r"```bash\n(.*?)```", readme, re.DOTALL)
    provider = await provide(mode=mode, command=script(program))

    assert [await provider.status(b'{"name":"%s"}' % name) for name in (b"Ada", b"Bo")] == [
        b'{"greeting":"Hello, Ada!"}',
        b'{"greeting":"Hello, Bo!"}',
    ]


async def test_every_variable_that_a_program_gets_of_its_host_is_on_the_page():
    readme = protocol_files.read("stdio/v1/README.md").decode("utf-8")
    told = readme[readme.index("## What the program gets") :]

    assert {*PASSED, *DEFAULTS} == set(re.findall(r"[A-Z]+", told)) & {*PASSED, *DEFAULTS}

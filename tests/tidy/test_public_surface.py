"""What `import stdworker` promises."""

import subprocess
import sys

import stdworker


def test_all_is_sorted_and_every_name_is_there():
    assert stdworker.__all__ == sorted(stdworker.__all__)
    assert all(getattr(stdworker, name) is not None for name in stdworker.__all__)


def test_every_public_name_says_what_it_means():
    undocumented = [name for name in stdworker.__all__ if not getattr(stdworker, name).__doc__]
    assert undocumented == []


def test_importing_the_surface_loads_neither_grpc_nor_the_engine():
    code = (
        "import sys, stdworker; print(sorted({m.split('.')[0] for m in sys.modules} & {'grpc', 'sqlalchemy', 'click'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_name_that_is_not_there_is_an_attribute_error():
    assert not hasattr(stdworker, "nothing_of_the_kind")

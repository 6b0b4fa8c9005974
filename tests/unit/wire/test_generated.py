"""The committed protobuf code loads on every runtime that pyproject allows."""

import subprocess
import sys
from pathlib import Path

from stdworker.wire import generated

FOLDER = Path(generated.__file__).parent


def test_it_was_made_by_a_generator_that_asks_for_no_newer_runtime():
    assert "runtime_version" not in (FOLDER / "worker_pb2.py").read_text()


def test_no_stubs_are_shipped_that_refuse_an_older_grpcio():
    assert list(FOLDER.glob("*_pb2_grpc.py")) == []


def test_it_loads_without_a_warning():
    code = "from stdworker.wire.generated import worker_pb2"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, timeout=60)


def test_grpc_is_told_not_to_watch_forks_and_not_to_chat_before_it_is_imported():
    code = "import os, stdworker; print(os.environ['GRPC_ENABLE_FORK_SUPPORT'], os.environ['GRPC_VERBOSITY'])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["0", "ERROR"]

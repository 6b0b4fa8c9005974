"""A TypeScript-style worker made from `protocol/` works with our broker, over gRPC, with what npm installs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import httpx
import pytest
from google.protobuf.compiler import plugin_pb2

from stdworker.wire.generated import worker_pb2

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("interop"), pytest.mark.timeout(300)]

SOURCE = Path(__file__).parent / "connect_node"
HANG_SECONDS = 30
MANIFEST = {
    "kind": "answer",
    "kind_version": 1,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]}],
}


@pytest.fixture(scope="module")
def node_worker(request: pytest.FixtureRequest) -> Path:
    """The folder of the worker, with its packages installed and its code generated."""
    if not (shutil.which("npm") and shutil.which("node")):
        assert os.environ.get("CI") != "true", "npm and node are needed in CI"
        pytest.skip("NOT TESTED: interoperability with connect-node, because npm or node is missing")
    folder = Path(request.config.cache.mkdir("interop-connect-node"))
    for name in ("package.json", "package-lock.json", ".npmrc", "worker.mjs"):
        shutil.copy(SOURCE / name, folder / name)
    install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    generate(folder)
    return folder


def generate(folder: Path) -> None:
    """Run the code generator as protoc would."""
    proto = worker_pb2.DESCRIPTOR
    request = plugin_pb2.CodeGeneratorRequest(file_to_generate=[proto.name], parameter="target=js")
    proto.CopyToProto(request.proto_file.add())
    plugin = folder / "node_modules" / ".bin" / "protoc-gen-es"
    done = subprocess.run([plugin], input=request.SerializeToString(), capture_output=True, check=True, timeout=60)
    response = plugin_pb2.CodeGeneratorResponse.FromString(done.stdout)
    assert not response.error
    for file in response.file:
        path = folder / "gen" / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.content)


class NodeWorker:
    def __init__(self, folder: Path, broker: str, kind: str) -> None:
        self.process = subprocess.Popen(
            ["node", "worker.mjs", broker, kind], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._lines: Queue[dict[str, Any]] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            for line in stdout:
                self._lines.put(json.loads(line))

    def said(self) -> dict[str, Any]:
        return self._lines.get(timeout=HANG_SECONDS)

    def goodbye(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(HANG_SECONDS)


@pytest.fixture
def started(node_worker: Path) -> Iterator[list[NodeWorker]]:
    workers: list[NodeWorker] = []
    yield workers
    for worker in workers:
        worker.process.kill()
        worker.process.wait(10)


def test_a_connect_node_worker_gets_config_and_tasks_and_its_results_make_resources_ready(
    serve: Any, node_worker: Path, started: list[NodeWorker]
) -> None:
    engine = serve()
    with httpx.Client(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS) as api:
        api.put("/kinds/answer/manifest", json=MANIFEST).raise_for_status()
        config = {"name": "answer", "kind": "answer", "kind_version": 1, "is_default": True, "spec": {"tone": "kind"}}
        api.post("/providerconfigs", json=config).raise_for_status()
        worker = NodeWorker(node_worker, engine.broker, "answer")
        started.append(worker)

        assert worker.said() == {"pulled": ['{"tone":"kind"}']}
        assert worker.said() == {"pushed": '{"tone":"kind"}'}
        resource = {"kind": "answer", "kind_version": 1, "name": "a", "spec": {"question": 6}}
        api.post("/resources", json=resource).raise_for_status()
        assert worker.said() == {"task": "a", "stage": "WORK", "spec": '{"question":6}'}

        api.get("/resources/answer/a/wait", params={"for": "ready", "timeout": f"{HANG_SECONDS}s"}).raise_for_status()
        assert api.get("/resources/answer/a").json()["status"] == {"answeredBy": "node", "name": "a"}
        assert worker.goodbye() == 0
        assert worker.said() == {"ended": True}

"""`make demo`: real programs become kinds, kinds become resources, resources converge to Ready."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

BIN = Path(sys.executable).parent
EXAMPLES = Path(__file__).parents[1]
FOLDERS = [EXAMPLES / "bash" / "01-leaf", EXAMPLES / "bash" / "02-composer", EXAMPLES / "bash" / "03-stream"]
FOLDERS += [EXAMPLES / "node" / "01-leaf", EXAMPLES / "node" / "02-composer", EXAMPLES / "node" / "03-stream"]
FOLDERS += [EXAMPLES / "demo"]
RESOURCES = 7
STEP_SECONDS_MAX = 60
COLOURS = {"Ready": "green", "Failed": "red", "Degraded": "yellow"}

console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())  # in a pipe a line is a line
Resource = dict[str, Any]


class Stuck(Exception):
    """Something never happened; the message says what."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def process(log: Path, environment: dict[str, str], *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is stopped, and seen to stop, at the end."""
    with log.open("wb") as output:
        running = subprocess.Popen([str(BIN / command[0]), *command[1:]], env=environment, stdout=output, stderr=output)
    try:
        yield running
    finally:
        running.send_signal(signal.SIGTERM)
        try:
            running.wait(20)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


class Demo:
    def __init__(self, folder: Path) -> None:
        rest, broker = free_port(), free_port()
        self.folder = folder
        self.server = f"http://127.0.0.1:{rest}"
        self.client = httpx.Client(base_url=f"{self.server}/api/v1", timeout=5)
        self.environment = os.environ | {
            "DATABASE_URL": f"sqlite:///{folder}/converge.db",
            "LISTEN_ADDR": f"127.0.0.1:{rest}",
            "BROKER_ADDR_LISTEN": f"127.0.0.1:{broker}",
            "BROKER_ADDR": f"http://127.0.0.1:{broker}",
            "CONVERGE_SERVER": self.server,
            "STDWORKER_KINDS_PATH": ":".join(map(str, FOLDERS)),
            "TMPDIR": str(folder),
        }
        self.seen: dict[str, str] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, stack: ExitStack, name: str, *command: str) -> None:
        log = self.folder / f"{name}.log"
        self.processes[name] = stack.enter_context(process(log, self.environment, *command))

    def check_alive(self) -> None:
        for name, running in self.processes.items():
            if running.poll() is not None:
                raise Stuck(f"the {name} ended with status {running.returncode}\n{self.logs()}")

    def conctl(self, *arguments: str) -> None:
        console.print(Text(f"$ conctl {' '.join(arguments)}", style="bold"))
        done = subprocess.run([str(BIN / "conctl"), *arguments], env=self.environment, cwd=EXAMPLES, check=False)
        if done.returncode:
            raise Stuck(f"conctl {arguments[0]} failed")

    def resources(self) -> list[Resource]:
        try:
            found = self.client.get("/resources", params={"limit": 500}).json()["resources"]
        except (httpx.TransportError, KeyError):
            return []
        return sorted(found, key=lambda resource: (resource["created_at"], resource["kind"], resource["name"]))

    def until(self, what: str, true: Any) -> None:
        """Show every step on the way to `true(resources)`."""
        end = time.monotonic() + STEP_SECONDS_MAX
        with ExitStack() as stack:
            live = stack.enter_context(Live(console=console, refresh_per_second=10)) if console.is_terminal else None
            while True:
                found = self.resources()
                if live:
                    live.update(table(found))
                else:
                    self.tell_changes(found)
                if true(found):
                    return
                self.check_alive()
                if time.monotonic() > end:
                    raise Stuck(f"{what}: not within {STEP_SECONDS_MAX} s\n{self.logs()}")
                time.sleep(0.1)

    def tell_changes(self, found: list[Resource]) -> None:
        for resource in found:
            name, now = f"{resource['kind']}/{resource['name']}", f"{resource['phase']}{reason(resource)}"
            if self.seen.get(name) != now:
                self.seen[name] = now
                console.print(f"  {name}: {now}", markup=False)

    def logs(self) -> str:
        return "\n".join(f"--- {log.name}\n{log.read_text()[-2000:]}" for log in self.folder.glob("*.log"))


def reason(resource: Resource) -> str:
    if resource["phase"] == "Failed":
        return f" ({resource['failure']['message'].splitlines()[0]})"
    return ""


def table(found: list[Resource]) -> Table:
    shown = Table("RESOURCE", "PHASE", "STATUS", box=None, pad_edge=False)
    for resource in found:
        status = ", ".join(str(value) for value in (resource.get("status") or {}).values())
        phase = Text(resource["phase"], style=COLOURS.get(resource["phase"], "cyan"))
        shown.add_row(f"{resource['kind']}/{resource['name']}", phase, reason(resource).strip(" ()") or status)
    return shown


def all_ready(found: list[Resource]) -> bool:
    return len(found) == RESOURCES and all(resource["phase"] == "Ready" for resource in found)


def edited(found: list[Resource]) -> bool:
    records = [resource for resource in found if resource["kind"] == "node-record"]
    return all_ready(found) and all("ttl 60" in (resource["status"] or {}).get("record", "") for resource in records)


def main() -> int:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="stdworker-demo-") as name, ExitStack() as stack:
        demo = Demo(Path(name))
        try:
            demo.start(stack, "engine", "converge", "serve")
            demo.start(stack, "worker", "stdworker", "run")
            wait_for(demo)
            console.print(f"An engine and a worker are up. The API and its docs: {demo.server}/docs\n")
            for folder in FOLDERS:
                for file in sorted(folder.glob("*.kind.yaml")):
                    demo.conctl("apply", "-f", str(file.relative_to(EXAMPLES)))
            demo.conctl("apply", "-f", "demo/resources.yaml")
            demo.until("every resource is Ready", all_ready)
            console.print("\nEverything is Ready. Now a config edit, while the programs run:\n")
            demo.conctl("apply", "-f", "demo/config.yaml")
            demo.until("the edit reached the programs", edited)
            console.print()
            demo.conctl("tree", "node-site/shop")
            stack.close()
        except Stuck as stuck:
            console.print(f"\nThe demo failed. {stuck}", style="red", markup=False)
            return 1
    console.print(f"\n{RESOURCES} resources Ready in {time.monotonic() - began:.0f} s; nothing is left running.\n")
    console.print(NEXT, markup=False, soft_wrap=True)  # commands to copy
    return 0


def wait_for(demo: Demo) -> None:
    end = time.monotonic() + STEP_SECONDS_MAX
    while time.monotonic() < end:
        demo.check_alive()
        try:
            if demo.client.get("/version").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise Stuck(f"the engine never answered\n{demo.logs()}")


NEXT = """What to try next:
  . .venv/bin/activate
  stdworker call examples/bash/01-leaf/bash-bucket --name photos --spec '{"region":"south"}'
  stdworker dev examples/bash        # the same, kept running, reloaded when a file changes
  examples/README.md                 # every example, in bash, node and Python"""


if __name__ == "__main__":
    sys.exit(main())

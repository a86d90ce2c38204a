"""A workspace with a tiny engine, deployed for real below a home of the test's own, on a port that is free."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from stackctl.commands.deploying.deploy import DeployRequest, deploy
from stackctl.commands.deploying.stop import stop
from stackctl.commands.selection import Selection
from stackctl.core.deploy.values import DeployResult
from stackctl.onhost import procs
from stackctl.ports import Ports
from stackctl.wiring import real_ports
from tests.fakes import Told

ENGINE = Path(__file__).parent / "engine"
STACK = """\
stack: tiny
base: {{path: engine}}
model: {{path: ./model, name: tiny}}
serve: {{module: tiny.serve, flags: {{{flags}}}}}
roles:
  single: {{host: here, port: {port}, gpus: {gpus}}}
hosts:
  here: {{address: local, purpose: {purpose}, gpus: {{count: 2}}{python}}}
timeouts: {{start: {start}, probe: 5s, drain: 1s}}
gate: {{requests: 3}}
releases: {{keep: {keep}}}
{more}
"""


def free_port() -> int:
    """Below the ports that clients get."""
    for port in range(20000 + os.getpid() % 5000, 32000):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no free port")


class World:
    """`folder`: the workspace; `home`: where ~/.stackctl is."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder, self.home = folder, home
        self.port = free_port()
        self.told = Told()
        self._without: tuple[str, ...] = ()
        package = folder / "stacks" / "engine" / "python" / "tiny"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        shutil.copy(ENGINE / "serve.py", package)
        self.write()

    def write(self, **changed: object) -> None:
        """The stack file: `flags`, `purpose`, `start`, `keep`, `gpus`, the host's `python` and `more` lines."""
        values = {"flags": "", "purpose": "test", "start": "20s", "keep": 5, "gpus": "[]", "more": "", "python": ""}
        if changed.get("python"):
            changed["python"] = f", python: {changed['python']}"
        (self.folder / "stacks" / "tiny.yaml").write_text(STACK.format(**{**values, **changed, "port": self.port}))

    def deploy_as(self, **changed: object) -> DeployResult:
        self.write(**changed)
        return self.deploy()

    def without(self, *elements: str) -> None:
        """From now on deploy the variant without these."""
        self._without = elements

    @property
    def ports(self) -> Ports:
        return real_ports(self.told)

    @property
    def root(self) -> Path:
        return self.home / ".stackctl" / "tiny"

    @property
    def plain(self) -> Selection:
        return Selection(str(self.folder / "stacks" / "tiny.yaml"))

    @property
    def selection(self) -> Selection:
        return replace(self.plain, without=self._without)

    def deploy(self, **more: object) -> DeployResult:
        return deploy(self.ports, replace(DeployRequest(self.selection), **more))

    def stop(self) -> None:
        stop(self.ports, self.selection)

    def answers(self) -> str | None:
        """Which release answers on the port; None when nobody does."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/model_info", timeout=5) as answer:
                return str(json.load(answer)["weight_version"])
        except OSError:
            return None

    def processes(self) -> list[int]:
        return sorted(procs.ours(str(self.root)))

    def is_free(self) -> bool:
        return not (self.root / "hold").exists()

    def cli(self, *words: str) -> subprocess.Popen[str]:
        """The command line in a process of its own, for what only a process can suffer."""
        argv = [sys.executable, "-m", "stackctl", *words, str(self.selection.stack)]
        return subprocess.Popen(
            argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test run in the background ignores it
        )

    def status(self) -> dict[str, object]:
        """status.json; empty when there is none."""
        path = self.root / "status.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def end(self) -> None:
        """Whatever the test did: leave no process, of a cut-over neither."""
        found = self.status()
        if procs.cutover_alive(str(self.root), found):
            os.kill(int(str(found["pid"])), signal.SIGKILL)
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)


def wait_for(what: Callable[[], object], seconds: float = 20.0) -> None:
    """Until `what()` is true. For what another process does, which nothing tells us of."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)

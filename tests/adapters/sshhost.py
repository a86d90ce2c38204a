"""The sshd of tests/ssh_host.sh for tests: brought up once, taken down if it was not up before. And three at once."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from stackctl.core.stack.resolved import HostSpec

ROOT = Path(__file__).parents[2]
KEYS = ROOT / ".stackctl" / "ssh-host"
PORT = 22220  # what stacks/demo-ssh.yaml says
SPEC = HostSpec(
    "box",
    f"stackctl-demo@127.0.0.1:{PORT}",
    python="/var/lib/stackctl-demo/venv/bin/python",
    identity=str(KEYS / "id_ed25519"),
    known_hosts=str(KEYS / "known_hosts"),
)


def listens() -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) == 0


def needs_sshd() -> None:
    """CI must have an sshd; a laptop may lack it, or the right to make a user."""
    missing = "root" if os.geteuid() else None if shutil.which("sshd", path="/usr/sbin") else "/usr/sbin/sshd"
    if missing:
        if os.environ.get("CI"):
            pytest.fail(f"this test needs {missing}")
        pytest.skip(f"needs {missing}")


@contextmanager
def ssh_host() -> Iterator[HostSpec]:
    needs_sshd()
    up_before = listens() and KEYS.exists()
    if not up_before:
        subprocess.run([ROOT / "tests" / "ssh_host.sh", "up"], check=True, timeout=280, stdout=subprocess.DEVNULL)
    try:
        yield SPEC
    finally:
        if not up_before:
            subprocess.run([ROOT / "tests" / "ssh_host.sh", "down"], check=True, timeout=60, stdout=subprocess.DEVNULL)


@dataclass(frozen=True)
class BareHost:
    """A host of a user of its own, with the system's interpreter. `pid`: of its sshd."""

    name: str
    port: int

    @property
    def user(self) -> str:
        return f"stackctl-{self.name}"

    @property
    def home(self) -> Path:
        return Path("/var/lib", self.user)

    @property
    def pid(self) -> int:
        return int((self.home / "sshd.pid").read_text())

    @property
    def keys(self) -> Path:
        return KEYS.with_name(f"{KEYS.name}-{self.name}")

    @property
    def yaml(self) -> str:
        """As a stack file names it."""
        keys = f"identity: {self.keys}/id_ed25519, known_hosts: {self.keys}/known_hosts"
        return f"{{address: {self.user}@127.0.0.1:{self.port}, python: /usr/bin/python3, {keys}}}"

    def switch(self, action: str) -> None:
        """`up` or `down`: then no user, home or key of it is left."""
        argv = [ROOT / "tests" / "ssh_host.sh", action, str(self.port), self.name]
        subprocess.run(argv, check=True, timeout=60, stdout=subprocess.DEVNULL)


@contextmanager
def bare_hosts(*names: str) -> Iterator[tuple[BareHost, ...]]:
    """As many hosts, each behind an sshd of its own; gone at the end, whatever happened."""
    needs_sshd()
    hosts = tuple(BareHost(name, PORT + number) for number, name in enumerate(names, 1))
    try:
        for host in hosts:
            host.switch("up")
        yield hosts
    finally:
        for host in hosts:
            host.switch("down")

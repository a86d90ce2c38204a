"""The sshd of tests/ssh_host.sh for tests: brought up once, taken down if it was not up before."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def ssh_host() -> Iterator[HostSpec]:
    """CI must have an sshd; a laptop may lack it, or the right to make a user."""
    missing = "root" if os.geteuid() else None if shutil.which("sshd", path="/usr/sbin") else "/usr/sbin/sshd"
    if missing:
        if os.environ.get("CI"):
            pytest.fail(f"this test needs {missing}")
        pytest.skip(f"needs {missing}")
    up_before = listens() and KEYS.exists()
    if not up_before:
        subprocess.run([ROOT / "tests" / "ssh_host.sh", "up"], check=True, timeout=280, stdout=subprocess.DEVNULL)
    try:
        yield SPEC
    finally:
        if not up_before:
            subprocess.run([ROOT / "tests" / "ssh_host.sh", "down"], check=True, timeout=60, stdout=subprocess.DEVNULL)

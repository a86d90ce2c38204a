"""Real stand-in servers for tests: prefill, decode and the real router, each a process, on free ports below 32768."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIER = "--enable-hierarchical-cache"
START = 30.0  # seconds
PARSERS = ("--tool-call-parser", "deepseekv4", "--reasoning-parser", "deepseek-v4")
ROUTER = (
    "--policy", "round_robin", "--disable-retries", "--disable-circuit-breaker",
    "--health-check-interval-secs", "2", "--log-level", "warn",
)  # fmt: skip


@dataclass(frozen=True)
class Fleet:
    """Where each process listens. `url`: the router, or the single worker."""

    url: str
    prefill: str = ""
    decode: str = ""
    bootstrap_port: int = 0
    pids: tuple[int, ...] = ()

    def pools(self) -> dict[str, dict[str, int]]:
        """State of all stores, by role."""
        found: dict[str, dict[str, int]] = {}
        for url in filter(None, (self.prefill, self.decode)) if self.prefill else (self.url,):
            found |= get(f"{url}/server_info")["pools"]
        return found


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:
        text = answer.read()
    return json.loads(text) if text[:1] in (b"{", b"[") else text.decode()


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on, below the range that outgoing connections take theirs from."""
    found: list[int] = []
    port = 20000 + os.getpid() * 37 % 8000
    while len(found) < count:
        port += 1
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    return found


@contextmanager
def process(words: Sequence[str], tree: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A Python module in a session of its own, with the tree first on its path; ended by SIGTERM."""
    env = {**os.environ, "PYTHONPATH": str(tree / "python"), "PYTHONDONTWRITEBYTECODE": "1", "NO_PROXY": "*"}
    with subprocess.Popen(
        [sys.executable, "-m", *words], env=env, cwd="/", start_new_session=True, stdout=subprocess.DEVNULL, stderr=None
    ) as child:
        try:
            yield child
        finally:
            child.terminate()
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                raise


def worker(tree: Path, port: int, *flags: str) -> list[str]:
    return ["standin.launch_server", "--model-path", str(tree), "--served-model-name", "m", "--port", str(port), *flags]


@contextmanager
def single(tree: Path, *flags: str) -> Iterator[Fleet]:
    (port,) = free_ports(1)
    with process([*worker(tree, port, *PARSERS), *flags], tree) as child:
        url = f"http://127.0.0.1:{port}"
        wait(f"{url}/health", [child])
        yield Fleet(url, pids=(child.pid,))


@contextmanager
def pair(tree: Path, prefill: Sequence[str] = (), decode: Sequence[str] = (), router: bool = True) -> Iterator[Fleet]:
    """Prefill and decode; with the real router in front, or else the test is the router."""
    one, two, boot, front, numbers = free_ports(5)
    roles = ["--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", str(boot)]
    with ExitStack() as stack:
        start = lambda words: stack.enter_context(process(words, tree))  # noqa: E731
        children = [
            start([*worker(tree, one, *PARSERS), *roles, *prefill]),
            start([*worker(tree, two, *PARSERS), "--disaggregation-mode", "decode", *decode]),
        ]
        urls = [f"http://127.0.0.1:{port}" for port in (one, two, front)]
        for url in urls[:2]:
            wait(f"{url}/health", children)
        if router:
            children.append(start(_router(front, numbers, urls, boot)))
            wait(f"{urls[2]}/readiness", children)
        yield Fleet(urls[2] if router else "", urls[0], urls[1], boot, tuple(child.pid for child in children))


def _router(port: int, metrics: int, urls: Sequence[str], boot: int) -> list[str]:
    words = ["sglang_router.launch_router", "--host", "127.0.0.1", "--port", str(port), "--pd-disaggregation"]
    words += ["--prefill", urls[0], str(boot), "--decode", urls[1], *ROUTER]
    return [*words, "--prometheus-host", "127.0.0.1", "--prometheus-port", str(metrics)]


def wait(url: str, children: Sequence[subprocess.Popen[bytes]]) -> None:
    """Until the address answers 200; fails at once when a process has ended."""
    deadline = time.monotonic() + START
    while True:
        try:
            get(url)
            return
        except (urllib.error.URLError, OSError):
            ended = [child.args for child in children if child.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"{url} does not answer; ended: {ended}") from None
            time.sleep(0.03)

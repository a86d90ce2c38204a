"""Runs a fixed list of programs that only look, each with an end, and without a shell.

A program that is not installed is a fact, not an error. nvidia-smi is asked only where the driver is loaded: elsewhere
it would load it and make device files. Long outputs are cut to the lines that anybody reads.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from typing import Any, NamedTuple

LIMIT = 1 << 20  # characters of one output
BRIEFLY = 8.0  # seconds for a program of a quick look: somebody waits, and a daemon that hangs is a fact
QUERY = (
    "index,uuid,pci.bus_id,name,compute_cap,memory.total,memory.used,driver_version,power.limit,clocks.applications.gr"
)
# not $PATH alone: that of a login without a terminal often lacks the last two
PATH = os.pathsep.join(
    (os.environ.get("PATH", ""), "/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
)
DRIVER = ("/proc/driver/nvidia", "/dev/dxg")
KERNEL_WORDS = re.compile(r"NVRM|\bXid\b|nvidia-uvm|\bAER\b.*(?:error|fatal)|Out of memory: Killed", re.I)
KERNEL_LINES = 40
LABELS = "{{json .Config.Labels}}"  # an image's environment may hold secrets
KILLED = 2.0  # seconds that a program may take to die


class Program(NamedTuple):
    """`keep`: what of its output travels. `root`: says nothing of use to another user."""

    name: str
    argv: tuple[str, ...]
    seconds: float = 10.0
    keep: Callable[[str], str] = str
    root: bool = False


def without_clocks(text: str) -> str:
    """nvidia-smi lists every clock that a card could run at: 100 KB for each card."""
    return re.sub(r"<supported_clocks>.*?</supported_clocks>", "", text, flags=re.S)


def bridges(text: str) -> str:
    """Of `lspci -vvv`: the first line of each bridge that has ACS, and the ACS line."""
    found = []
    for block in re.split(r"\n(?=\S)", text):
        head, _, rest = block.partition("\n")
        acs = re.search(r"ACSCtl:.*", rest)
        if acs and "bridge" in head.lower():
            found += [head, "\t" + acs[0]]
    return "\n".join(found)


def kernel_lines(text: str) -> str:
    return "\n".join([line for line in text.splitlines() if KERNEL_WORDS.search(line)][-KERNEL_LINES:])


NVIDIA = (
    Program("nvidia-smi", ("nvidia-smi", "-q", "-x"), 60.0, without_clocks),
    Program("nvidia-smi-query", ("nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,nounits"), 30.0),
    Program("nvidia-smi-topo", ("nvidia-smi", "topo", "-m"), 30.0),
    Program("nvidia-smi-p2p", ("nvidia-smi", "topo", "-p2p", "r"), 30.0),
)
LASTING = (
    Program("lspci", ("lspci", "-vvv"), 20.0, bridges, root=True),
    Program("docker-version", ("docker", "version", "--format", "{{json .}}"), 15.0),
    Program("nvidia-ctk", ("nvidia-ctk", "--version")),
)
# -h keeps chronyc from making a socket file of its own
PASSING = (
    Program("chronyc", ("chronyc", "-h", "127.0.0.1", "-n", "tracking")),
    Program("dmesg", ("dmesg",), 10.0, kernel_lines),
    Program("docker-info", ("docker", "info", "--format", "{{json .}}"), 20.0),
)


def has_driver() -> bool:
    return any(os.path.exists(path) for path in DRIVER)


def programs(images: list[str], *, driver: bool, quick: bool = False) -> list[Program]:
    """All that is asked, once; `images`: references to look up in docker, or `label=NAME=VALUE` to list by it."""
    nvidia = NVIDIA if driver else ()
    looks = tuple(Program(f"docker-image {image}", ("docker", "image", *_words(image)), 15.0) for image in images)
    if quick:
        return [one._replace(seconds=min(one.seconds, BRIEFLY)) for one in (*nvidia, *LASTING)]
    return [*nvidia, *LASTING, *PASSING, *looks]


def found(program: str) -> str | None:
    return shutil.which(program, path=PATH)


def _words(image: str) -> tuple[str, ...]:
    if image.startswith("label="):
        return ("ls", "--filter", image, "--format", "{{.Repository}}:{{.Tag}} {{.ID}}")
    return ("inspect", "--format", LABELS, "--", image)


def run_all(wanted: list[Program]) -> list[dict[str, Any]]:
    """Side by side: a daemon that hangs must not make the others wait."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(run, wanted))


def run(program: Program) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "name": program.name,
        "argv": list(program.argv),
        "code": None,
        "stdout": "",
        "stderr": "",
    }
    path = found(program.argv[0])
    if path is None:
        return dict(answer, missing=True)
    if program.root and os.geteuid() != 0:
        return dict(answer, stderr="only root is told")
    began = time.monotonic()
    try:
        code, out, errors = ended(path, program)
    except OSError as error:
        return dict(answer, stderr=error.strerror or str(error))
    answer |= {"code": code, "stderr": errors[:LIMIT], "seconds": round(time.monotonic() - began, 2)}
    if code is None:
        return dict(answer, cut=program.seconds)
    return dict(answer, stdout=(program.keep(out) if code == 0 else out)[:LIMIT])


def ended(path: str, program: Program) -> tuple[int | None, str, str]:
    """Exit code and both outputs; without a code it was cut off. One that the kernel cannot end is left alone."""
    env = {name: os.environ[name] for name in ("HOME", "USER", "LOGNAME", "DOCKER_HOST") if name in os.environ}
    process = subprocess.Popen(
        [path, *program.argv[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**env, "PATH": PATH, "LC_ALL": "C"},
    )
    said: tuple[bytes, bytes] = (b"", b"")
    code: int | None = None
    try:
        said = process.communicate(timeout=program.seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # a card that hangs holds nvidia-smi in the kernel
            said = process.communicate(timeout=KILLED)
    return code, said[0].decode("utf-8", "replace"), said[1].decode("utf-8", "replace")

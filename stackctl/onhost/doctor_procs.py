"""Who serves, who listens and who is on the cards: processes of this machine, with their command lines made safe."""

from __future__ import annotations

import os
import re
from typing import Any

from stackctl.onhost import doctor_files, masks, procs, sockets

ENGINE = re.compile(r"\b(?:sglang|sglang_router|vllm|standin|smg)\b|\bsgl[-_]model[-_]gateway\b")
SHELLS = (
    "sh",
    "dash",
    "bash",
    "setsid",
    "timeout",
    "tee",
    "tail",
    "less",
    "grep",
    "vim",
    "vi",
    "nano",
    "stackctl",
    "ssh",
)
WORDS, LENGTH = 400, 4000  # of one command line


def argv(pid: int) -> list[str]:
    """Without secrets; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(1 << 18).decode("utf-8", "replace").rstrip("\0").split("\0")
    except OSError:
        return []
    if len(words) == 1:  # renamed itself: one text
        return [masks.text(" ".join(masks.masked(words[0].split(" "))))[:LENGTH]] if words[0] else []
    return [word[:LENGTH] for word in masks.masked(words[:WORDS])]


def about(pid: int, mine: set[int]) -> dict[str, Any]:
    """User, command line (on one line), and whose it is; pid 0 is a process that we may not see."""
    if not pid:
        return {"pid": 0, "user": "", "command": "", "ours": False, "stack": ""}
    env = procs.environ(pid)
    return {
        "pid": pid,
        "user": procs.describe(pid)["user"],
        "command": " ".join(argv(pid)).replace("\r", "\\r").replace("\n", "\\n")[:300],
        "ours": pid in mine,
        "stack": env.get("STACKCTL_STACK", ""),
    }


def listeners(mine: set[int]) -> list[dict[str, Any]]:
    return [{**about(item.pid, mine), "port": item.port, "address": item.address} for item in sockets.listening()]


def engines(mine: set[int]) -> list[dict[str, Any]]:
    """Processes that serve, the one that began each: its children are left out."""
    table = procs.everything()
    own = os.getpid()
    marks = {pid: _mark(pid) for pid in table if pid != own}
    return [
        _engine(pid, mark, mine) for pid, mark in sorted(marks.items()) if mark and not marks.get(table[pid].parent)
    ]


def _mark(pid: int) -> str:
    """The instance of stackctl that it belongs to, or `-` for an engine of somebody else; empty for all others."""
    words = argv(pid)
    if not words or os.path.basename(words[0].split(" ")[0]).lstrip("-") in SHELLS:
        return ""
    instance = procs.environ(pid).get("STACKCTL_INSTANCE", "")
    looks = " ".join([os.path.basename(words[0]), *words[1:4]])
    return instance or ("-" if ENGINE.search(looks) and "-c" not in words[1:3] else "")


def _engine(pid: int, mark: str, mine: set[int]) -> dict[str, Any]:
    env = procs.environ(pid)
    instance = os.path.basename(mark) if mark != "-" else ""
    release = env.get("STACKCTL_RELEASE", "")
    return {
        "pid": pid,
        "user": procs.describe(pid)["user"],
        "argv": argv(pid),
        "env": shown(env),
        "since": _since(pid),
        "ours": pid in mine,
        "instance": instance,
        "release": release,
        "stack": env.get("STACKCTL_STACK", ""),
        "container": container(doctor_files.read(f"/proc/{pid}/cgroup")),
    }


def shown(env: dict[str, str]) -> dict[str, str]:
    """Of an environment: variables of allowed names, without values that their name calls a secret."""
    found = doctor_files.allowed(env)
    return {name: masks.HIDDEN if masks.tells_secret(name) else masks.text(value) for name, value in found.items()}


def container(group: str) -> str:
    """The id of the container that a control group belongs to; empty for one of the machine itself."""
    found = re.search(r"(?:docker[-/]|libpod-|cri-containerd-|/containers?/)([0-9a-f]{12,64})", group)
    return found[1][:12] if found else ""


def _since(pid: int) -> float | None:
    stat = procs.stat(pid)
    boot = re.search(r"^btime (\d+)", doctor_files.read("/proc/stat"), re.M)
    if stat is None or boot is None:
        return None
    return int(boot[1]) + stat.start / os.sysconf("SC_CLK_TCK")


def on_cards(outputs: list[dict[str, Any]], mine: set[int]) -> dict[str, Any]:
    """About every process that nvidia-smi names: pid -> user, command."""
    said = next((one["stdout"] for one in outputs if one["name"] == "nvidia-smi"), "")
    pids = {int(pid) for pid in re.findall(r"<pid>\s*(\d+)\s*</pid>", said)}
    return {str(pid): about(pid, mine) for pid in sorted(pids)}

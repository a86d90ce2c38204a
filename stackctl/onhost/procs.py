"""Which processes of this machine belong to a stack, and ending exactly those.

A process is ours when its environment names a release folder of ours, when it is in a session that an instance of
ours leads, or when it descends from one of those. Command lines are never looked at: engines and routers rename
themselves. Anything else is never signalled.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Stat(NamedTuple):
    """Of /proc/PID/stat; `start` in clock ticks since boot."""

    parent: int
    session: int
    start: int
    state: str


class Recorded(NamedTuple):
    """An instance that was started: what its `.pid` file says, and whether that very process is still there."""

    release: str
    instance: str
    pid: int
    start: int
    alive: bool
    exit: int | None


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def stat(pid: int) -> Stat | None:
    """None when there is no such process, or only its zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # a command may hold spaces and brackets
    found = Stat(int(fields[1]), int(fields[3]), int(fields[19]), fields[0])
    return None if found.state in "ZX" else found


def everything() -> dict[int, Stat]:
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return {pid: found for pid in pids for found in (stat(pid),) if found}


def recorded(root: str) -> list[Recorded]:
    """All instances that have a `.pid` file, of every release."""
    boot = boot_id()
    return [_recorded(path, boot) for path in sorted(Path(root).glob("releases/*/run/*.pid"))]


def _recorded(path: Path, boot: str) -> Recorded:
    words = path.read_text().split()
    pid, start, its_boot = (int(words[0]), int(words[1]), words[2]) if len(words) == 3 else (0, 0, "")
    found = stat(pid) if pid and its_boot == boot else None
    alive = bool(found and found.start == start)
    return Recorded(path.parts[-3], path.stem, pid if its_boot == boot else 0, start, alive, _exit_code(path))


def _exit_code(path: Path) -> int | None:
    try:
        return int(path.with_suffix(".exit").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def ours(root: str) -> dict[int, int]:
    """Every living process of the stack below `root`: pid -> start time."""
    table = everything()
    leaders = {item.pid: item for item in sorted(recorded(root), key=lambda item: item.alive) if item.pid}
    mine = {pid for pid in table if _marked(pid, root)}
    mine |= {pid for pid, found in table.items() if _in_session(found, leaders, table)}
    mine |= _descendants(mine, table)
    mine -= {os.getpid(), os.getppid()}
    return {pid: table[pid].start for pid in mine}


def environ(pid: int) -> dict[str, str]:
    """The environment that it was started with; empty when it is gone or another user's."""
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return dict(os.fsdecode(word).split("=", 1) for word in words if b"=" in word)


def _marked(pid: int, root: str) -> bool:
    mark = b"STACKCTL_INSTANCE=" + root.encode() + b"/releases/"
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return environ.startswith(mark) or b"\0" + mark in environ


def _in_session(found: Stat, leaders: dict[int, Recorded], table: dict[int, Stat]) -> bool:
    """A session's number is not given out again while one process is left in it, so an older start is no match."""
    leader = leaders.get(found.session)
    if leader is None or found.start < leader.start:
        return False
    now = table.get(found.session)
    return now is None or now.start == leader.start


def _descendants(mine: set[int], table: dict[int, Stat]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, found in table.items():
        children.setdefault(found.parent, []).append(pid)
    seen: set[int] = set()
    waiting = list(mine)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in seen:
                seen.add(child)
                waiting.append(child)
    return seen


def describe(pid: int) -> dict[str, Any]:
    """Pid, user and command, for a message."""
    folder = Path(f"/proc/{pid}")
    try:
        command = folder.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        owner = folder.stat().st_uid
    except OSError:
        return {"pid": pid, "user": "?", "command": "?"}
    return {"pid": pid, "user": _user(owner), "command": command[:120]}


def _user(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


ORDER = ("router", "decode", "single", "prefill")


def stop(root: str, drain: float) -> tuple[list[int], list[int]]:
    """End all that is ours: routers first, then the engines, then strays. Returns (killed, still there)."""
    killed: list[int] = []
    living = [item for item in recorded(root) if item.alive]
    first = [item for item in living if item.instance.startswith(ORDER[0])]
    for group in (first, [item for item in living if item not in first]):
        before = ours(root)
        for item in sorted(group, key=_rank):
            _signal_group(item.pid, signal.SIGTERM)
            _signal_group(item.pid, signal.SIGCONT)  # one that is stopped could not act on it
        members = _members(group, before)
        killed += _kill(_wait_gone(members, drain))
    killed += _kill(_wait_gone(_terminated(ours(root)), min(drain, 10.0)))
    return sorted(set(killed)), sorted(_wait_gone(ours(root), 10.0))


def _rank(item: Recorded) -> int:
    role = item.instance.rpartition("-")[0]
    return ORDER.index(role) if role in ORDER else len(ORDER)


def _members(group: Sequence[Recorded], before: dict[int, int]) -> dict[int, int]:
    """Of the living processes, those that belong to these instances."""
    table = everything()
    leaders = {item.pid for item in group}
    mine = {pid for pid, found in table.items() if found.session in leaders} | leaders
    mine |= _descendants(mine, table)
    return {pid: start for pid, start in before.items() if pid in mine}


def _terminated(mine: dict[int, int]) -> dict[int, int]:
    for pid in mine:
        _signal(pid, signal.SIGTERM)
    return mine


def _wait_gone(mine: dict[int, int], seconds: float) -> dict[int, int]:
    """Wait until all are gone, at most so long; those that are left."""
    deadline = time.monotonic() + seconds
    left = dict(mine)
    while True:
        left = {pid: start for pid, start in left.items() if _same(pid, start)}
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.03)


def _kill(left: dict[int, int]) -> list[int]:
    for pid in left:
        _signal(pid, signal.SIGKILL)
    _wait_gone(left, 10.0)
    return list(left)


def _same(pid: int, start: int) -> bool:
    found = stat(pid)
    return bool(found and found.start == start)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def read_json(path: Path) -> Any:
    """None when it is not there or not whole."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def cutover_alive(root: str, status: Any) -> bool:
    """Is the process that wrote this status still at work?"""
    if not isinstance(status, dict) or status.get("state") != "running" or status.get("boot") != boot_id():
        return False
    return _same(int(status.get("pid", 0)), int(status.get("start", 0)))


def beat(root: str, attempt: str | None) -> None:
    """Say that the holder still works, when it is the holder who asks."""
    details = Path(root, "hold", "details.json")
    found = read_json(details)
    if attempt and isinstance(found, dict) and found.get("attempt") == attempt:
        os.utime(details)

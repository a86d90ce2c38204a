"""Removes environments that no release of any stack on this host runs by, and downloads that nobody needs any more.

An environment stays while a release's record or a process names it, while it is being built, and while a deploy is
at work on another stack: it may be the one that it has just made. A half-built one goes like any other.

argv[1] is a request in JSON, the answer is JSON on stdout; what is not asked for is not looked at:
{stacks: the folder of all stacks, stack: ours, environments?: folder, downloads?: folder, wheels?: [name..], dry?} ->
{environments: [{name, bytes, why}..], downloads: [{name, bytes, why}..], stay: [why..]}
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from stackctl.onhost import disk, environment, procs

OLD = 3600.0  # seconds after which nobody writes an unfinished download any more
LOCK = ".building"


def main(request: dict[str, Any]) -> dict[str, Any]:
    stacks = _place(request["stacks"])
    answer: dict[str, Any] = {"environments": [], "downloads": [], "stay": []}
    if request.get("environments"):
        busy = _held(stacks, request["stack"])
        answer["stay"] = [f"environments stay: {name} is held, a deploy of it may want one" for name in busy]
        if not busy:
            answer["environments"] = _environments(_place(request["environments"]), stacks, bool(request.get("dry")))
    if request.get("downloads"):
        wheels = set(request.get("wheels", ()))
        answer["downloads"] = _downloads(_place(request["downloads"]), wheels, bool(request.get("dry")))
    return answer


def _place(path: str) -> Path:
    return Path(os.path.realpath(os.path.expanduser(path)))


def _held(stacks: Path, own: str) -> list[str]:
    return sorted(path.parent.name for path in stacks.glob("*/hold") if path.parent.name != own)


def _environments(home: Path, stacks: Path, dry: bool) -> list[dict[str, Any]]:
    """Each with all that lies beside it: `KEY/`, `KEY.log`, …"""
    keys = sorted({path.name.partition(".")[0] for path in home.glob("*")} - {""})
    used = _named(home, stacks) | _running(home) if keys else set()
    gone = []
    for key in keys:
        folder = home / key
        if key in used or environment.state(folder)["state"] == "building":
            continue
        why = "no release runs by it" if environment.record(folder) else "half-built"
        found = _remove(folder, dry)
        gone += [dict(found, why=why)] if found else []
    return gone


def _named(home: Path, stacks: Path) -> set:  # type: ignore[type-arg]  # Python 3.9 without an import for one word
    """Keys that records of releases name, of any stack."""
    records = (procs.read_json(path) for path in stacks.glob("*/releases/*/record.json"))
    pythons = [str(record.get("python", "")) for record in records if isinstance(record, dict)]
    return {key for python in pythons for key in (_key(home, os.path.expanduser(python)),) if key}


def _running(home: Path) -> set:  # type: ignore[type-arg]
    """Keys whose interpreter some process was started by: releases below another home, tests, a shell."""
    found = set()
    for pid in procs.everything():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:1]
            words += Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:  # gone, or another user's
            pass
        paths = [words[0], *(word.partition(b"=")[2] for word in words if word.startswith(b"STACKCTL_PYTHON="))]
        found |= {key for path in paths for key in (_key(home, os.fsdecode(path)),) if key}
    return found


def _key(home: Path, path: str) -> str:
    """The environment that a path leads into; empty for any other path."""
    if not path.startswith("/"):
        return ""
    parts = Path(os.path.normpath(path)).parts
    places = [index for index, name in enumerate(parts) if name == home.name]
    return next((parts[i + 1] for i in places if i + 1 < len(parts) and Path(*parts[: i + 1]).resolve() == home), "")


def _remove(folder: Path, dry: bool) -> dict[str, Any] | None:
    """The record first: an environment without it is never used. Its lock keeps builders away, and outlives it."""
    lock = folder.with_suffix(LOCK)
    beside = [path for path in folder.parent.glob(folder.name + "*") if path.name.partition(".")[0] == folder.name]
    rest = [path for path in beside if path != lock]
    if not rest:
        return None
    if dry:
        return {"name": folder.name, "bytes": sum(disk.freed(path) for path in rest)}
    with open(lock, "a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # a builder came before us
            return None
        (folder / environment.RECORD).unlink(missing_ok=True)
        return {"name": folder.name, "bytes": sum(disk.take_away(path, dry=False)["bytes"] for path in rest)}


def _downloads(home: Path, wheels: set, dry: bool) -> list[dict[str, Any]]:  # type: ignore[type-arg]
    """Wheels that the caller names, and what a killed download left."""
    named = [(home / "wheels" / name, "the store has what was in it") for name in sorted(wheels)]
    left = [path for folder in ("wheels", "bases") for path in (home / folder).glob(".*")]
    left += Path(tempfile.gettempdir()).glob("stackctl-pip-*")
    named += [(path, "left by a download that was killed") for path in sorted(left) if _is_old(path)]
    return [dict(disk.take_away(path, dry=dry), why=why) for path, why in named if path.exists()]


def _is_old(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return found.st_uid == os.getuid() and time.time() - found.st_mtime > OLD


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))

"""Are the cards free? Asks nvidia-smi; processes of this stack do not count, all others do and are never touched."""

from __future__ import annotations

import shutil
import subprocess
import time
from typing import Any

from stackctl.onhost import procs

FREE_MEMORY = 2048  # MiB on a card without processes: what a driver and a display may keep


def look(wanted: set[int], mine: set[int]) -> dict[str, Any]:
    """Of the wanted cards: memory in use, and the processes on them that are not ours."""
    if shutil.which("nvidia-smi") is None:
        return {"problem": "nvidia-smi is not there"}
    gpus = _smi("--query-gpu=index,uuid,memory.used,memory.total")
    apps = _smi("--query-compute-apps=gpu_uuid,pid,used_memory")
    if gpus is None or apps is None:
        return {"problem": "nvidia-smi does not answer"}
    index = {uuid: int(number) for number, uuid, _, _ in gpus}
    foreign = [
        dict(procs.describe(int(pid)), card=index[uuid], memory=used)
        for uuid, pid, used in apps
        if index.get(uuid) in wanted and int(pid) not in mine
    ]
    used = {number: used for number, _, used, _ in gpus if int(number) in wanted}
    return {"used": used, "foreign": foreign, "ours": any(int(pid) in mine for _, pid, _ in apps)}


def _smi(query: str) -> list[list[str]] | None:
    """Rows of fields; memory in MiB."""
    try:
        done = subprocess.run(
            ["nvidia-smi", query, "--format=csv,noheader,nounits"], stdout=subprocess.PIPE, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return [[field.strip() for field in line.split(",")] for line in lines if "," in line]


def wait_free(root: str, seconds: float, wanted: set[int]) -> str | None:
    """None when they are free; else what is on them after so many seconds. Memory is given back late."""
    deadline = time.monotonic() + seconds
    while True:
        found = look(wanted, set(procs.ours(root)))
        busy = [f"card {card}: {used} MiB" for card, used in found.get("used", {}).items() if _full(used)]
        busy += ["card {card}: pid {pid} ({user}) {command}".format(**app) for app in found.get("foreign", ())]
        busy += [found["problem"]] if "problem" in found else []
        if not busy:
            return None
        if time.monotonic() > deadline:
            return "not free after {:g} s: {}".format(seconds, "; ".join(busy))
        time.sleep(1.0)


def _full(used: str) -> bool:
    return not used.isdigit() or int(used) > FREE_MEMORY

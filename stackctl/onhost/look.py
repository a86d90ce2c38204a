"""What a host has of a stack, in one look: releases, what runs, the hold, an unfinished cut-over. Changes nothing.

argv[1] is a request in JSON, the answer is JSON on stdout:
{root, tree?, release?, attempt?, health?: seconds} -> see `look`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from stackctl.onhost import procs


def main(request: dict[str, Any]) -> dict[str, Any]:
    root = os.path.realpath(os.path.expanduser(request["root"]))
    answer: dict[str, Any] = {"platform": sys.platform, "root": root, "python": sys.version.split()[0]}
    if sys.platform != "linux":
        return answer
    procs.beat(root, request.get("attempt"))
    answer.update(look(root, request))
    return answer


def look(root: str, request: dict[str, Any]) -> dict[str, Any]:
    folder = Path(root)
    status = procs.read_json(folder / "status.json")
    current, previous = link(folder / "current"), link(folder / "previous")
    wanted = {name for name in (current, previous, request.get("release")) if name}
    instances = procs.recorded(root)
    return {
        "host": os.uname().nodename,
        "now": time.time(),
        "free": free(existing(folder)),
        "current": current,
        "previous": previous,
        "status": status,
        "cutover": procs.cutover_alive(root, status),
        "hold": hold(folder),
        "releases": names(folder / "releases"),
        "trees": [name for name in names(folder / "trees") if len(name) == 40],
        "records": {name: procs.read_json(folder / "releases" / name / "record.json") for name in wanted},
        "deployed": {name: procs.read_json(folder / "releases" / name / "deployed.json") for name in wanted},
        "instances": [item._asdict() for item in instances],
        "processes": sorted(procs.ours(root)),
        "health": health(folder, current, instances, request.get("health")),
    }


def link(path: Path) -> str | None:
    try:
        return os.path.basename(os.readlink(path))
    except OSError:
        return None


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def free(folder: Path) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def existing(folder: Path) -> Path:
    """The nearest folder upward that is there."""
    return folder if folder.exists() else existing(folder.parent)


def hold(folder: Path) -> dict[str, Any] | None:
    """Details of the holder, with the seconds since its last sign of life."""
    details = folder / "hold" / "details.json"
    found = procs.read_json(details)
    if not isinstance(found, dict):
        return None
    return dict(found, age=max(0.0, time.time() - details.stat().st_mtime))


def health(folder: Path, current: str | None, instances: list[procs.Recorded], seconds: float | None) -> dict[str, str]:
    """What /health of each running instance of `current` says; nothing when it was not asked for."""
    record = procs.read_json(folder / "releases" / (current or "-") / "record.json")
    if not seconds or not isinstance(record, dict):
        return {}
    running = {item.instance for item in instances if item.alive and item.release == current}
    urls = {
        item["instance"]: f"http://127.0.0.1:{item['ports'][0]}"
        for item in record["launches"]
        if item["instance"] in running
    }
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max(1, len(urls))) as pool:
        return dict(zip(urls, pool.map(lambda url: asked(url, float(seconds)), urls.values()), strict=False))


def asked(url: str, seconds: float) -> str:
    import urllib.error  # late: most looks do not ask, and these take longer to import than a look takes
    import urllib.request

    began = time.monotonic()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url + "/health", timeout=seconds) as answer:
            said = str(answer.status)
    except urllib.error.HTTPError as error:
        said = str(error.code)
    except OSError as error:
        return str(getattr(error, "reason", error))
    return f"{said} in {time.monotonic() - began:.2f} s"


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))

"""sha256 of whole files, which takes minutes for weights: so on request only, and remembered where one may write."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from typing import Any

from stackctl.onhost import model_files

CHUNK = 8 << 20
YOUNG = 2.0  # seconds: a file so new may change again within the same mtime


def hashes(folder: str, names: list[str], cache: str | None) -> dict[str, Any]:
    """name -> {sha256, cached} or {fault}. With a cache, a file is read once for its inode, size and mtime."""
    place = os.path.expanduser(cache) if cache else None
    known = remembered(place)
    answer: dict[str, Any] = {}
    for name in names:
        path = os.path.join(folder, name)
        try:
            before = identity(os.stat(path))
            cached = known.get(before)
            answer[name] = {"sha256": cached or whole(path), "cached": cached is not None}
            after = os.stat(path)
            if identity(after) != before:
                answer[name] = {"fault": "changed while it was read"}
            elif cached is None and time.time() - after.st_mtime > YOUNG:
                known[before] = answer[name]["sha256"]
                with contextlib.suppress(OSError):  # a full or closed disk: it is read anew the next time
                    remember(place, known)
        except model_files.Fault as fault:
            answer[name] = {"fault": str(fault)}
        except OSError as error:
            answer[name] = {"fault": str(error.strerror)}
    return answer


def identity(found: os.stat_result) -> str:
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"


def whole(path: str) -> str:
    digest = hashlib.sha256()
    with model_files.opened(path) as file:
        while data := file.read(CHUNK):
            digest.update(data)
    return digest.hexdigest()


def remembered(place: str | None) -> dict[str, str]:
    """What a cache holds; nothing when it is not there or not whole."""
    try:
        with open(place or os.devnull, encoding="utf-8") as file:
            said = json.load(file)
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) and all(isinstance(one, str) for one in said.values()) else {}


def remember(place: str | None, known: dict[str, str]) -> None:
    if place is None:
        return
    os.makedirs(os.path.dirname(place), exist_ok=True)
    aside = f"{place}.{os.getpid()}"
    with open(aside, "w", encoding="utf-8") as file:
        json.dump(known, file, sort_keys=True)
    os.replace(aside, place)

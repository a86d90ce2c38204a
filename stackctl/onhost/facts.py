"""Adds one line to the facts that are saved on this host. Only whole lines are written, and the same facts only once.

argv[1] is a request in JSON: {root, line: {.., digest}, facts}; the answer is JSON on stdout: {file, new: were the
facts new}
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

FILE = "facts.jsonl"


def main(request: dict[str, Any]) -> dict[str, Any]:
    path = Path(os.path.realpath(os.path.expanduser(request["root"])), FILE)
    there = path.read_bytes() if path.exists() else b""
    line = dict(request["line"])
    new = not known(there, line["digest"])
    if new:
        line["facts"] = request["facts"]
    # after a line that a full disk or a lost power left half-written a new one begins
    begin = b"\n" if there and not there.endswith(b"\n") else b""
    append(path, begin + json.dumps(line, sort_keys=True).encode() + b"\n")
    return {"file": str(path), "new": new}


def known(text: bytes, digest: str) -> bool:
    """Whether a whole line has the facts of this digest."""
    mark = json.dumps(digest).encode()
    return any(_has(line, digest) for line in text.splitlines() if mark in line and b'"facts"' in line)


def _has(line: bytes, digest: str) -> bool:
    try:
        value = json.loads(line)
    except ValueError:
        return False
    return bool(value.get("digest") == digest and "facts" in value)


def append(path: Path, data: bytes) -> None:
    """By one write: lines of two clients do not mix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, data)
    finally:
        os.close(file)


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))

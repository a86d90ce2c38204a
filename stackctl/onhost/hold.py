"""Takes, frees and renews the hold of a stack on this host: a folder that only one can make.

argv[1] is a request in JSON, the answer is JSON on stdout:
{do: take, root, details: {attempt, …}} -> {taken, holder?, cutover?, now?}
{do: free, root, attempt} -> {freed, holder?}: only the hold of that very attempt.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from stackctl.onhost import procs


def main(request: dict[str, Any]) -> dict[str, Any]:
    root = os.path.realpath(os.path.expanduser(request["root"]))
    if sys.platform != "linux":
        return {"taken": False, "platform": sys.platform}
    return take(root, request["details"]) if request["do"] == "take" else free(root, request["attempt"])


def take(root: str, details: dict[str, Any]) -> dict[str, Any]:
    """A folder with its details is made aside, then renamed: there is no moment of a hold without a holder."""
    os.makedirs(root, mode=0o700, exist_ok=True)
    aside = Path(root, "hold.{}".format(details["attempt"]))
    shutil.rmtree(aside, ignore_errors=True)
    try:
        aside.mkdir(mode=0o700)
        (aside / "details.json").write_text(json.dumps(details))
        if not _renamed(aside, Path(root, "hold")):
            return dict(_holder(root), taken=False)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    _let_end(root)
    return {"taken": True}


def _renamed(aside: Path, hold: Path) -> bool:
    try:
        os.rename(aside, hold)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # a disk that fails, and nobody's hold
            raise
        return False
    return True


def _let_end(root: str) -> None:
    """A cut-over frees the hold just before its last word: let it have that."""
    deadline = time.monotonic() + 5.0
    while procs.cutover_alive(root, procs.read_json(Path(root, "status.json"))) and time.monotonic() < deadline:
        time.sleep(0.02)


def _holder(root: str) -> dict[str, Any]:
    path = Path(root, "hold", "details.json")
    found = procs.read_json(path)
    holder = found if isinstance(found, dict) else {}
    age = time.time() - path.stat().st_mtime if path.exists() else 0.0
    status = procs.read_json(Path(root, "status.json"))
    return {
        "holder": dict(holder, age=max(0.0, age)),
        "cutover": procs.cutover_alive(root, status),
        "status": status,
    }


def free(root: str, attempt: str) -> dict[str, Any]:
    found = procs.read_json(Path(root, "hold", "details.json"))
    if not isinstance(found, dict) or found.get("attempt") != attempt:
        return {"freed": False, "holder": found}
    gone = Path(root, f"hold.gone.{attempt}")
    os.rename(Path(root, "hold"), gone)
    shutil.rmtree(gone, ignore_errors=True)
    return {"freed": True}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))

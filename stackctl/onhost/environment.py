"""Makes a Python environment from a hash lock, once, and says whether one is whole.

Without its record (`stackctl-environment.json`, written last) an environment is half-built and never used; the next
build begins anew. torch is installed by pip, which knows the wheel folders and indexes of this machine; the rest by
uv where it is, else by pip. argv[1] is a request in JSON, the answer is JSON on stdout:
{do: build, dir} -> {ok, error?}; what to build is in DIR.json: {python, locked, free, env}; progress goes to DIR.log
{do: state, dir} -> {state: whole | building | failed | absent, dir, line}
{do: verify, dir} -> {faults: [..], record}
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

RECORD = "stackctl-environment.json"
FAULTS = 5  # as many are named; the rest is a number


def main(request: dict[str, Any]) -> dict[str, Any]:
    folder = Path(os.path.expanduser(request["dir"]))
    if request["do"] == "build":
        wanted = json.loads(folder.with_suffix(".json").read_text())
        os.environ.update(wanted["env"], UV_PYTHON_DOWNLOADS="never")
        return build(folder, wanted)
    if request["do"] == "verify":
        return {"faults": faults(folder), "record": record(folder)}
    return state(folder)


def record(folder: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((folder / RECORD).read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def state(folder: Path) -> dict[str, Any]:
    builder = _builder(folder)
    log = folder.with_suffix(".log")
    lines = log.read_text(errors="replace").split("\n") if log.exists() else []
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if record(folder):
        word = "whole"
    elif builder:
        word = "building"
    else:
        word = "failed" if log.exists() else "absent"
    return {"state": word, "dir": str(folder), "line": last[:200]}


def build(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    """One builder at a time: a second one says so and ends; `state` lets it wait."""
    if record(folder):
        return {"ok": True}
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = folder.with_suffix(".building")
    if _builder(folder):
        return {"ok": True, "waits": True}
    lock.write_text(f"{os.getpid()} {_started(os.getpid())}")
    try:
        with open(folder.with_suffix(".log"), "w") as log:
            return _built(folder, request, log)
    finally:
        lock.unlink()


def _built(folder: Path, request: dict[str, Any], log: Any) -> dict[str, Any]:
    began = time.time()
    shutil.rmtree(folder, ignore_errors=True)
    try:
        base = _interpreter(request["python"])
        print(f"making an environment with {base}", file=log, flush=True)
        _run([base, "-m", "venv", str(folder)], log)
        installed = _installed_torch(folder, request["free"], log)
        tool = _install(folder, request["locked"], log)
    except (OSError, RuntimeError) as error:
        print(f"failed: {error}", file=log, flush=True)
        return {"ok": False, "error": str(error)}
    found = {"python": request["python"], "installer": tool, "seconds": round(time.time() - began, 1)}
    found["torch"] = installed
    found["distributions"] = {path.name: None for path in sorted(_dists(folder))}
    temporary = folder / (RECORD + ".new")
    temporary.write_text(json.dumps(found, indent=1))
    os.replace(temporary, folder / RECORD)
    return {"ok": True}


def _interpreter(version: str) -> str:
    """One of that version, with venv. Raises RuntimeError with what was looked at."""
    looked = []
    for name in (sys.executable, "python" + version, "python3", "/usr/bin/python" + version):
        path = shutil.which(name)
        if not path:
            continue
        ask = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
        said = subprocess.run([path, "-c", ask], capture_output=True, text=True)
        if said.stdout.strip() == version:
            return path
        looked.append("{} is {}".format(path, said.stdout.strip() or "without venv"))
    raise RuntimeError("no Python {} with venv here ({})".format(version, "; ".join(looked) or "none found"))


def _installed_torch(folder: Path, lines: str, log: Any) -> dict[str, str] | None:
    """pip says by its report which build it took."""
    if not lines.strip():
        return None
    report = folder / "torch-report.json"
    _pip(folder, lines, log, "--report", str(report))
    item = json.loads(report.read_text())["install"][0]
    archive = item.get("download_info", {}).get("archive_info", {})
    return {"version": item["metadata"]["version"], "sha256": archive.get("hashes", {}).get("sha256", "")}


def _install(folder: Path, lines: str, log: Any) -> str:
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv:
        wanted = folder / "locked.txt"
        wanted.write_text(lines)
        argv = [uv, "pip", "install", "--python", str(folder / "bin" / "python"), "--no-deps", "--require-hashes"]
        try:
            _run([*argv, "-r", str(wanted)], log)
            return "uv"
        except RuntimeError as error:
            print(f"uv: {error}; going on with pip", file=log, flush=True)
    _pip(folder, lines, log)
    return "pip"


def _pip(folder: Path, lines: str, log: Any, *more: str) -> None:
    wanted = folder / "wanted.txt"
    wanted.write_text(lines)
    argv = [str(folder / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-deps"]
    _run([*argv, "--progress-bar", "off", "--require-hashes", "-r", str(wanted), *more], log)


def _run(argv: list[str], log: Any) -> None:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv[:4])} ended with {done.returncode}")


def faults(folder: Path) -> list[str]:
    """What is not as it was installed: packages that are gone, files that are gone or have another size."""
    found = record(folder)
    if found is None:
        return [f"{folder}: no record, so it is half-built"]
    there = {path.name for path in _dists(folder)}
    missing = [f"{name} is gone" for name in found["distributions"] if name not in there]
    wrong = missing + [fault for dist in sorted(_dists(folder)) for fault in _file_faults(dist)]
    return wrong if len(wrong) <= FAULTS else [*wrong[:FAULTS], f"and {len(wrong) - FAULTS} more"]


def _dists(folder: Path) -> list[Path]:
    return list(folder.glob("lib/python*/site-packages/*.dist-info"))


def _file_faults(dist: Path) -> list[str]:
    wrong = []
    with open(dist / "RECORD", newline="") as rows:
        for name, _digest, size in csv.reader(rows):
            if not size or name.endswith(".pyc"):
                continue
            path = dist.parent / name
            if not path.exists():
                wrong.append(f"{os.path.normpath(path)} is gone")
            elif path.stat().st_size != int(size):
                wrong.append(f"{os.path.normpath(path)} has another size than installed")
    return wrong


def _builder(folder: Path) -> int | None:
    """The process that builds it now, known by pid and start time."""
    try:
        pid, started = folder.with_suffix(".building").read_text().split()
    except (OSError, ValueError):
        return None
    return int(pid) if _started(int(pid)) == started else None


def _started(pid: int) -> str:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    return re.split(r"\s+", text.rpartition(")")[2].strip())[19]


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))

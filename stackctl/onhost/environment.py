"""Makes a Python environment from a hash lock, once, and says whether one is whole.

Without its record (`stackctl-environment.json`, written last) an environment is half-built and never used; the next
build begins anew. torch is installed by pip, which knows the wheel folders and indexes of this machine; the rest by
uv where it is, else by pip. argv[1] is a request in JSON, the answer is JSON on stdout:
{do: build, dir} -> {started}; stdin says what: {python, locked, free, env}. It goes on after the answer, to DIR.log
{do: state, dir} -> {state: whole | building | failed | absent, dir, line, error, torch}
{do: verify, dir} -> {faults: [..]}
"""

from __future__ import annotations

import csv
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

RECORD = "stackctl-environment.json"
FAILED = "failed: "  # begins the last words of a build that failed, in its log
FAULTS = 5  # as many are named; the rest is a number
WORDS = 6  # lines of an installer that are told when it fails


def main(request: dict[str, Any]) -> dict[str, Any]:
    folder = Path(os.path.expanduser(request["dir"]))
    if request["do"] == "build":
        return {"started": begin(folder, json.load(sys.stdin))}
    if request["do"] == "verify":
        return {"faults": faults(folder)}
    return state(folder)


def record(folder: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((folder / RECORD).read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def state(folder: Path) -> dict[str, Any]:
    building = _building(folder)
    log = folder.with_suffix(".log")
    text = log.read_text(errors="replace") if log.exists() else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    found = record(folder) or {}
    if found:
        word = "whole"
    elif building:
        word = "building"
    else:
        word = "failed" if text else "absent"
    error = text.rpartition("\n" + FAILED)[2].strip() if "\n" + FAILED in text else ""
    return {"state": word, "dir": str(folder), "line": lines[-1][:200], "error": error, "torch": found.get("torch")}


def begin(folder: Path, request: dict[str, Any]) -> bool:
    """Build in a process of its own that outlives this one; False when another one builds, or has built meanwhile."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = _lock(folder)
    if lock is None:
        return False
    if record(folder) is not None:  # its log stays
        os.close(lock)
        return False
    if os.fork():
        return True
    os.setsid()
    with open(os.devnull) as nothing, open(folder.with_suffix(".log"), "w") as log:
        os.dup2(nothing.fileno(), 0)
        for number in (1, 2):
            os.dup2(log.fileno(), number)
    try:
        os.ftruncate(lock, 0)
        os.write(lock, b"%d\n" % os.getpid())
        os.environ.update(request["env"], UV_PYTHON_DOWNLOADS="never")
        Build(folder, lock).make(request)
    finally:
        os._exit(0)


def _lock(folder: Path, seconds: float = 2.0) -> int | None:
    """The right to build. The kernel takes it back when the builder and all that it started are gone."""
    lock = os.open(folder.with_suffix(".building"), os.O_RDWR | os.O_CREAT, 0o644)
    deadline = time.monotonic() + seconds
    while True:  # `state` has it for a moment, each time it looks
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(lock)
                return None
            time.sleep(0.02)


def _building(folder: Path) -> bool:
    try:
        with open(folder.with_suffix(".building")) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


class Build:
    """One build, whose output goes to its log. What it starts holds the lock too: an orphan still writes."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder, self.lock = folder, lock
        self.python = str(folder / "bin" / "python")
        self.pip: list[str] = []  # how to call one that installs there

    def make(self, request: dict[str, Any]) -> None:
        began = time.time()
        shutil.rmtree(self.folder, ignore_errors=True)
        try:
            base = _interpreter(request["python"])
            print(f"making an environment with {base}", flush=True)
            self.run([base, "-m", "venv", "--without-pip", str(self.folder)])
            self.pip = self.found_pip(base)
            torch = self.torch(request["free"])
            tool = self.install(request["locked"])
        except (OSError, RuntimeError, ValueError) as error:
            print(f"\n{FAILED}{error}", flush=True)
            return
        self.compile()
        found = {"python": request["python"], "installer": tool, "torch": torch}
        found["distributions"] = sorted(path.name for path in _dists(self.folder))
        found["seconds"] = round(time.time() - began, 1)
        temporary = self.folder / (RECORD + ".new")
        temporary.write_text(json.dumps(found, indent=1))
        os.replace(temporary, self.folder / RECORD)

    def found_pip(self, base: str) -> list[str]:
        """The one that is there, if it can: to unpack another takes seconds."""
        words = [base, "-m", "pip", "--python", self.python]
        if subprocess.run([*words, "--version"], capture_output=True).returncode:
            self.run([self.python, "-m", "ensurepip"])
            return [self.python, "-m", "pip"]
        return words

    def torch(self, lines: str) -> dict[str, str] | None:
        """pip says by its report which build it took."""
        if not lines.strip():
            return None
        print("installing torch", flush=True)
        report = self.folder / "torch-report.json"
        self.pip_install(lines, "--report", str(report))
        item = json.loads(report.read_text())["install"][0]
        archive = item.get("download_info", {}).get("archive_info", {})
        return {"version": item["metadata"]["version"], "sha256": archive.get("hashes", {}).get("sha256", "")}

    def install(self, lines: str) -> str:
        uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
        print("installing {} packages".format(lines.count("==")), flush=True)
        if uv:
            argv = [uv, "pip", "install", "--python", self.python, "--no-deps", "--require-hashes"]
            try:
                self.run([*argv, "-r", self.wanted(lines)])
                return "uv"
            except RuntimeError:
                print("uv could not; going on with pip", flush=True)
        self.pip_install(lines)
        return "pip"

    def pip_install(self, lines: str, *more: str) -> None:
        argv = [*self.pip, "install", "--disable-pip-version-check", "--no-input", "--no-compile"]
        argv += ["--progress-bar", "off"]
        self.run([*argv, "--no-deps", "--require-hashes", "-r", self.wanted(lines), *more])

    def wanted(self, lines: str) -> str:
        path = self.folder / "wanted.txt"
        path.write_text(lines)
        return str(path)

    def compile(self) -> None:
        """Bytecode for all starts: without it each process of an engine compiles what it imports, every time."""
        print("compiling, once for all starts", flush=True)
        argv = [self.python, "-m", "compileall", "-q", "-j", "0", "-x", "/tests?/"]
        argv += [str(path) for path in self.folder.glob("lib/python*/site-packages")]
        subprocess.run(argv, stdout=subprocess.DEVNULL, pass_fds=(self.lock,))  # some packages ship broken examples

    def run(self, argv: list[str]) -> None:
        """Raises RuntimeError with the last words of a program that fails."""
        log = Path(os.readlink("/proc/self/fd/1"))
        before = log.stat().st_size
        done = subprocess.run(argv, pass_fds=(self.lock,))
        if done.returncode:
            said = log.read_bytes()[before:].decode("utf-8", "replace").strip().splitlines()
            raise RuntimeError("\n".join(said[-WORDS:]) or f"{' '.join(argv[:4])} ended with {done.returncode}")


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


def faults(folder: Path) -> list[str]:
    """What is not as it was installed: packages that are gone, files that are gone or have another size."""
    found = record(folder)
    if found is None:
        return [f"{folder}: no record, so it is half-built"]
    wrong = [] if (folder / "bin" / "python").exists() else [f"{folder}/bin/python is gone"]
    dists = sorted(_dists(folder))
    there = {path.name for path in dists}
    wrong += [f"{name} is gone" for name in found["distributions"] if name not in there]
    wrong += [fault for dist in dists for fault in _file_faults(dist)]
    return wrong if len(wrong) <= FAULTS else [*wrong[:FAULTS], f"and {len(wrong) - FAULTS} more"]


def _dists(folder: Path) -> list[Path]:
    return list(folder.glob("lib/python*/site-packages/*.dist-info"))


def _file_faults(dist: Path) -> list[str]:
    try:
        with open(dist / "RECORD", newline="") as rows:
            sizes = {name: int(size) for name, _, size in csv.reader(rows) if size and not name.endswith(".pyc")}
    except (OSError, ValueError) as error:
        return [f"{dist}/RECORD cannot be read: {error}"]
    wrong = []
    for name, size in sizes.items():
        path = os.path.normpath(dist.parent / name)
        try:
            if os.stat(path).st_size != size:
                wrong.append(f"{path} has another size than installed")
        except OSError:
            wrong.append(f"{path} is gone")
    return wrong


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))

"""A read-only look at this host: which cards, driver, links, docker, limits, disks, ports, clock, interpreter.

It writes no file, makes none, signals nobody and starts only programs that look. Secrets do not leave the host: of an
environment only variables of known names travel, command lines without their keys, and values of the stack's secrets
file are blackened in everything.

argv[1] is a request in JSON, the answer is JSON on stdout:
{root, paths: [whose disk matters], images: [references], python: an interpreter or "", packages: [distributions],
quick?: leave out what changes from minute to minute: ports, engines, the kernel's log}
-> {begin, end, commands: [...], and what `doctor_files` and `doctor_procs` found}
"""

from __future__ import annotations

import getpass
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from stackctl.onhost import doctor_files, doctor_procs, doctor_run, masks, procs

SHM = "/dev/shm"


def main(request: dict[str, Any]) -> dict[str, Any]:
    begin = doctor_files.now()
    if sys.platform != "linux":
        return {"platform": sys.platform}
    root = os.path.realpath(os.path.expanduser(request["root"]))
    mine, quick = _ours(root), bool(request.get("quick"))
    commands = doctor_run.run_all(doctor_run.programs(request["images"], driver=doctor_run.has_driver(), quick=quick))
    for one in commands:
        one["stdout"], one["stderr"] = masks.text(one["stdout"]), masks.text(one["stderr"])
    found: dict[str, Any] = {
        "platform": sys.platform,
        "user": _user(),
        "system": doctor_files.system(),
        "module": doctor_files.module(),
        "smi": doctor_run.found("nvidia-smi") is not None,
        "home": doctor_files.closed(root),
        "links": doctor_files.links(),
        "places": doctor_files.cards(),
        "limits": doctor_files.limits(),
        "disks": [doctor_files.disk(path) for path in request["paths"]],
        "shm": doctor_files.disk(SHM),
        "clock": doctor_files.clock(),
        "listeners": [] if quick else doctor_procs.listeners(mine),
        "engines": [] if quick else doctor_procs.engines(mine),
        "on_cards": doctor_procs.on_cards(commands, mine),
        "variables": doctor_procs.shown(dict(os.environ)),
        "nccl_conf": doctor_procs.shown({**doctor_files.conf("/etc/nccl.conf"), **doctor_files.conf("~/.nccl.conf")}),
        "python": interpreter(request["python"], request["packages"]) if request["python"] else None,
        "commands": commands,
    }
    hide = masks.hider(Path(root, "env"))
    return {**masks.hidden(found, hide), "begin": begin, "end": doctor_files.now()}


def _ours(root: str) -> set[int]:
    """Processes of the stack; none where its folder may not be read, which `home` says."""
    try:
        return set(procs.ours(root))
    except OSError:
        return set()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def interpreter(path: str, packages: list[str]) -> dict[str, Any]:
    """Its version, and which of the packages are installed there: read from their metadata, nothing is imported."""
    full = os.path.expanduser(path)
    try:
        done = subprocess.run(
            [
                full,
                "-I",
                "-S",
                "-B",
                "-c",
                "import sys; print('%d.%d.%d' % sys.version_info[:3]); print(sys.base_prefix)",
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"path": path, "fault": getattr(error, "strerror", None) or "it does not answer"}
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != 2:
        return {"path": path, "fault": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
    folders = site_folders(full, lines[0], lines[1])
    found = {name: version for name in packages if (version := installed(name, folders))}
    if cuda := torch_cuda(folders):
        found["torch-cuda"] = cuda
    return {"path": path, "version": lines[0], "packages": found, "fault": ""}


def site_folders(python: str, version: str, base: str) -> list[str]:
    """Where its packages are: of the environment, then of the installation when it may look there."""
    short = "python" + ".".join(version.split(".")[:2])
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(python)))
    config = doctor_files.read(os.path.join(prefix, "pyvenv.cfg"))
    own = [os.path.join(prefix, "lib", short, "site-packages")] if config else []
    if config and not re.search(r"^include-system-site-packages\s*=\s*true", config, re.M | re.I):
        return own
    shared = [
        os.path.join(place, "lib", short, name)
        for place in (base, "/usr/local")
        for name in ("site-packages", "dist-packages")
    ]
    return [*own, *shared, "/usr/lib/python3/dist-packages"]


def installed(name: str, folders: list[str]) -> str | None:
    """The version of a distribution, out of the name of its folder of metadata."""
    wanted = re.sub(r"[-_.]+", "_", name).lower()
    for folder in folders:
        for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            stem, ending = os.path.splitext(entry)
            if ending in (".dist-info", ".egg-info") and "-" in stem:
                found, _, version = stem.partition("-")
                if re.sub(r"[-_.]+", "_", found).lower() == wanted:
                    return version.partition("-py")[0]
    return None


def torch_cuda(folders: list[str]) -> str | None:
    """The CUDA release that torch was built for, as its version.py says."""
    for folder in folders:
        found = re.search(
            r"^cuda[^=]*=\s*['\"]([\d.]+)['\"]", doctor_files.read(os.path.join(folder, "torch", "version.py")), re.M
        )
        if found:
            return found[1]
    return None


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))

"""Puts files of a release on this host and looks at everything that could refuse its start, without deciding.

Stdin is a request in JSON, the answer is JSON on stdout:
{root, files?: {path below root: text}, tree, sources?: [trees that come after it], module, paths,
packages: {name: module}, ports, cards, attempt?}
Without `files` nothing is written: so a plan can look too.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from stackctl.onhost import bytecode, cards, imports, procs, sockets, tree


def main(request: dict[str, Any]) -> dict[str, Any]:
    root = os.path.realpath(os.path.expanduser(request["root"]))
    procs.beat(root, request.get("attempt"))
    mine = set(procs.ours(root))
    answer: dict[str, Any] = {
        "versions": {name: imports.version(name) for name in request["packages"]},
        "listeners": sockets.listeners(set(request["ports"]), mine),
        "cards": cards.look(set(request["cards"]), mine) if request["cards"] else None,
        "secrets": secret_names(Path(root, "env")),
        "tree": None,
        "sources": {},
        "origin": "",
        "strays": [],
    }
    trees, sources = Path(root, "trees"), request.get("sources", [])
    if "files" in request:
        answer["scripts"] = [fault for item in sorted(request["files"].items()) for fault in shell_faults(*item)]
        if not answer["scripts"]:  # the folder may be that of the release that serves
            put(Path(root), request["files"])
        for name in (request["tree"], *sources):
            tree.link_natives(trees, name)
    pythons = [trees / name / "python" for name in (request["tree"], *sources)]
    paths = [str(Path(root, path)) for path in request["paths"]]
    customize(paths)
    answer["tree"] = proved(trees, request["tree"], compile_it="files" in request)
    answer["sources"] = {name: proved(trees, name, compile_it="files" in request) for name in sources}
    whole = all(faults == [] for faults in (answer["tree"], *answer["sources"].values()))
    roots = [*map(str, pythons), *paths] if whole else []
    names = {name for module in request["packages"].values() for name in imports.wanted(module, [])}
    answer["imports"] = imported(Path(root), names.union(imports.wanted(request["module"], roots)), paths, request)
    if not whole:
        answer["imports"].pop(request["module"], None)  # it may be in the tree: not known yet
    elif not answer["imports"]:
        answer["origin"] = elsewhere(request["module"], pythons[0], roots)
        answer["strays"] = strays(pythons[1:], roots)
    return answer


def proved(trees: Path, name: str, compile_it: bool) -> list[str] | None:
    """What is wrong with a tree; None when it is not there. One that is whole gets its bytecode, if it may."""
    faults = tree.verify(trees, name) if (trees / name).is_dir() else None
    if compile_it and faults == []:
        bytecode.complete(trees, name)
    return faults


def strays(pythons: list[Path], roots: list[str]) -> list[list[str]]:
    """Packages of other sources that would come from elsewhere: [package, tree, where]."""
    found = []
    for python in pythons:
        packages = {path.parent.name for path in python.glob("*/__init__.py")} | {
            path.stem for path in python.glob("*.py")
        }
        places = {package: elsewhere(package, python, roots) for package in sorted(packages)}
        found += [[package, python.parent.name, place] for package, place in places.items() if place]
    return found


def imported(root: Path, names: set, paths: list[str], request: dict[str, Any]) -> dict[str, str]:  # type: ignore[type-arg]
    """Names that cannot be imported. What could be, in an environment that is as it was made, is not tried again."""
    key, memory = environment(paths), root / "imports.json"
    known = procs.read_json(memory)
    good = set(known["names"]) if key and isinstance(known, dict) and known["key"] == key else set()
    faults = imports.tried(sorted(names - good))
    if key and "files" in request and names - good:
        tree.write_json(memory, {"key": key, "names": sorted((good | names) - set(faults))})
    return faults


def environment(paths: list[str]) -> str:
    """What decides what can be imported, where stackctl made the environment and has looked at it; else empty."""
    try:
        made = Path(sys.executable).parent.parent.joinpath("stackctl-environment.json").stat()
        shims = [file.read_bytes() for path in paths for file in sorted(Path(path).rglob("*.py"))]
    except OSError:
        return ""
    return f"{sys.executable} {made.st_mtime_ns} {made.st_ino} {hashlib.sha256(repr(shims).encode()).hexdigest()}"


def elsewhere(module: str, python: Path, roots: list[str]) -> str:
    """Where the module would come from, when that is not the tree: a .pth file or a hook may come before it."""
    found = imports.origin(module, roots)
    return "" if os.path.realpath(found).startswith(str(python) + os.sep) else found or "nowhere"


def customize(paths: list[str]) -> None:
    """What an interpreter that starts with these on its path would do before all else."""
    for path in paths:
        sys.path.insert(0, path)
        file = Path(path, "sitecustomize.py")
        spec = importlib.util.spec_from_file_location("sitecustomize", file) if file.is_file() else None
        if spec is not None and spec.loader is not None:
            module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        aside = folder / (name + ".new")
        aside.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(text)
        aside.chmod(0o755 if text.startswith("#!") else 0o644)
        os.replace(aside, folder / name)


def shell_faults(name: str, text: str) -> list[str]:
    """What the shell that will run it says of its syntax; nothing when it is no script, or sound."""
    if not name.endswith(".sh"):
        return []
    done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
    said = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[0]
    return [f"{os.path.basename(name)}: {said.removeprefix('sh: ')}"] if done.returncode else []


def secret_names(path: Path) -> list[str]:
    try:
        return re.findall(r"^([A-Za-z_][A-Za-z0-9_]*)=", path.read_text(), re.M)
    except OSError:
        return []


if __name__ == "__main__":
    print(json.dumps(main(json.load(sys.stdin))))

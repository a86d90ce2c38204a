"""Can this interpreter import what a module of a tree needs? Asked before anything that serves is stopped.

The tree's own modules are read, not run (running them would begin to serve); what they import from outside, on their
top level and without a condition, is really imported.
"""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

FIND = """
import importlib.util, sys
found = importlib.util.find_spec(sys.argv[1])
print(found.origin or list(found.submodule_search_locations)[0] if found else "")
"""
LIMIT = 400  # files of the tree that are read; a package that needs more is found out by its start


def missing(module: str, roots: list[str]) -> dict[str, str]:
    """Names that cannot be imported -> why. `roots`: folders that come first on the path."""
    return tried(wanted(module, roots))


def wanted(module: str, roots: list[str]) -> list[str]:
    """What has to be imported from outside of the tree; the module itself when it is not in there."""
    return [module] if _file(module, roots) is None else sorted(_outside(module, roots))


def _outside(module: str, roots: list[str]) -> set[str]:
    waiting, seen, outside = [module], {module}, set()
    while waiting and len(seen) < LIMIT:
        name = waiting.pop()
        path = _file(name, roots)
        if path is None:
            continue
        for wanted in _imported(name, path):
            top = wanted.partition(".")[0]
            if not _inside(top, roots):
                outside.add(top)
            elif wanted not in seen:
                seen.add(wanted)
                waiting.append(wanted)
    return outside - set(getattr(sys, "stdlib_module_names", ())) - {"__future__"}


def _inside(top: str, roots: list[str]) -> bool:
    return any(Path(root, top).is_dir() or Path(root, top + ".py").is_file() for root in roots)


def _file(module: str, roots: list[str]) -> Path | None:
    for root in roots:
        base = Path(root, *module.split("."))
        for path in (base / "__init__.py", base.with_name(base.name + ".py")):
            if path.is_file():
                return path
    return None


def _imported(module: str, path: Path) -> set[str]:
    """Modules that `path` imports unconditionally, and the packages around it."""
    try:
        body = ast.parse(path.read_bytes()).body
    except SyntaxError:
        return set()  # its start will say so; `check` compiles trees
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found = {package} if package else set()
    for node in body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _base(package, node)
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return found


def _base(package: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join(parts + ([node.module] if node.module else []))


def origin(module: str, roots: list[str]) -> str:
    """Where an engine of this interpreter would really take a module's package from; empty: from nowhere."""
    env = dict(os.environ, PYTHONPATH=":".join(roots), PYTHONSAFEPATH="1", PYTHONDONTWRITEBYTECODE="1")
    argv = [sys.executable, "-c", FIND, module.partition(".")[0]]
    done = subprocess.run(argv, env=env, capture_output=True, text=True)
    return done.stdout.strip().split("\n")[-1] if done.returncode == 0 else ""


def tried(names: list[str]) -> dict[str, str]:
    """Imports each; a package may print or warn while it is imported, so its output goes nowhere."""
    faults = {}
    with open(os.devnull, "w") as nowhere:
        kept = sys.stdout
        sys.stdout = nowhere
        for name in names:
            try:
                importlib.import_module(name)
            except BaseException as error:  # a broken native library may even raise SystemExit
                faults[name] = f"{type(error).__name__}: {error}"
        sys.stdout = kept
    return faults


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

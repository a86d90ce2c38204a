"""Compares our table of a release with the parser that it really makes: `just bench parser [VERSION] [PYTHON]`.

The release, with all that it needs (torch comes from the index: several GB), goes into a throw-away environment. PYTHON
is an interpreter that can import the release's packages already; then the tree of the store is put on its path, and
nothing is installed. Prints every difference and ends with 1 when there is one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stackctl.app import App
from stackctl.commands.base import fetch_base, pin_release
from stackctl.commands.linting.tables import upstream_of
from stackctl.core.names import TreeId
from stackctl.core.upstream.values import Flag
from stackctl.ports import Ports

ROOT = Path(__file__).parents[2]
FIELDS = ("names", "dest", "nargs", "choices", "default", "required", "type", "action")
ASK = """
import argparse, json
from sglang.srt.server_args import ServerArgs
parser = argparse.ArgumentParser(add_help=False)
ServerArgs.add_cli_args(parser)
KINDS = {"_StoreAction": "store", "_StoreTrueAction": "store_true", "_StoreFalseAction": "store_false"}
def kind(one):
    if one.nargs == 0:
        return "bool"
    name = getattr(one.type, "__name__", None)
    return "str" if one.type is None else name if one.type in (int, float, str, bool) else None
print("TABLE" + json.dumps([
    {
        "names": one.option_strings,
        "dest": one.dest,
        "nargs": one.nargs,
        "choices": None if one.choices is None else [str(each) for each in one.choices],
        "set": isinstance(one.choices, (set, frozenset)),
        "default": "SUPPRESS" if one.default is argparse.SUPPRESS else str(one.default),
        "required": one.required,
        "type": kind(one),
        "action": KINDS.get(type(one).__name__, type(one).__name__),
    }
    for one in parser._actions
]))
"""


def real(python: str, paths: list[str]) -> list[dict[str, Any]]:
    """What the parser of a release says of itself."""
    path = os.pathsep.join(paths)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SGLANG", "SGL_", "PYTHON"))}
    ended = subprocess.run([python, "-c", ASK], capture_output=True, text=True, env={**kept, "PYTHONPATH": path})
    lines = [line for line in ended.stdout.splitlines() if line.startswith("TABLE")]
    if not lines:
        raise SystemExit(f"the parser could not be made:\n{ended.stderr[-3000:]}")
    found: list[dict[str, Any]] = json.loads(lines[0].removeprefix("TABLE"))
    return found


def ours(flag: Flag) -> dict[str, Any]:
    said = {name: getattr(flag, name) for name in FIELDS}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in said.items()}


def differences(flags: tuple[Flag, ...], theirs: list[dict[str, Any]]) -> Iterator[str]:
    """One line for each field that is not the same; the order of the arguments counts too."""
    here = {flag.name: ours(flag) for flag in flags}
    there = {one["names"][0]: one for one in theirs}
    yield from (f"{name}: only in our table" for name in here if name not in there)
    yield from (f"{name}: only in the parser" for name in there if name not in here)
    for name in here.keys() & there.keys():
        mine, other = here[name], there[name]
        if other["set"]:  # has no order
            mine, other = ({**one, "choices": sorted(one["choices"] or ())} for one in (mine, other))
        for field in FIELDS:
            if mine[field] != other[field]:
                yield f"{name}: {field} is {mine[field]!r} in our table, {other[field]!r} in the parser"
    if list(here) != list(there):
        yield "the arguments are in another order"


def unpacked(ports: Ports, tree: TreeId, folder: Path) -> str:
    """The tree's Python files on the disk."""
    entries = [one for one in ports.git.list(tree) if one.path.startswith("python/")]
    contents = ports.git.read_blobs([one.blob for one in entries])
    for one in entries:
        path = folder / one.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents[one.blob])
    return str(folder / "python")


def installed(version: str, folder: Path) -> str:
    """An interpreter that has the release; pip says what it does."""
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", f"sglang=={version}"], check=True)
    return python


def main(version: str = "0.5.15", python: str | None = None) -> int:
    ports = App().ports
    tree = fetch_base(ports, pin_release(ports, f"sglang=={version}"))
    table = upstream_of(ports, tree)
    with tempfile.TemporaryDirectory(prefix="stackctl-parser-") as folder:
        if python:
            paths = [unpacked(ports, tree, Path(folder)), str(ROOT / "stacks" / "cpu" / "shim")]
            theirs = real(python, paths)
        else:
            theirs = real(installed(version, Path(folder)), [])
    found = list(differences(table.flags, theirs))
    print("\n".join(found))
    print(f"sglang {version}: {len(table.flags)} arguments, {len(theirs)} in its parser, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

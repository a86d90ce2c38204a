"""Puts a git tree on this host and proves, from git's own ids, that it is still that tree.

A tree is named by its id, so the proof needs no trust: blob ids are computed from the files, the tree id from them.
argv[1] is a request in JSON: {root, tree, attempt?, sibling?, except?, copy?}; stdin a tar.gz of the tree's files,
without those that it has in common with the tree `sibling`: all of that but `except`. They are linked, or copied with
`copy`: then an edit in place of one tree reaches no other. The answer is JSON on stdout.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tarfile
from collections.abc import Collection
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from stackctl.onhost import procs

Manifest = dict[str, tuple[str, str]]  # path -> (mode, blob id)
LINK = "120000"
CACHE = "__pycache__"


def main(request: dict[str, Any], stream: BinaryIO) -> dict[str, Any]:
    root = os.path.realpath(os.path.expanduser(request["root"]))
    procs.beat(root, request.get("attempt"))
    near = Sibling(request["sibling"], request["except"], request["copy"]) if request.get("sibling") else None
    return unpack(Path(root, "trees"), request["tree"], stream, near)


class Sibling(NamedTuple):
    """A tree that is there, and the paths of it that the new one has not, or has otherwise."""

    tree: str
    apart: Collection[str]
    copy: bool = False


def unpack(trees: Path, tree: str, stream: BinaryIO, near: Sibling | None = None) -> dict[str, Any]:
    """Into a folder aside, proved, then renamed: a half-written tree never bears a tree's name."""
    aside = trees / f".new-{tree}-{os.getpid()}"
    aside.mkdir(parents=True)
    try:
        manifest = _shared(trees, near, aside) if near else {}
        manifest.update(_extract(aside, stream))
        if tree_id(manifest) != tree:
            return {"tree": None, "problem": f"what arrived is tree {tree_id(manifest)}, not {tree}"}
        shutil.rmtree(trees / tree, ignore_errors=True)
        write_json(trees / (tree + ".json"), {"files": manifest, "links": {}})
        os.rename(aside, trees / tree)
        return {"tree": tree, "files": len(manifest)}
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _shared(trees: Path, near: Sibling, into: Path) -> Manifest:
    """What is really in the other tree, not what should be. Files of trees are replaced, never opened to be written."""
    known = procs.read_json(trees / (near.tree + ".json"))
    names = sorted(set(known["files"]) - set(near.apart)) if isinstance(known, dict) else []
    for folder in {(into / name).parent for name in names}:
        folder.mkdir(parents=True, exist_ok=True)
    manifest: Manifest = {}
    for name in names:
        try:
            _share(trees / near.tree / name, into / name, near.copy)
        except OSError:  # not there, or not ours to link: then this is no sibling
            continue
        manifest[name] = found_at(into / name)
    return manifest


def _share(source: Path, path: Path, copy: bool) -> None:
    if copy or source.is_symlink():
        shutil.copy(source, path, follow_symlinks=False)
    else:
        os.link(source, path)


def _extract(into: Path, stream: BinaryIO) -> Manifest:
    manifest: Manifest = {}
    with tarfile.open(fileobj=stream, mode="r|gz") as archive:
        for member in archive:
            path = into / member.name
            if member.name.startswith("/") or ".." in member.name.split("/"):
                raise ValueError(f"a path that leaves the tree: {member.name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            if member.issym():
                os.symlink(member.linkname, path)
            else:
                content = archive.extractfile(member)
                with open(path, "xb") as file:  # never into what is there: that would be another tree's too
                    file.write(content.read() if content else b"")
                path.chmod(0o555 if member.mode & 0o100 else 0o444)  # an edit would be one of other trees too
            manifest[member.name] = found_at(path)
    return manifest


def found_at(path: Path) -> tuple[str, str]:
    """Mode and blob id of what is at `path`, as git would store it."""
    if path.is_symlink():
        return LINK, blob_id(os.fsencode(os.readlink(path)))
    mode = "100755" if path.stat().st_mode & 0o100 else "100644"
    return mode, blob_id(path.read_bytes())


def blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def tree_id(manifest: Manifest) -> str:
    """git's id of the tree that has exactly these files."""
    here: dict[str, tuple[str, str]] = {}
    below: dict[str, Manifest] = {}
    for path, (mode, blob) in manifest.items():
        first, slash, rest = path.partition("/")
        if slash:
            below.setdefault(first, {})[rest] = (mode, blob)
        else:
            here[first] = (mode, blob)
    here.update({name: ("40000", tree_id(part)) for name, part in below.items()})
    ordered = sorted(here.items(), key=lambda item: os.fsencode(item[0] + ("/" if item[1][0] == "40000" else "")))
    body = b"".join(
        b"%s %s\0" % (mode.encode(), os.fsencode(name)) + bytes.fromhex(blob) for name, (mode, blob) in ordered
    )
    return hashlib.sha1(b"tree %d\0" % len(body) + body).hexdigest()


def verify(trees: Path, tree: str) -> list[str]:
    """What is wrong with the tree on the disk, naming files; empty: it is exactly that tree, and the recorded links."""
    known = procs.read_json(trees / (tree + ".json"))
    if not isinstance(known, dict) or not (trees / tree).is_dir():
        return ["the tree is not whole"]
    manifest = {path: (mode, blob) for path, (mode, blob) in known["files"].items()}
    if tree_id(manifest) != tree:
        return [f"{tree}.json was changed: it does not describe this tree"]
    bytecode = (known.get("bytecode") or {}).get("files", {})
    return _differences(trees / tree, manifest, known["links"], bytecode)


def _differences(folder: Path, manifest: Manifest, links: dict[str, str], bytecode: dict[str, str]) -> list[str]:
    wrong = []
    there = files_of(folder)
    for path in sorted(set(manifest) - there):
        wrong.append(f"{path} is missing")
    for path in sorted(there):
        if path in links and os.path.islink(folder / path) and os.readlink(folder / path) == links[path]:
            continue
        if path not in manifest:
            wrong.append(f"{path} is not of this tree")
        elif found_at(folder / path) != manifest[path]:
            wrong.append(f"{path} was changed")
    return wrong + _bytecode_faults(folder, bytecode)


def _bytecode_faults(folder: Path, known: dict[str, str]) -> list[str]:
    """What nobody wrote down is removed: it may be of other sources. What was, must be as it was, or gone."""
    wrong = []
    for parent, folders, names in os.walk(folder):
        if os.path.basename(parent) != CACHE:
            continue
        for name in names:
            path = os.path.relpath(os.path.join(parent, name), folder)
            if path not in known:
                os.unlink(os.path.join(parent, name))
            elif found_at(folder / path)[1] != known[path]:
                wrong.append(f"{path} was changed")
        for name in folders:
            _remove(os.path.join(parent, name))
        folders.clear()
    return sorted(wrong)


def _remove(path: str) -> None:
    if os.path.islink(path):
        os.unlink(path)
    else:
        shutil.rmtree(path, ignore_errors=True)


def files_of(folder: Path) -> set:  # type: ignore[type-arg]  # Python 3.9 without an import for one word
    """Relative paths of all files but bytecode, and of folders that are links."""
    found = set()
    for parent, folders, names in os.walk(folder):
        linked = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        folders[:] = [name for name in folders if name != CACHE]
        found |= {os.path.relpath(os.path.join(parent, name), folder) for name in names + linked}
    return found


def link_natives(trees: Path, tree: str) -> int:
    """Give the tree the native files of the installed packages of the same name, where it has none; how many.

    A source tree lacks what a build made; the installed package has it. Only `.so` files, never Python.
    """
    known = procs.read_json(trees / (tree + ".json"))
    if not isinstance(known, dict):
        return 0
    wanted = _natives(trees / tree / "python", known["files"])
    for path in set(known["links"]) - set(wanted):
        if os.path.islink(trees / tree / path):
            os.unlink(trees / tree / path)
    for path, target in wanted.items():
        place = trees / tree / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(place):
            os.symlink(target, place)
    if wanted != known["links"]:
        write_json(trees / (tree + ".json"), dict(known, links=wanted))
    return len(wanted)


def _natives(python: Path, files: dict[str, Any]) -> dict[str, str]:
    from importlib.machinery import PathFinder

    wanted = {}
    for package in sorted(path.parent.name for path in python.glob("*/__init__.py")):
        spec = PathFinder.find_spec(package, [path for path in sys.path if path != str(python)])
        for place in list(spec.submodule_search_locations or ()) if spec else ():
            for native in sorted(Path(place).rglob("*.so")):
                inside = f"python/{package}/{native.relative_to(place)}"
                if inside not in files:
                    wanted[inside] = str(native)
    return wanted


def write_json(path: Path, value: Any) -> None:
    aside = path.with_name(path.name + ".new")
    aside.write_text(json.dumps(value, sort_keys=True))
    os.replace(aside, path)


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]), sys.stdin.buffer)))

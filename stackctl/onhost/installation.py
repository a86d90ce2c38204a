"""Says what an installation or a checkout on this host holds, and gives the files that are asked for. Changes nothing.

stdin is a request in JSON: {path, probes?} counts which of the probes are there; {path, tops} lists all files below the
names `tops` by git's blob ids; {path, wanted} gives contents, and says of each whether its bytecode is of that source.
The answer is JSON on stdout.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import marshal
import os
import sys
from typing import Any

CACHE = "__pycache__"
HEADER = 16  # bytes before the code in a .pyc: magic, flags, then mtime and size, or the source's hash
BIG = 5_000_000  # bytes; what is bigger is nothing to review


def main(request: dict[str, Any]) -> dict[str, Any]:
    path = os.path.realpath(os.path.expanduser(request["path"]))
    if not os.path.isdir(path):
        return {"problem": f"there is no folder {request['path']}"}
    if "probes" in request:
        found = [sum(os.path.isfile(os.path.join(path, one)) for one in probes) for probes in request["probes"]]
        return {"found": found}
    if "wanted" in request:
        return {"contents": dict(_content(path, one) for one in request["wanted"])}
    files: dict[str, list[Any]] = {}
    answer: dict[str, Any] = {"files": files, "links": {}, "unreadable": [], "bytecode": []}
    for top in request["tops"]:
        _list(path, top, answer)
    names = set(os.listdir(path))
    answer["others"] = sorted(names - set(request["tops"]) - {CACHE, ".git"})
    for place in sorted(answer.pop("caches", [])):
        problem = _stale(path, place, files)
        if problem:
            answer["bytecode"].append([place, problem])
    return answer


def _list(path: str, top: str, answer: dict[str, Any]) -> None:
    full = os.path.join(path, top)
    if os.path.isfile(full):
        _file(path, top, answer)
        return
    for folder, folders, names in os.walk(os.path.realpath(full)):
        folders[:] = sorted(name for name in folders if name != ".git")
        inside = os.path.relpath(folder, os.path.realpath(full))
        for name in sorted([*names, *(one for one in folders if os.path.islink(os.path.join(folder, one)))]):
            rel = os.path.normpath(os.path.join(top, inside, name))
            _file(path, rel, answer)


def _file(path: str, rel: str, answer: dict[str, Any]) -> None:
    full = os.path.join(path, rel)
    if rel.endswith(".pyc"):
        answer.setdefault("caches", []).append(rel)
    elif os.path.islink(full):
        answer["links"][rel] = os.readlink(full)
    elif os.path.isfile(full):
        try:
            with open(full, "rb") as file:
                data = file.read()
        except OSError as error:
            answer["unreadable"].append([rel, error.strerror or "cannot be read"])
            return
        mode = "100755" if os.stat(full).st_mode & 0o100 else "100644"
        answer["files"][rel] = [mode, hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest(), len(data)]


def _source_of(place: str) -> str:
    folder, name = os.path.split(place)
    if os.path.basename(folder) == CACHE:
        return os.path.join(os.path.dirname(folder), name.split(".")[0] + ".py")
    return os.path.join(folder, name[: -len("c")])


def _stale(path: str, place: str, files: dict[str, list[Any]]) -> str | None:
    """Why the bytecode is not that of its source, as far as its header tells."""
    source = _source_of(place)
    cached = os.path.basename(os.path.dirname(place)) == CACHE
    if source not in files:
        return "its source is gone" if cached else "it runs, and there is no source of it"
    try:
        with open(os.path.join(path, place), "rb") as file:
            head = file.read(HEADER)
        facts = os.stat(os.path.join(path, source))
    except OSError:
        return None
    if len(head) < HEADER:
        return "it is cut short"
    flags = int.from_bytes(head[4:8], "little")
    if flags & 1:
        return _hashed(os.path.join(path, source), head, flags)
    known = (int.from_bytes(head[8:12], "little"), int.from_bytes(head[12:16], "little"))
    if known != (int(facts.st_mtime) & 0xFFFFFFFF, facts.st_size & 0xFFFFFFFF):
        return "its source was changed since; Python makes it anew"
    return None


def _hashed(source: str, head: bytes, flags: int) -> str | None:
    if head[:4] != importlib.util.MAGIC_NUMBER:
        return None  # another Python's: only that one could tell
    with open(source, "rb") as file:
        same = importlib.util.source_hash(file.read()) == head[8:16]
    if same:
        return None
    then = "Python makes it anew" if flags & 2 else "Python runs it all the same"
    return f"its source was changed since; {then}"


def _content(path: str, rel: str) -> tuple[str, dict[str, Any]]:
    full = os.path.join(path, rel)
    if os.path.getsize(full) > BIG:
        return rel, {"big": os.path.getsize(full)}
    with open(full, "rb") as file:
        data = file.read()
    return rel, {"data": base64.b64encode(data).decode(), "bytecode": _other_code(full, data)}


def _other_code(source: str, data: bytes) -> str | None:
    """Bytecode that Python takes for current, while it was made of another text: the times are of whole seconds."""
    if not source.endswith(".py"):
        return None
    place = importlib.util.cache_from_source(source)
    try:
        with open(place, "rb") as file:
            held = file.read()
        facts = os.stat(source)
        if held[:4] != importlib.util.MAGIC_NUMBER or int.from_bytes(held[4:8], "little"):
            return None
        known = (int.from_bytes(held[8:12], "little"), int.from_bytes(held[12:16], "little"))
        if known != (int(facts.st_mtime) & 0xFFFFFFFF, facts.st_size & 0xFFFFFFFF):
            return None
        code = marshal.loads(held[HEADER:])
        made = compile(data, code.co_filename, "exec", dont_inherit=True)
    except (OSError, ValueError, EOFError, TypeError, SyntaxError, AttributeError):
        return None
    return None if made == code else "Python takes it for current, and it was made of another text"


if __name__ == "__main__":
    json.dump(main(json.load(sys.stdin)), sys.stdout)

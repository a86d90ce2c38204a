"""Reads a model's folder: configuration, tokenizer, and the head of every shard. Never the weights, never a write.

argv[1] is a request in JSON, the answer is JSON on stdout:
{path, root?}                 all that can be known (`inspect`)
{path, root?, manifest}       only what differs from a manifest (`differences`): quick, for a gate
{path, root?, hash: [names]}  whole files (`hashes`); {cache: file} remembers them by inode, size and mtime

`root`: what a relative path begins at.
"""

from __future__ import annotations

import errno
import fnmatch
import hashlib
import json
import os
import stat
import sys
import time
from typing import Any

from stackctl.onhost import safetensors

INDEX = "model.safetensors.index.json"
# files that decide what is served, besides the weights
PINNED = (
    "config.json",
    "generation_config.json",
    "hf_quant_config.json",
    "quant*_config.json",
    "quant_model_description.json",
    "*processor_config.json",
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.tiktoken",
    "chat_template*",
    "*.jinja",
    "params.json",
    "*.py",
    INDEX,
)
FOLDERS = ("encoding", "additional_chat_templates")  # of them every file counts
TEXTS = ("config.json", "generation_config.json", "hf_quant_config.json", "tokenizer_config.json", "chat_template.json")
OTHER_WEIGHTS = ("*.bin", "*.pt", "*.pth", "*.gguf", "*.ckpt", "*.npz")
LFS = b"version https://git-lfs.github.com/spec/"
SMALL = 64 << 20  # bytes of a file that is read whole
TEXT = 1 << 20  # bytes of a file whose text is told
MOST = 10_000  # files
CHUNK = 8 << 20
YOUNG = 2.0  # seconds: a file so new may change again within the same mtime
BAR = "｜"  # the full-width bar of DeepSeek's tokens


class Fault(Exception):
    """Why a file cannot be read: kind and words."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(words)
        self.kind = kind


def main(request: dict[str, Any]) -> dict[str, Any]:
    if sys.platform != "linux":
        return {"platform": sys.platform}
    path = os.path.join(os.path.expanduser(request.get("root", "/")), os.path.expanduser(request["path"]))
    answer: dict[str, Any] = {"platform": sys.platform, "path": path, "real": os.path.realpath(path)}
    problem = unreadable(path)
    if "hash" in request:
        return {**answer, "hashes": hashes(path, request["hash"], request.get("cache"))}
    if "manifest" in request:
        return {**answer, "differences": [problem] if problem else differences(path, request["manifest"])}
    return {**answer, "problem": problem, **({} if problem else inspect(path))}


def unreadable(path: str) -> str:
    """Why this is no folder that can be looked at; empty when it is."""
    try:
        os.listdir(path)
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""


def listed(folder: str) -> list[str]:
    """Files and broken links of the folder and of the two below it that count, as relative names."""
    names = []
    for place in ("", *FOLDERS):
        try:
            found = sorted(os.listdir(os.path.join(folder, place)))
        except OSError:
            continue
        names += [os.path.join(place, name) for name in found if not os.path.isdir(os.path.join(folder, place, name))]
    return names[:MOST]


def is_pinned(name: str) -> bool:
    return "/" in name or any(fnmatch.fnmatchcase(name, pattern) for pattern in PINNED)


def opened(path: str) -> Any:
    """A regular file, open for reading, never waited for. Raises Fault."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENOENT and os.path.islink(path):
            raise Fault("dangling", f"is a link to {os.readlink(path)}, which is not there") from None
        raise Fault("unreadable", str(error.strerror)) from None
    file = os.fdopen(number, "rb")
    if not stat.S_ISREG(os.fstat(number).st_mode):
        file.close()
        raise Fault("unreadable", "is no regular file")
    return file


def content(path: str) -> bytes:
    """Of a small file. Raises Fault."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > SMALL:
            raise Fault("large", f"has {size} bytes; more than {SMALL} are not read")
        try:
            data = bytes(file.read(SMALL + 1))
        except OSError as error:
            raise Fault("unreadable", str(error.strerror)) from None
    if data.startswith(LFS):
        raise Fault("lfs", "is a Git-LFS pointer, not the file")
    return data


def head_of(path: str) -> tuple[int, bytes]:
    """Size of a shard, and its head. Raises Fault."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            if file.peek(len(LFS)).startswith(LFS):
                raise Fault("lfs", "is a Git-LFS pointer, not the weights")
            return size, safetensors.header(file, size)
        except safetensors.Bad as error:
            raise Fault("shard", str(error)) from None
        except OSError as error:
            raise Fault("unreadable", str(error.strerror)) from None


# --- all that can be known ---------------------------------------------------------------------------------------


def inspect(folder: str) -> dict[str, Any]:
    names = listed(folder)
    faults: list[list[str]] = []  # [kind, file, words]
    files, texts, seen = small_files(folder, names, faults)
    shards, tensors = all_shards(folder, names, faults)
    return {
        "files": files,
        "texts": texts,
        "tokenizer": seen.get("tokenizer.json"),
        "index": indexed(seen.get(INDEX), tensors, shards, faults),
        "shards": shards,
        "other_weights": [name for name in names if matches(name, OTHER_WEIGHTS)],
        "size": sum(size_of(os.path.join(folder, name)) for name in names),
        "faults": faults,
        "hub": hub(folder),
    }


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def small_files(folder: str, names: list[str], faults: list[list[str]]) -> tuple[dict[str, Any], ...]:
    """Sizes and digests; texts; and what big JSON files say, in short."""
    files: dict[str, Any] = {}
    texts: dict[str, str] = {}
    seen: dict[str, Any] = {}
    for name in filter(is_pinned, names):
        try:
            data = content(os.path.join(folder, name))
        except Fault as fault:
            faults.append([fault.kind, name, str(fault)])
            continue
        files[name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        if name in TEXTS:
            if len(data) > TEXT:
                faults.append(["large", name, f"has {len(data)} bytes; more than {TEXT} are not read"])
            else:
                texts[name] = data.decode("utf-8", "replace")
        elif name in ("tokenizer.json", INDEX):
            seen[name] = parsed(name, data, faults)
    if isinstance(seen.get("tokenizer.json"), dict):
        seen["tokenizer.json"] = tokens(seen["tokenizer.json"])
    return files, texts, seen


def parsed(name: str, data: bytes, faults: list[list[str]]) -> Any:
    """A JSON object; None, with a fault, when it is none."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        faults.append(["json", name, f"is no JSON: {error}"])
        return None
    if not isinstance(said, dict):
        faults.append(["json", name, "is no JSON object"])
        return None
    return said


def tokens(said: dict[str, Any]) -> dict[str, Any]:
    """Of tokenizer.json: how many, and which of them bear DSML, spelled how."""
    added = said.get("added_tokens")
    contents = [one.get("content") for one in added if isinstance(one, dict)] if isinstance(added, list) else []
    model = said.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    words = [*contents, *(vocabulary if isinstance(vocabulary, dict) else ())]
    dsml = sorted({word for word in words if isinstance(word, str) and "DSML" in word})
    return {
        "vocabulary": len(vocabulary) if isinstance(vocabulary, (dict, list)) else None,
        "added": len(contents),
        "dsml": sum(f"{BAR}DSML{BAR}" in word for word in dsml),
        "dsml_spelled": dsml[:5],
    }


def all_shards(folder: str, names: list[str], faults: list[list[str]]) -> tuple[dict[str, Any], dict[str, set[str]]]:
    """What each shard says of itself, and the names of its tensors."""
    shards: dict[str, Any] = {}
    tensors: dict[str, set[str]] = {}
    for name in (one for one in names if one.endswith(".safetensors")):
        path = os.path.join(folder, name)
        shards[name] = {"size": size_of(path), "header": None, "sha256": None, "tensors": 0}
        try:
            size, head = head_of(path)
            shards[name].update(size=size, header=len(head) - 8, sha256=safetensors.digest(head))
            found = safetensors.tensors(head)
            shards[name].update(tensors=len(found), **safetensors.tally(found))
            tensors[name] = set(found)
            safetensors.whole(found, size - len(head))
        except Fault as fault:
            faults.append([fault.kind, name, str(fault)])
        except safetensors.Bad as error:
            faults.append(["shard", name, str(error)])
    return shards, tensors


def indexed(
    said: Any, tensors: dict[str, set[str]], shards: dict[str, Any], faults: list[list[str]]
) -> dict[str, Any] | None:
    """The index against the shards. None when there is none, or it is no JSON."""
    if not isinstance(said, dict):
        return None
    table = said.get("weight_map")
    if not isinstance(table, dict) or not all(isinstance(shard, str) for shard in table.values()):
        faults.append(["json", INDEX, "has no weight_map of tensor to file"])
        return None
    wanted: dict[str, set[str]] = {}
    for tensor, shard in table.items():
        wanted.setdefault(shard, set()).add(tensor)
    lacking = {shard: sorted(need - tensors[shard]) for shard, need in wanted.items() if shard in tensors}
    meta = said.get("metadata")
    total = meta.get("total_size") if isinstance(meta, dict) else None
    return {
        "shards": {shard: len(need) for shard, need in sorted(wanted.items())},
        "missing": sorted(set(wanted) - set(shards)),
        "unnamed": sorted(set(shards) - set(wanted)),
        "lacking": {shard: [len(names), names[:3]] for shard, names in sorted(lacking.items()) if names},
        "total_size": total if isinstance(total, int) else None,
        "probe": next((name for name in table if safetensors.EXPERT.search(name)), None),
    }


def hub(folder: str) -> dict[str, Any]:
    """What the hub's own client wrote down: the revision of each file, and downloads that were not finished."""
    place = os.path.join(folder, ".cache", "huggingface", "download")
    revisions: dict[str, str] = {}
    try:
        names = sorted(os.listdir(place))[:MOST]
    except OSError:
        names = []
    for name in (one for one in names if one.endswith(".metadata")):
        try:
            lines = content(os.path.join(place, name)).decode("utf-8", "replace").splitlines()
        except Fault:
            continue
        revisions[name[: -len(".metadata")]] = lines[0][:64] if lines else ""
    return {"revisions": revisions, "unfinished": [name for name in names if name.endswith(".incomplete")]}


# --- against a manifest ------------------------------------------------------------------------------------------


def differences(folder: str, manifest: dict[str, Any]) -> list[str]:
    """What is not as the manifest says, one sentence a file. Reads small files and heads of shards, no weights."""
    names = listed(folder)
    found = []
    for kind, known in (("files", is_pinned), ("shards", lambda name: name.endswith(".safetensors"))):
        wanted = manifest.get(kind, {})
        there = {name for name in names if known(name)}
        for name in sorted(there | set(wanted)):
            if words := differs(folder, name, kind, wanted.get(name), name in there):
                found.append(f"{name}: {words}")
    return found


def differs(folder: str, name: str, kind: str, wanted: dict[str, Any] | None, there: bool) -> str:
    if wanted is None:
        return "the manifest has no such file"
    if not there:
        return "is not there"
    path = os.path.join(folder, name)
    try:
        if kind == "files":
            data = content(path)
            size, key, digest = len(data), "sha256", hashlib.sha256(data).hexdigest()
        else:
            size, head = head_of(path)
            key, digest = "header_sha256", safetensors.digest(head)
    except Fault as fault:
        return str(fault)
    if digest != wanted.get(key):
        what = "sha256" if kind == "files" else "sha256 of its header"
        return f"{what} {digest}, the manifest has {wanted.get(key)}"
    if size != wanted.get("size"):
        return f"{size} bytes, the manifest has {wanted.get('size')}"
    return ""


# --- whole files -------------------------------------------------------------------------------------------------


def hashes(folder: str, names: list[str], cache: str | None) -> dict[str, Any]:
    """name -> {sha256, cached} or {fault}. With a cache, a file is read once for its inode, size and mtime."""
    place = os.path.expanduser(cache) if cache else None
    known = remembered(place)
    answer: dict[str, Any] = {}
    for name in names:
        path = os.path.join(folder, name)
        try:
            before = identity(os.stat(path))
            cached = known.get(before)
            answer[name] = {"sha256": cached or whole(path), "cached": cached is not None}
            after = os.stat(path)
            if identity(after) != before:
                answer[name] = {"fault": "changed while it was read"}
            elif cached is None and time.time() - after.st_mtime > YOUNG:
                known[before] = answer[name]["sha256"]
                remember(place, known)
        except Fault as fault:
            answer[name] = {"fault": str(fault)}
        except OSError as error:
            answer[name] = {"fault": str(error.strerror)}
    return answer


def identity(found: os.stat_result) -> str:
    return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"


def whole(path: str) -> str:
    digest = hashlib.sha256()
    with opened(path) as file:
        while data := file.read(CHUNK):
            digest.update(data)
    return digest.hexdigest()


def remembered(place: str | None) -> dict[str, str]:
    """What a cache holds; nothing when it is not there or not whole."""
    try:
        with open(place or os.devnull, encoding="utf-8") as file:
            said = json.load(file)
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) and all(isinstance(one, str) for one in said.values()) else {}


def remember(place: str | None, known: dict[str, str]) -> None:
    if place is None:
        return
    os.makedirs(os.path.dirname(place), exist_ok=True)
    aside = f"{place}.{os.getpid()}"
    with open(aside, "w", encoding="utf-8") as file:
        json.dump(known, file, sort_keys=True)
    os.replace(aside, place)


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))

"""Reads a model's folder: configuration, tokenizer, and the head of every shard. Never the weights, never a write.

argv[1] is a request in JSON, the answer is JSON on stdout:
{path, hub?}                  all that can be known (`inspect`)
{path, hub?, manifest: "-"}   only what differs from the manifest on stdin (model_files.differences): quick, for a gate
{path, hub?, hash: [names]}   whole files (model_hashes); {cache: file} remembers them by inode, size and mtime

`hub`: the hub's cache, for a path that is a repository's name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from typing import Any

from stackctl.onhost import model_files, safetensors

TEXTS = ("config.json", "generation_config.json", "hf_quant_config.json", "tokenizer_config.json", "chat_template.json")
TEXT = 1 << 20  # bytes of a file whose text is told
OTHER_WEIGHTS = ("*.bin", "*.pt", "*.pth", "*.gguf", "*.ckpt", "*.npz")
BAR = "｜"  # the full-width bar of DeepSeek's tokens
SHA256 = re.compile(r"[0-9a-f]{64}")


def main(request: dict[str, Any]) -> dict[str, Any]:
    if sys.platform != "linux":
        return {"platform": sys.platform}
    path = model_files.place(request["path"], request.get("hub"))
    answer: dict[str, Any] = {"platform": sys.platform, "path": path, "real": os.path.realpath(path)}
    if model_files.REPOSITORY.fullmatch(request["path"]):
        answer["asked"] = request["path"]
    problem = unreadable(path)
    if "hash" in request:
        from stackctl.onhost import model_hashes

        return {**answer, "hashes": model_hashes.hashes(path, request["hash"], request.get("cache"))}
    if "manifest" in request:
        return {**answer, "differences": [problem] if problem else model_files.differences(path, request["manifest"])}
    return {**answer, "problem": problem, **({} if problem else inspect(path))}


def unreadable(path: str) -> str:
    """Why this is no folder that can be looked at; empty when it is."""
    try:
        os.listdir(path)
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""


def inspect(folder: str) -> dict[str, Any]:
    names = model_files.listed(folder)
    faults: list[list[str]] = []  # [kind, file, words]
    files, texts, seen = small_files(folder, names, faults)
    shards, tensors = all_shards(folder, names, faults)
    return {
        "files": files,
        "texts": texts,
        "tokenizer": seen.get("tokenizer.json"),
        "index": indexed(seen.get(model_files.INDEX), tensors, shards, faults),
        "shards": shards,
        "other_weights": [name for name in names if model_files.matches(name, OTHER_WEIGHTS)],
        "size": sum(model_files.size_of(os.path.join(folder, name)) for name in names),
        "faults": faults,
        "hub": hub(folder, shards),
    }


def small_files(folder: str, names: list[str], faults: list[list[str]]) -> tuple[dict[str, Any], ...]:
    """Sizes and digests; texts; and what big JSON files say, in short."""
    files: dict[str, Any] = {}
    texts: dict[str, str] = {}
    seen: dict[str, Any] = {}
    for name in filter(model_files.is_pinned, names):
        try:
            data = model_files.content(os.path.join(folder, name))
        except model_files.Fault as fault:
            faults.append([fault.kind, name, str(fault)])
            continue
        files[name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        if name in TEXTS:
            if len(data) > TEXT:
                faults.append(["large", name, f"has {len(data)} bytes; more than {TEXT} are not read"])
            else:
                texts[name] = data.decode("utf-8", "replace")
        elif name in ("tokenizer.json", model_files.INDEX):
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
        shards[name] = {"size": model_files.size_of(path), "header": None, "sha256": None, "tensors": 0}
        try:
            size, head = model_files.head_of(path)
            shards[name].update(size=size, header=len(head) - 8, sha256=safetensors.digest(head))
            found = safetensors.tensors(head)
            shards[name].update(tensors=len(found), **safetensors.tally(found))
            tensors[name] = set(found)
            safetensors.whole(found, size - len(head))
        except model_files.Fault as fault:
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
        faults.append(["json", model_files.INDEX, "has no weight_map of tensor to file"])
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


def hub(folder: str, shards: dict[str, Any]) -> dict[str, Any]:
    """What the hub's own client left: the revision and sha256 of each file, and downloads that were not finished."""
    place = os.path.join(folder, ".cache", "huggingface", "download")
    revisions: dict[str, str] = {}
    digests: dict[str, str] = {}
    for name in shards:  # in its cache a file is a link to one that is called after its content
        blob = os.path.basename(os.path.realpath(os.path.join(folder, name)))
        if SHA256.fullmatch(blob):
            digests[name] = blob
    try:
        names = sorted(os.listdir(place))[: model_files.MOST]
    except OSError:
        names = []
    for name in (one for one in names if one.endswith(".metadata")):
        try:
            lines = model_files.content(os.path.join(place, name)).decode("utf-8", "replace").splitlines()
        except model_files.Fault:
            continue
        file = name[: -len(".metadata")]
        revisions[file] = lines[0][:64] if lines else ""
        if len(lines) > 1 and SHA256.fullmatch(lines[1]):
            digests[file] = lines[1]
    unfinished = [name for name in names if name.endswith(".incomplete")]
    return {"revisions": revisions, "sha256": digests, "unfinished": unfinished}


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    if asked.get("manifest") == "-":
        asked["manifest"] = json.load(sys.stdin)
    print(json.dumps(main(asked)))

"""The manifest of a model: which files a folder must hold to be this model, by sha256. It is kept beside the stack.

Small files by all of their bytes, shards by their heads (which name every tensor, its type and place) and size; whole
shards only where somebody had them hashed. Byte-stable, so that a change is reviewed as a diff.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from stackctl.core.modeldir.values import ModelDir, SmallFile

FORMAT = 1
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class PinnedShard:
    """`sha256`: of the whole file, where it is known."""

    size: int
    header_sha256: str
    sha256: str | None = None


@dataclass(frozen=True)
class Manifest:
    """`repo` and `revision` are for people: what was locked is what was there."""

    files: Mapping[str, SmallFile] = field(default_factory=dict)
    shards: Mapping[str, PinnedShard] = field(default_factory=dict)
    repo: str | None = None
    revision: str | None = None


def manifest_of(model: ModelDir, repo: str | None, revision: str | None, whole: Mapping[str, str] = {}) -> Manifest:
    """`whole`: sha256 of whole shards. Raises ValueError for a shard without a head: such a folder is no model."""
    shards = {}
    for shard in model.shards:
        if shard.sha256 is None:
            raise ValueError(f"{shard.name} has no whole head")
        shards[shard.name] = PinnedShard(shard.size, shard.sha256, whole.get(shard.name))
    return Manifest(dict(model.files), shards, repo, revision)


def remembered(old: Manifest, new: Manifest) -> dict[str, str]:
    """Digests of whole shards that were known, of those that have the same head and size still."""
    return {
        name: one.sha256
        for name, one in old.shards.items()
        if one.sha256 and name in new.shards and replace(one, sha256=None) == replace(new.shards[name], sha256=None)
    }


def text(manifest: Manifest) -> str:
    return json.dumps({"format": FORMAT, **as_json(manifest)}, indent=1, ensure_ascii=True) + "\n"


def as_json(manifest: Manifest) -> dict[str, object]:
    """As a host compares with it (onhost/model_files.py)."""
    origin = {key: value for key, value in (("repo", manifest.repo), ("revision", manifest.revision)) if value}
    shards = {
        name: {k: v for k, v in vars(one).items() if v is not None} for name, one in sorted(manifest.shards.items())
    }
    return {**origin, "files": {name: vars(one) for name, one in sorted(manifest.files.items())}, "shards": shards}


def digest(manifest: Manifest) -> str:
    """sha256 of what must be there; where it came from is no part of it, nor are digests of whole shards."""
    heads = {name: (one.size, one.header_sha256) for name, one in sorted(manifest.shards.items())}
    files = {name: (one.size, one.sha256) for name, one in sorted(manifest.files.items())}
    return hashlib.sha256(json.dumps([files, heads], separators=(",", ":")).encode()).hexdigest()


def parse(data: bytes) -> Manifest:
    """Raises ValueError with the key that is wrong."""
    try:
        said = json.loads(data)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise ValueError(f"is no manifest of format {FORMAT}")
    files = {name: SmallFile(*_pinned(one, name, "sha256")) for name, one in _entries(said, "files")}
    shards = {
        name: PinnedShard(*_pinned(one, name, "header_sha256"), _whole(one, name))
        for name, one in _entries(said, "shards")
    }
    if not files:
        raise ValueError("files: names none")
    repo, revision = (said.get(key) for key in ("repo", "revision"))
    return Manifest(files, shards, *(one if isinstance(one, str) else None for one in (repo, revision)))


def _entries(said: Mapping[str, object], key: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    found = said.get(key)
    if not isinstance(found, dict):
        raise ValueError(f"{key}: is no object")
    for name, one in found.items():
        if not isinstance(one, dict):
            raise ValueError(f"{key}.{name}: is no object")
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"{key}: {name!r} is no name of a file of the folder")
        yield name, one


def _pinned(said: Mapping[str, object], name: str, key: str) -> tuple[int, str]:
    size, digest = said.get("size"), said.get(key)
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise ValueError(f"{name}: size is no number of bytes")
    if not isinstance(digest, str) or not SHA256.fullmatch(digest):
        raise ValueError(f"{name}: {key} is no sha256")
    return size, digest


def _whole(said: Mapping[str, object], name: str) -> str | None:
    return None if said.get("sha256") is None else _pinned(said, name, "sha256")[1]


def differences(old: Manifest, new: Manifest) -> Iterator[str]:
    """`config.json: sha256 0123… -> 4567…`, one for each file."""
    for before, after in ((old.files, new.files), (old.shards, new.shards)):
        for name in sorted({*before, *after}):
            had, has = before.get(name), after.get(name)
            if had != has:
                yield f"{name}: {_short(had)} -> {_short(has)}"


def _short(one: SmallFile | PinnedShard | None) -> str:
    if one is None:
        return "not there"
    if isinstance(one, SmallFile):
        return f"{one.sha256[:12]} ({one.size} bytes)"
    whole = f", whole {one.sha256[:12]}" if one.sha256 else ""
    return f"header {one.header_sha256[:12]} ({one.size} bytes{whole})"

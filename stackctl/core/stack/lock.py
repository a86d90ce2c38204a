"""The lock file: what a stack was when it was locked, so that `check --locked` can say what differs.

Byte-stable: no time, no machine path, keys in a fixed order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass

from stackctl.core.modeldir import manifest
from stackctl.core.names import SGLANG, Digest, PatchName, TreeId
from stackctl.core.patches.values import Patch, PatchedTree
from stackctl.core.stack.resolved import Base, GitBase, PathBase, PypiBase, ResolvedStack

FORMAT = 1
OF_THE_USER = ("identity", "known_hosts")  # how this user reaches a host, not what is served there
NOT_CONTENT = ("file", "workspace", "patch_files", "variant", "unsupported", "warnings", "severity", "merged")


def canonical(value: object) -> str:
    """JSON with sorted keys and no spaces: the form that digests are taken of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(stack: ResolvedStack) -> Digest:
    """sha256 of everything that the stack says; paths inside of the workspace count from there."""
    pairs = {
        f.name: _plain(getattr(stack, f.name), stack.workspace) for f in fields(stack) if f.name not in NOT_CONTENT
    }
    return Digest(hashlib.sha256(canonical(pairs).encode()).hexdigest())


def _plain(value: object, workspace: str) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        named = {f.name: _plain(getattr(value, f.name), workspace) for f in fields(value) if f.name not in OF_THE_USER}
        return {"kind": type(value).__name__, **named} if isinstance(value, (PypiBase, GitBase, PathBase)) else named
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, workspace) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, workspace) for inner in value]
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, str) and value.startswith(workspace + "/"):
        return value[len(workspace) + 1 :]
    return value


def lock(stack: ResolvedStack, tree: PatchedTree, after: Sequence[tuple[PatchName, TreeId]]) -> dict[str, object]:
    """The content of a lock file; `after` holds the tree after each patch, of the source that the patch is for."""
    sources = {
        name: {"base": {**_pin(stack.sources[name], stack.workspace), "tree": source.base}, "tree": source.tree}
        for name, source in sorted(tree.sources.items())
    }
    return {
        "format": FORMAT,
        "stack": stack.name,
        "base": {**_pin(stack.base, stack.workspace), "tree": tree.base},
        **({"sources": sources} if sources else {}),
        "patches": [_locked(patch, dict(after)[patch.name]) for patch in tree.patches],
        "tree": tree.tree,
        **({} if stack.model.pins is None else {"model_sha256": manifest.digest(manifest.parse(stack.model.pins))}),
        "stack_sha256": digest(stack),
    }


def _locked(patch: Patch, after: TreeId) -> dict[str, str]:
    source = {} if patch.source == SGLANG else {"source": patch.source}
    return {"name": patch.name, **source, "sha256": patch.sha256, "tree": after}


def _pin(base: Base, workspace: str) -> dict[str, str]:
    match base:
        case PypiBase(requirement, sha256):
            return {"pypi": requirement, "sha256": sha256}
        case GitBase(url, ref, commit):
            return {"git": str(_plain(url, workspace)), "ref": ref, "commit": commit}
        case PathBase(path, commit):
            return {"path": str(_plain(path, workspace)), **({"commit": commit} if commit else {})}


def text(content: Mapping[str, object]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=True) + "\n"


def differences(locked: object, now: object, path: str = "") -> Iterator[str]:
    """`patches.1.sha256: locked …, now …`, one for each value that differs."""
    if isinstance(locked, Mapping) and isinstance(now, Mapping):
        for key in [*locked, *(key for key in now if key not in locked)]:
            yield from differences(locked.get(key), now.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(locked, list) and isinstance(now, list):
        for index in range(max(len(locked), len(now))):
            old = locked[index] if index < len(locked) else None
            new = now[index] if index < len(now) else None
            yield from differences(old, new, f"{path}.{index}")
    elif locked != now:
        yield f"{path}: locked {_short(locked)}, now {_short(now)}"


def _short(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case Mapping():
            return str(value.get("name", "an entry"))
        case _:
            return str(value)

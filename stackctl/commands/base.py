"""Gets the pinned base of a stack into the store, once, and holds it to its pin.

What a pin has given before is remembered by the pin's own content and asks no network again. A base that is not what
its pin says is refused with both values; nothing of it is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import PurePosixPath
from typing import assert_never

from stackctl.core.base.values import TreeFile
from stackctl.core.base.wheel import files_of_wheel
from stackctl.core.names import Digest, TreeId
from stackctl.core.patches.names import name_fault
from stackctl.core.stack.resolved import Base, GitBase, PathBase, PypiBase
from stackctl.errors import StackctlError
from stackctl.ports import Ports

OTHER_PYTHONS = ("3.11", "3.12", "3.10", "3.13", "3.14")  # a wheel may be for another Python than the one that runs us
LEFT_OUT = (".git", "__pycache__")


def fetch_base(ports: Ports, base: Base, key: str = "base") -> TreeId:
    """The tree of a base. Raises StackctlError when it cannot be had or is not what the pin says, by `key`."""
    match base:
        case PypiBase():
            return _pypi(ports, base, key)
        case GitBase():
            return _commit(ports, base)
        case PathBase():
            if base.commit is None:
                return _folder(ports, base.path, key)
            return _commit(ports, GitBase(base.path, "HEAD", base.commit))
        case _:
            assert_never(base)


def pin_release(ports: Ports, requirement: str) -> PypiBase:
    """The pin of a release whose sha256 nobody has said yet: that of the wheel which the index gives, kept for later.

    Raises StackctlError when the index has none, or cannot be asked.
    """
    note = f"{ports.files.home()}/bases/{sha256(f'release {requirement}'.encode()).hexdigest()}.json"
    known = PypiBase(requirement, Digest(_read_note(ports, note).get("sha256", "")))
    if known.sha256 and (ports.files.exists(_kept(ports, known)) or _remembered(ports, known)):
        return known
    with ports.progress.step(f"fetching {requirement}"):
        data = next(_downloads(ports, requirement), None)
        if data is None:
            raise _other_wheel(PypiBase(requirement, Digest("")), (), "base")
        pin = PypiBase(requirement, Digest(sha256(data).hexdigest()))
        ports.files.write(_kept(ports, pin), data)
        ports.files.write(note, json.dumps({"release": requirement, "sha256": pin.sha256}).encode())
    return pin


def _kept(ports: Ports, base: PypiBase) -> str:
    return f"{ports.files.home()}/wheels/{base.sha256}.whl"


def _commit(ports: Ports, base: GitBase) -> TreeId:
    tree = ports.git.tree_of_commit(base.commit)
    if tree:
        return tree
    with ports.progress.step(f"fetching {base.ref} at {base.commit[:12]}"):
        return ports.git.fetch_commit(base.url, base.ref, base.commit)


def _pypi(ports: Ports, base: PypiBase, key: str) -> TreeId:
    known = _remembered(ports, base)
    if known:
        return known
    from stackctl.core.base.requires import requires_of_wheel  # not needed where the pin is remembered

    data = _wheel(ports, base, key)
    with ports.progress.step(f"reading {base.requirement} into the store"):
        tree = ports.git.write_tree(files_of_wheel(data, base.requirement))
    note = {"tree": tree, "wheel": base.sha256, "requires": "\n".join(requires_of_wheel(data))}
    ports.files.write(_note(ports, base), json.dumps(note).encode())
    return tree


def requires(ports: Ports, base: Base, tree: TreeId) -> tuple[str, ...]:
    """The packages that a base asks for, in its own words; empty when it says none. `tree`: what it was fetched as."""
    if isinstance(base, PypiBase):
        return tuple(_read_note(ports, _note(ports, base)).get("requires", "").splitlines())
    from stackctl.core.base.requires import PROJECT, requires_of_project

    return requires_of_project(ports.git.read(tree, [PROJECT]).get(PROJECT, b""))


def spare_wheels(ports: Ports) -> tuple[str, ...]:
    """Names of kept wheels whose trees the store has: a deploy asks the store first."""
    folder = f"{ports.files.home()}/bases"
    notes = (_read_note(ports, f"{folder}/{name}") for name in ports.files.list(folder) if name.endswith(".json"))
    whole = (note for note in notes if note.get("tree") and note.get("wheel"))
    return tuple(sorted(f"{note['wheel']}.whl" for note in whole if ports.git.has_tree(TreeId(note["tree"]))))


def _remembered(ports: Ports, base: PypiBase) -> TreeId | None:
    """What the pin gave before, if the store still has it."""
    tree = TreeId(_read_note(ports, _note(ports, base)).get("tree", ""))
    return tree if tree and ports.git.has_tree(tree) else None


def _read_note(ports: Ports, path: str) -> dict[str, str]:
    """Empty when it is not there or not whole."""
    if not ports.files.exists(path):
        return {}
    try:
        note = json.loads(ports.files.read(path))
    except ValueError:
        return {}
    return {key: value for key, value in note.items() if isinstance(value, str)} if isinstance(note, dict) else {}


def _note(ports: Ports, base: PypiBase) -> str:
    pin = json.dumps({"format": 2, "pypi": base.requirement, "sha256": base.sha256}, sort_keys=True)
    return f"{ports.files.home()}/bases/{sha256(pin.encode()).hexdigest()}.json"


def _wheel(ports: Ports, base: PypiBase, key: str) -> bytes:
    kept = _kept(ports, base)
    if ports.files.exists(kept):
        data = ports.files.read(kept)
        if sha256(data).hexdigest() == base.sha256:
            return data
    got: list[str] = []
    with ports.progress.step(f"fetching {base.requirement}"):
        for data in _downloads(ports, base.requirement):
            got.append(sha256(data).hexdigest())
            if got[-1] == base.sha256:
                ports.files.write(kept, data)
                return data
        raise _other_wheel(base, tuple(dict.fromkeys(got)), key)


def _other_wheel(base: PypiBase, got: Sequence[str], key: str) -> StackctlError:
    if not got:
        return StackctlError(
            f"the index has no wheel of {base.requirement}",
            "Look at the name and version, and at the index that pip asks (`pip config list`).",
        )
    return StackctlError(
        f"{base.requirement} is not what the stack pins: sha256 {base.sha256} is pinned, {', '.join(got)} came",
        f"If the release is the right one, correct {key}.sha256; if not, do not use it.",
    )


def _downloads(ports: Ports, requirement: str) -> Iterator[bytes]:
    """The wheel for our own Python, then those for others."""
    wheels = (ports.index.download(requirement, version) for version in (None, *OTHER_PYTHONS))
    return (wheel for wheel in wheels if wheel is not None)


def _folder(ports: Ports, path: str, key: str) -> TreeId:
    hint = f"Correct {key}.path; it counts from the stack file."
    if not ports.files.is_dir(path):
        raise StackctlError(f"the base {path} is no folder", hint)
    files = tuple(_tree_files(ports, path))
    if not files:
        raise StackctlError(f"the base {path} holds no files", hint)
    return ports.git.write_tree(files)


def _tree_files(ports: Ports, path: str) -> Iterator[TreeFile]:
    for name in ports.files.walk(path):
        if set(PurePosixPath(name).parts) & set(LEFT_OUT) or name.endswith(".pyc"):
            continue
        fault = name_fault(name)
        if fault:
            raise StackctlError(f"the base {path} holds the name {name!r}: {fault.reason}", "Rename the file.")
        full = f"{path}/{name}"
        mode = "100755" if ports.files.is_executable(full) else "100644"
        yield TreeFile(name, ports.files.read(full), mode)

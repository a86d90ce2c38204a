"""Imports a program that edits files: it runs in a scratch copy of the tree, and what it changed is the patch.

It runs twice, without network, and the second run must change nothing: a script that is not safe to repeat cannot be
trusted to have done what it should. One that ends well without a change is refused, since that is how a patch is lost.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from stackctl.commands.importing.ground import Ground
from stackctl.commands.tree import listing_of
from stackctl.core.importing.decide import Incoming, Note, Taken, made_header, title_of
from stackctl.core.importing.roots import BACKUP
from stackctl.core.names import TreeId
from stackctl.core.patches.trees import blob_id
from stackctl.errors import StackctlError
from stackctl.ports import Ports, Scratch, TreeFile
from stackctl.ports_import import Ran

TREE = "{tree}"
NOTHING = "Its anchors may not fit this base, or it edits another place: see --root, --arg."
RUNNERS = ((b"python", ".py", "python"), (b"bash", ".bash", "bash"), (b"sh", ".sh", "sh"))


class ScriptRefused(StackctlError):
    """The program's own fault, not that of the machine it runs on."""


def take_script(ports: Ports, ground: Ground, file: str, args: Sequence[str], timeout: float) -> Taken:
    """Raises StackctlError for a script that fails, changes nothing, or changes something again when it runs twice."""
    data, name = ports.files.read(file), posixpath.basename(file)
    tree, notes = run_edits(ports, ground, ground.tree, (name, data, args), timeout)
    said = f"Made by {name}, sha256 {sha256(data).hexdigest()}."
    header = made_header(ground.how.title or title_of(name), said)
    return Taken((Incoming(name, header, tree),), tree, notes)


def run_edits(
    ports: Ports, ground: Ground, tree: TreeId, program: tuple[str, bytes, Sequence[str]], timeout: float
) -> tuple[TreeId, tuple[Note, ...]]:
    """The tree after a program (its name, text and arguments) ran in a copy of `tree`; what is odd about it."""
    name, data, args = program
    listing = listing_of(ports, tree)
    contents = ports.git.read_blobs([blob for _, blob in listing.values()])
    with ports.scratch() as scratch:
        scratch.put(TreeFile(path, contents[blob], mode) for path, (mode, blob) in listing.items())
        words = _words(ports, scratch, ground, (name, data, args))
        with ports.progress.step(f"running {name} in a scratch copy of the tree, twice"):
            first = run_in(scratch, words, timeout)
            if first.code:
                raise _failed(name, first)
            changes = changed(listing, scratch.files())
            kept = {path: file for path, file in changes.items() if not BACKUP.search(path)}
            if not kept:
                message = f"{name} ended well and changed nothing: {first.words}"
                raise ScriptRefused(message, NOTHING)
            now = _over(listing, changes)
            second = run_in(scratch, words, timeout)
            again = sorted(changed(now, scratch.files()))
        walls = scratch.walls()
    if again:
        message = f"{name} changes {', '.join(again[:5])} again when it runs twice"
        raise ScriptRefused(message, "Make it look first whether its change is there already.")
    return ports.git.change(tree, kept), tuple(_remarks(name, changes, second, walls))


def run_in(scratch: Scratch, words: Sequence[str], timeout: float) -> Ran:
    """Raises ScriptRefused when the program is missing or takes longer than `timeout` seconds."""
    try:
        return scratch.run(words, cwd=scratch.root, timeout=timeout)
    except StackctlError as error:
        raise ScriptRefused(error.message, error.hint) from error


def changed(before: Mapping[str, tuple[str, str]], now: Iterable[TreeFile]) -> dict[str, TreeFile | None]:
    """Files that are not as they were: path -> what is there, None for what is gone."""
    found: dict[str, TreeFile | None] = {}
    seen = set()
    for file in now:
        seen.add(file.path)
        if before.get(file.path) != (file.mode, blob_id(file.data)):
            found[file.path] = file
    return {**found, **{path: None for path in before if path not in seen}}


def _over(listing: Mapping[str, tuple[str, str]], changes: Mapping[str, TreeFile | None]) -> dict[str, tuple[str, str]]:
    now = {path: facts for path, facts in listing.items() if path not in changes}
    return now | {path: (file.mode, blob_id(file.data)) for path, file in changes.items() if file is not None}


def _words(ports: Ports, scratch: Scratch, ground: Ground, program: tuple[str, bytes, Sequence[str]]) -> list[str]:
    """The script with installation folders pointing into the scratch tree, and what runs it."""
    name, data, args = program
    for root, folder in sorted(ground.how.roots.items(), key=lambda pair: len(pair[0]), reverse=True):
        inside = posixpath.normpath(posixpath.join(scratch.root, folder.strip("/")))
        data = data.replace(root.rstrip("/").encode(), inside.encode())
        args = [arg.replace(root.rstrip("/"), inside) for arg in args]
    place = scratch.keep(name, data)
    first = data.partition(b"\n")[0]
    runner = next((word for mark, suffix, word in RUNNERS if mark in first and first.startswith(b"#!")), None)
    runner = runner or next((word for _, suffix, word in RUNNERS if name.endswith(suffix)), "sh")
    program_ = ports.who.python() if runner == "python" else runner
    return [program_, place, *(arg.replace(TREE, scratch.root) for arg in args)]


def _failed(name: str, ran: Ran) -> StackctlError:
    how = f"ended with {ran.code}" if ran.code > 0 else f"was ended by signal {-ran.code}"
    return ScriptRefused(f"{name} {how}: {ran.words}", "It runs in the top of the tree; {tree} in --arg names it.")


def _remarks(name: str, changes: Mapping[str, TreeFile | None], second: Ran, walls: Sequence[str]) -> Iterable[Note]:
    for path in changes:
        if BACKUP.search(path):
            yield Note("left-out", "a backup that the script left", path)
    if second.code:
        yield Note("remark", f"a second run changes nothing and ends with {second.code}: {second.words}", name)
    if "network" not in walls:
        yield Note("remark", "this machine does not let us shut off the network, so it ran with it", name)
    if "files" not in walls:
        yield Note("remark", "this machine does not let us shut off other files, so it could have changed some", name)

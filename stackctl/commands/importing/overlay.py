"""Imports whole files that somebody mounts over an installation: each becomes the diff to the file that it replaces.

A whole file carries all that upstream has changed since it was cut, and takes it back without a word. So the sha256
of the file that it replaces is required, and must be that of the file here.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from hashlib import sha256

from stackctl.commands.importing.ground import Ground
from stackctl.commands.tree import listing_of
from stackctl.core.importing.decide import Incoming, Note, Taken, made_header, title_of
from stackctl.core.importing.roots import in_tree
from stackctl.core.names import TreeId
from stackctl.core.patches.names import name_fault
from stackctl.errors import PatchConflict, StackctlError, UsageError
from stackctl.ports import Ports, TreeFile

NEW = "none"


def take_overlays(
    ports: Ports, ground: Ground, files: Sequence[tuple[str, str, str]], replaces: Sequence[str]
) -> Taken:
    """`files`: absolute path, what messages call it, and the path that it replaces; `replaces`: sha256 of each."""
    tree, changes, notes, faults = ground.tree, list[Incoming](), list[Note](), list[StackctlError]()
    for (file, name, target), digest in zip(files, replaces, strict=True):
        try:
            place = placed(ground, target)
            data = ports.files.read(file)
            mode = _mode(ports, tree, place, digest)
        except (UsageError, PatchConflict) as error:
            faults.append(error)
            continue
        tree = ports.git.change(tree, {place: TreeFile(place, data, mode)})
        said = f"{name} (sha256 {sha256(data).hexdigest()}) replaces {place}"
        said += "." if digest == NEW else f"\n(sha256 {digest})."
        title = ground.how.title or f"Replace {title_of(posixpath.basename(place))} of {posixpath.dirname(place)}"
        changes.append(Incoming(name, made_header(title, said), tree))
    if faults:
        raise PatchConflict("\n".join(map(str, faults)), "\n".join(dict.fromkeys(e.hint for e in faults if e.hint)))
    return Taken(tuple(changes), tree, tuple(notes))


def placed(ground: Ground, target: str) -> str:
    """The path in the tree. Raises UsageError for one of an installation that no root covers."""
    place = in_tree(target, ground.how.roots)
    place = posixpath.normpath(target if place is None else place)
    fault = name_fault(place)
    if fault:
        hint = "`--root PREFIX=FOLDER` says where an installation folder lies in the tree."
        raise UsageError(f"{target}: {fault.reason}", hint)
    return place


def _mode(ports: Ports, tree: TreeId, place: str, digest: str) -> str:
    here = ports.git.read(tree, [place]).get(place)
    if here is None:
        if digest != NEW:
            raise PatchConflict(f"{place}: there is no such file to replace", "`--replaces none` is for a new file.")
        return "100644"
    found = sha256(here).hexdigest()
    if digest.lower() != found:
        what = "is there already" if digest == NEW else f"was to be replaced as sha256 {digest}"
        message = f"{place} {what}, and the one here has sha256 {found}"
        raise PatchConflict(message, "The overlay was cut from another file: find its base, and import it onto that.")
    return listing_of(ports, tree)[place][0]

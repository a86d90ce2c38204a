"""Loads a stack: finds the file, follows `extends`, reads what it names, and says every mistake at once.

Every verb that takes STACK begins here. It fetches no base and leaves no element out: commands/tree.py does.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from stackctl.commands.selection import Selection
from stackctl.commands.workspace import SUFFIXES, Chosen, choose, defaults, refuse_two, shown
from stackctl.core.names import PatchName
from stackctl.core.patches.names import patch_name_fault
from stackctl.core.stack import checks, elements, schema, unsupported
from stackctl.core.stack.merge import Merged, dotted, extends_of, merge
from stackctl.core.stack.model import StackKeys
from stackctl.core.stack.resolve import MISSING, Found, Site, Wanted, absolute, base_of, resolve, wanted
from stackctl.core.stack.resolved import Base, ResolvedStack, Variant
from stackctl.core.stack.source import Document, in_order, parse
from stackctl.core.stack.versions import key_of, patch_file
from stackctl.core.stack.view import View
from stackctl.errors import InvalidFile, Problem, StackctlError, UsageError, Where
from stackctl.ports import Ports

ADDED = "with/"  # patches of --with are called with/NAME, so that they cannot be taken for those of the queue


def load(ports: Ports, selection: Selection) -> ResolvedStack:
    """The stack of a selection, checked. `variant` says what to leave out; it is still in.

    Raises UsageError (no such stack, element or patch file) and InvalidFile (every mistake of the file).
    """
    stack = load_file(ports, choose(ports, selection.stack))
    return _varied(ports, stack, selection)


def load_file(ports: Ports, chosen: Chosen) -> ResolvedStack:
    """One stack file as it is. Raises InvalidFile with every mistake."""
    home = ports.who.env("HOME") or "/"
    site = Site(chosen.file, chosen.workspace, home)
    merged = merged_chain(ports, chosen.file)
    checked = schema.check(merged)
    site = replace(site, versions=_versions(ports, site, checked.keys.patches, base_of(checked.keys, merged, site)))
    if checked.keys.default:
        refuse_two(defaults(ports, chosen.workspace, (chosen.file, merged.where(("default",)))))
    asked = tuple(wanted(checked.keys, merged, site))
    found = _read_all(ports, asked, posixpath.join(site.workspace, "patches"))
    stack = resolve(checked.keys, merged, site, found)
    view = View(stack, checked.keys, merged, site)
    problems = [*merged.problems, *checked.problems, *checks.problems(view, asked, found, checked.pruned)]
    if problems:
        raise InvalidFile(in_order(problems))
    return replace(
        stack,
        unsupported=unsupported.found(checked.keys, stack.hosts),
        warnings=tuple(_warnings(checked.keys, merged, stack)),
    )


def _versions(ports: Ports, site: Site, names: Iterable[str], base: Base | None) -> dict[str, str]:
    """Patches that have a file of their own for this base."""
    key = key_of(base) if base else None
    files = {name: patch_file(site.workspace, name, key) for name in names} if key else {}
    return {name: file for name, file in files.items() if ports.files.exists(file)}


def merged_chain(ports: Ports, file: str) -> Merged:
    """The file and all that it extends, most basic first. A cycle is refused with the whole chain."""
    home = ports.who.env("HOME") or "/"
    documents: list[Document] = []
    files: list[str] = []
    folders: dict[str, str] = {}
    asked_at: tuple[Where, str] | None = None
    while True:
        if file in files:
            names = " -> ".join(shown(ports, one) for one in [*files[files.index(file) :], file])
            raise InvalidFile([Problem(f"goes in a circle: {names}", asked_at and asked_at[0], "extends")])
        document = _document(ports, file, asked_at)
        files.append(file)
        documents.append(document)
        folders[document.file] = posixpath.dirname(file)
        base, problem = extends_of(document)
        if problem:
            raise InvalidFile([problem])
        if base is None:
            return merge(documents[::-1], folders)
        asked_at = (document.marks[("extends",)].value, base)
        file = absolute(base, posixpath.dirname(file), home)


def _document(ports: Ports, file: str, asked_at: tuple[Where, str] | None) -> Document:
    """A parsed file; one that is missing is told where `extends` names it."""
    if asked_at and (not ports.files.exists(file) or ports.files.is_dir(file)):
        named = [file + suffix for suffix in SUFFIXES if ports.files.exists(file + suffix)]
        near = f"did you mean `{posixpath.basename(named[0])}`? " if named else ""
        hint = f"{near}the path begins at the file that says `extends`"
        raise InvalidFile([Problem(f"there is no file {shown(ports, file)}", asked_at[0], "extends", hint)])
    try:
        data = ports.files.read(file)
    except (StackctlError, OSError) as error:
        place = asked_at[0] if asked_at else Where(shown(ports, file))
        raise InvalidFile([Problem(f"cannot be read: {_reason(error)}", place)]) from error
    return parse(shown(ports, file), data)


def _read_all(ports: Ports, asked: Iterable[Wanted], patches: str) -> Found:
    contents: dict[str, bytes] = {}
    faults: dict[str, str] = {}
    asked = tuple(asked)
    optional = {one.path for one in asked if one.optional}
    for path in dict.fromkeys(one.path for one in asked):
        try:
            if not ports.files.exists(path):
                if path not in optional:
                    faults[path] = MISSING
                continue
            contents[path] = ports.files.read(path)
        except (StackctlError, OSError) as error:
            faults[path] = f"cannot be read: {_reason(error)}"
    names = _walk(ports, patches) if MISSING in faults.values() else ()
    return Found(contents, faults, tuple(name.removesuffix(".patch") for name in names if name.endswith(".patch")))


def _walk(ports: Ports, folder: str) -> tuple[str, ...]:
    """For a hint only: a folder that cannot be listed is told of elsewhere."""
    with suppress(StackctlError):
        return ports.files.walk(folder) if ports.files.is_dir(folder) else ()
    return ()


def _reason(error: Exception) -> str:
    """Without the path, which the message names already."""
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    return (cause.strerror if isinstance(cause, OSError) else None) or str(error)


def _warnings(keys: StackKeys, merged: Merged, stack: ResolvedStack) -> Iterable[Problem]:
    if stack.model.manifest is not None and stack.model.pins is None:
        path, hint = ("model", "manifest"), f"`stackctl lock --model {stack.name}` writes it; a deploy wants it"
        yield Problem("MODEL-UNLOCKED: there is no such file yet", merged.where(path), dotted(path), hint)
    if keys.image and "@sha256:" not in keys.image.from_:
        path = ("image", "from")
        hint = "pin it as NAME@sha256:…; what the tag means may change"
        yield Problem("IMAGE-UNPINNED: a tag without a digest", merged.where(path), dotted(path), hint)


def _varied(ports: Ports, stack: ResolvedStack, selection: Selection) -> ResolvedStack:
    """The stack with the patches of --with behind its queue, and what --without names, checked."""
    added = _added(ports, selection.with_patches)
    for name in added:
        if name in stack.patches:
            raise UsageError(f"the queue has a patch {name} already", "rename the file of --with")
    return replace(
        stack,
        patches=(*stack.patches, *added),
        patch_files={**stack.patch_files, **added},
        variant=Variant(without=elements.chosen(stack, selection.without), added=tuple(added)),
    )


def _added(ports: Ports, files: Sequence[str]) -> dict[PatchName, str]:
    """Names and absolute files of --with, each called after its file."""
    added: dict[PatchName, str] = {}
    for text in files:
        path = absolute(text, ports.files.cwd(), ports.who.env("HOME") or "/")
        if not ports.files.exists(path) or ports.files.is_dir(path):
            raise UsageError(f"there is no patch file {text}", "--with takes the path of a .patch file")
        stem = posixpath.basename(path).removesuffix(".patch")
        name = PatchName(ADDED + stem)
        if fault := patch_name_fault(name):
            raise UsageError(f"{text} cannot name a patch: {name} {fault}", "rename the file")
        if name in added:
            raise UsageError(f"two patches are called {name}: {added[name]} and {path}", "rename one of the files")
        added[name] = path
    return added

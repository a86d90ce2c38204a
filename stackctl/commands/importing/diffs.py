"""Imports diffs that somebody keeps as files: a mailbox, patches in an order, a folder of them.

The order of a folder is never taken from names in silence, and what the order does not name is told.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace

from stackctl.commands.importing.ground import Draft, Ground, draft, follow, refuse_other_source
from stackctl.core.importing import folder as folders
from stackctl.core.importing import mailbox
from stackctl.core.importing.decide import Note, Taken, title_of, titled
from stackctl.core.importing.mailbox import Message
from stackctl.core.patches.faults import Fault, error_of
from stackctl.errors import UsageError
from stackctl.ports import Ports


@dataclass(frozen=True)
class Item:
    """A file with diffs: where it is, what messages call it, the strip level that its series states."""

    path: str
    name: str
    level: int | None = None


def take_files(ports: Ports, ground: Ground, items: Sequence[Item]) -> Taken:
    """Each file may be a diff, a mail, or a mailbox. Raises InvalidFile or PatchConflict with every fault."""
    drafts, notes, faults = list[Draft](), list[Note](), list[Fault]()
    for item in items:
        messages = mailbox.split(ports.files.read(item.path), item.name)
        if isinstance(messages, Fault):
            faults.append(messages)
            continue
        notes += [Note("remark", text, item.name) for text in mailbox.order_remarks(messages)]
        for message in messages:
            read = _read(ground, item, message, alone=len(messages) == 1)
            if isinstance(read, Fault):
                faults.append(read)
            elif isinstance(read, Note):
                notes.append(read)
            else:
                refuse_other_source(read.origin, read.header, ground.source)
                drafts.append(read)
    if faults:
        raise error_of(faults)
    changes, moved = follow(ports, ground.tree, drafts)
    tree = changes[-1].tree if changes else ground.tree
    return Taken(tuple(changes), tree, (*notes, *moved))


def take_folder(ports: Ports, ground: Ground, path: str, order: str | None) -> Taken:
    """`order`: `series`, a file that lists names, or names with commas; None asks whether the numbers are right."""
    if not ports.files.is_dir(path):
        raise UsageError(f"there is no folder {path}", "Give the folder that holds the patches.")
    there = [name for name in ports.files.walk(path) if folders.is_patch(name)]
    if not there:
        raise UsageError(f"{path} holds no patches", "Give a folder with .patch or .diff files in it.")
    entries = _order(ports, path, there, order)
    listed = [entry.name for entry in entries]
    missing = [name for name in listed if not ports.files.exists(posixpath.join(path, name))]
    if missing:
        raise UsageError(f"{path} has no {', '.join(missing)}", f"It has {', '.join(there) or 'no patches'}.")
    twice = sorted({name for name in listed if listed.count(name) > 1})
    if twice:
        raise UsageError(f"the order names {', '.join(twice)} twice", "Name each file once.")
    notes = [Note("left-out", "the order does not name it", name) for name in there if name not in listed]
    lost = folders.gaps(listed)
    if lost:
        notes.append(Note("remark", f"no file has the number {', '.join(map(str, lost))}", path))
    items = [Item(posixpath.join(path, each.name), each.name, each.level) for each in entries]
    taken = take_files(ports, ground, items)
    return replace(taken, notes=(*notes, *taken.notes))


def _order(ports: Ports, path: str, there: Sequence[str], order: str | None) -> tuple[folders.Entry, ...]:
    if order is not None:
        file = posixpath.join(path, "series") if order == "series" else posixpath.join(ports.files.cwd(), order)
        if ports.files.exists(file) and not ports.files.is_dir(file):
            text = ports.files.read(file).decode("utf-8", "surrogateescape")
            if order == "series" or not folders.is_patch(order) or order not in there:
                return folders.series(text)
        if order == "series":
            raise UsageError(f"{path} has no file called series", "Name the files in order: `--order A.patch,B.patch`.")
        return tuple(folders.Entry(name.strip()) for name in order.split(",") if name.strip())
    if len(there) < 2:
        return tuple(folders.Entry(name) for name in there)
    numbered = folders.numbered(there)
    hint = "Say `--order series`, `--order FILE` (a name a line) or `--order A.patch,B.patch`."
    if numbered is None:
        raise UsageError(f"{path}: which order? {', '.join(there)}", hint)
    ports.progress.say("The numbers of the names say this order:")
    for number, entry in enumerate(numbered, 1):
        ports.progress.say(f"  {number:3}  {entry.name}")
    if not ports.who.confirm("Take this order?"):
        names = ", ".join(entry.name for entry in numbered)
        raise UsageError(f"{path}: nobody said that this is the order: {names}", f"{hint} Or say --yes to the numbers.")
    return numbered


def _read(ground: Ground, item: Item, message: Message, *, alone: bool) -> Draft | Note | Fault:
    origin = item.name if alone else f"{item.name}:{message.line}"
    made = draft(ground.how, origin, message.data, item.level)
    if isinstance(made, Fault):
        no_diff = made.kind == "not-a-patch" and b"\n@@ " not in message.data and not alone
        if message.is_cover or (no_diff and message.number is None):
            return Note("skipped", "a message without a diff is no patch", origin)
        return made if alone else replace(made, line=(made.line or 1) + message.line - 1, patch=item.name)
    title = ground.how.title or title_of(posixpath.basename(item.name))
    header = titled(made.header, title, f"Imported from {item.name}.")
    return replace(made, header=header, as_it_came=made.as_it_came and header == made.header)

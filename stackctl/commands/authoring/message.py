"""Gets the header of a new patch from its author: words of the command line, or an editor on a terminal.

What was written in the editor is kept in the work tree until the patch is written, so that nobody types it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from stackctl.commands.authoring.editing import MESSAGE, Opened
from stackctl.core.authoring.draft import Signature, draft, header_of, without_comments
from stackctl.core.patches.values import Header
from stackctl.errors import UsageError
from stackctl.ports import Ports

Ask = Callable[[str], None]  # opens a file in the user's editor, and waits


@dataclass(frozen=True)
class Words:
    """What the header of a new patch shall say. `ask`: how to open an editor, when there is a terminal."""

    message: str | None = None
    trailers: Mapping[str, str] = field(default_factory=dict)
    author: str | None = None
    ask: Ask | None = None

    @property
    def given(self) -> dict[str, str]:
        return {key: value for key, value in self.trailers.items() if value}

    @property
    def any(self) -> bool:
        return bool(self.message or self.author or self.given)


def asked(ports: Ports, opening: Opened, words: Words, known: Mapping[str, str], about: tuple[str, ...]) -> Header:
    """The header, by an editor if there is one and no message was given. Raises UsageError without a title."""
    file = f"{opening.place.folder}/{MESSAGE}"
    if words.ask and not words.message:
        if not ports.files.exists(file):
            ports.files.write(file, draft("", {**known, **words.given}, about).encode())
        words.ask(file)
        known = {}
    header = drafted(ports, opening, words, known)
    if header is None:
        name = opening.edit.name
        hint = "Give it with -m, or in the editor of a terminal: the first line is the title."
        raise UsageError(f"the new patch {name} needs a title; nothing is written, and the edit stays open", hint)
    return header


def drafted(ports: Ports, opening: Opened, words: Words, known: Mapping[str, str]) -> Header | None:
    """The header as far as it was said, here or in an editor before; None without a title."""
    by = Signature(words.author or ports.work_trees.author(), ports.clock.now())
    return header_of(words.message or _kept(ports, opening), words.given, known, by)


def _kept(ports: Ports, opening: Opened) -> str:
    file = f"{opening.place.folder}/{MESSAGE}"
    if not ports.files.exists(file):
        return ""
    return without_comments(ports.files.read(file).decode("utf-8", "replace"))

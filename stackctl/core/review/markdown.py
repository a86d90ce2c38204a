"""A difference of queues as a comment for a pull request: a table first, then what can be unfolded.

What a patch says of itself is text from outside: it can neither break the table, nor write to somebody, nor end a
fold. The whole stays below the size that a forge takes; what had to be cut is told, with the command that shows it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Protocol

from stackctl.core.patches.difftext import FileDiff, totals, visible
from stackctl.core.review.compare import Change

LIMIT = 64_900  # bytes of UTF-8; no text of so many bytes has 65,000 characters
TABLE = 24_000  # bytes for the list of patches
TITLE = 120  # characters of a title
RESERVE = 600  # bytes for the last lines
SPECIAL = re.compile(r"([\\`*_\[\]|~$]|^[-+#])")
ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Difference(Protocol):
    """What is told; commands/review/diff.py has it."""

    @property
    def old(self) -> str: ...
    @property
    def new(self) -> str: ...
    @property
    def stack(self) -> str: ...
    @property
    def facts(self) -> tuple[str, ...]: ...
    @property
    def changes(self) -> tuple[Change, ...]: ...
    @property
    def equal(self) -> int: ...
    @property
    def files(self) -> tuple[FileDiff, ...]: ...
    @property
    def elsewhere(self) -> int: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


def markdown(value: Difference) -> str:
    """At most LIMIT bytes."""
    head = "".join(f"{line}\n" for line in [*_head(value), "", *_table(value)])
    folds = [*(fold for one in value.changes if (fold := _change(one))), *_tree(value)]
    texts, cut = [], 0
    for (title, lead, diff), room in zip(folds, _shares(folds, LIMIT - RESERVE - _size(head)), strict=True):
        text, lost = _fold(title, lead, diff, room)
        cut += lost
        texts.append(text)
    tail = f"\n{cut} lines are cut here; this shows all: {_command(value)}\n" if cut else ""
    return head + "".join(texts) + tail


def _shares(folds: Sequence[tuple[str, str, str]], left: int) -> list[int]:
    """Bytes for each: the short ones get what they need, the long ones the rest in equal parts."""
    needs = [_size(_fold(*fold, LIMIT)[0]) for fold in folds]
    shares = [0] * len(folds)
    order = sorted(range(len(folds)), key=needs.__getitem__)
    for done, number in enumerate(order):
        shares[number] = min(needs[number], left // (len(folds) - done))
        left -= shares[number]
    return shares


def _head(value: Difference) -> Iterator[str]:
    yield f"### Patch queue `{_code(value.stack)}`"
    yield ""
    yield f"{escaped(value.old)} → {escaped(value.new)}: {_summary(value)}"
    if value.facts or value.notes:
        yield ""
    yield from (f"- {escaped(fact)}" for fact in value.facts[:40])
    if len(value.facts) > 40:
        yield f"- and {len(value.facts) - 40} more"
    yield from (f"- note: {escaped(note)}" for note in value.notes)


def _summary(value: Difference) -> str:
    words = []
    for kind, word in (
        ("added", "added"), ("dropped", "dropped"), ("changed", "changed"), ("context", "with other context"),
        ("header", "with another header"), ("unknown", "changed, content not known"),
    ):  # fmt: skip
        count = sum(one.kind == kind for one in value.changes)
        words += [f"{count} {word}"] if count else []
    moved = sum(one.moved for one in value.changes)
    words += [f"{moved} moved"] if moved else []
    words += [f"{value.equal} the same"] if value.equal else []
    tree = f"; tree: {totals(value.files)}" if value.files else ""
    return (", ".join(words) or "no patches on either side") + tree + "."


def _table(value: Difference) -> Iterator[str]:
    if not value.changes:
        yield "No patch differs."
        return
    yield "| | place | patch | title | area | lines |"
    yield "|---|---|---|---|---|---|"
    used = 0
    for number, one in enumerate(value.changes):
        row = _row(one)
        used += _size(row) + 1
        if used > TABLE:
            yield ""
            yield f"The table is cut: {len(value.changes) - number} patches more."
            return
        yield row


def _row(one: Change) -> str:
    place = f"{one.old_order} → {one.new_order}" if one.moved else one.new_order or one.old_order
    lines = f"+{one.added} −{one.removed}"
    title, areas = escaped(one.title or "no title"), escaped(", ".join(one.areas))
    return f"| {one.word} | {place} | `{_code(one.name)}` | {title} | {areas} | {lines} |"


def _change(one: Change) -> tuple[str, str, str] | None:
    """Title, lead and diff of a fold; None when there is nothing to unfold."""
    if not one.range_diff and not one.notes:
        return None
    lead = "".join(f"- {escaped(note)}\n" for note in one.notes)
    return f"<code>{_html(one.name)}</code>: {_html(one.said)}", lead, one.range_diff if one.kind != "header" else ""


def _tree(value: Difference) -> list[tuple[str, str, str]]:
    if not value.files:
        return []
    more = f" ({value.elsewhere} files more by the base alone)" if value.elsewhere else ""
    diff = "".join(file.text for file in value.files)
    return [(f"The resulting tree: {_html(totals(value.files))}{more}", "", diff)]


def _fold(title: str, lead: str, diff: str, room: int) -> tuple[str, int]:
    """A folded part of at most `room` bytes, and how many lines of the diff it lacks."""
    diff = ACTS.sub(_seen, diff)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", diff)), default=0))
    lines = re.findall(r"[^\n]*\n|[^\n]+", diff)
    before = f"\n<details><summary>{title}</summary>\n{chr(10) if lead else ''}{lead}"

    def folded(kept: int) -> str:
        lost = len(lines) - kept
        body = "".join(lines[:kept])
        body += "" if body.endswith("\n") else "\n"
        body += f"… {lost} lines more\n" if lost else ""
        return f"{before}\n{fence}diff\n{body}{fence}\n\n</details>\n" if lines else f"{before}\n</details>\n"

    if _size(whole := folded(len(lines))) <= room:
        return whole, 0
    kept = bisect_right(range(len(lines)), room, key=lambda count: _size(folded(count))) - 1
    return (folded(kept), len(lines) - kept) if kept > 0 else ("", max(len(lines), 1))


def escaped(text: str) -> str:
    """Text that shows as it is: no markup, no table cell, nobody who is written to.

    Addresses stay text too: a forge tells the issue that a comment links to, and upstream did not ask for that.
    """
    short = text if len(text) <= TITLE else f"{text[: TITLE - 1]}…"
    shown = _html(visible(short.encode("utf-8", "replace").decode()))
    return re.sub(r"(@|#|://|www\.)", _apart, SPECIAL.sub(r"\\\1", shown))


def _apart(match: re.Match[str]) -> str:
    """A comment between the parts of what a forge would take for a mention, an issue or an address."""
    return f"{match[0][:1]}<!-- -->{match[0][1:]}"


def _html(text: str) -> str:
    text = visible(text.encode("utf-8", "replace").decode())
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _code(text: str) -> str:
    return visible(text).replace("`", "'").replace("|", "\\|")


def _command(value: Difference) -> str:
    sides = [side.partition(" (")[0] for side in (value.old, value.new)]
    words = [value.stack] if value.old.startswith("base ") else sides
    return f"`stackctl patches diff {' '.join(quote(_code(word)) for word in words)}`"


def _seen(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"^{chr(code ^ 64)}" if code < 128 else f"<{code:04X}>"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))

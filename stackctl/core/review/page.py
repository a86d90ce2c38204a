"""The inventory as one page of HTML: no network, no font, no address but the links that patches name themselves.

Titles, messages and diffs are text from outside. The template escapes all of it, and the page's own policy lets no
script and no style run but the two that stackctl ships, each named by its hash.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

import jinja2
from markupsafe import Markup

from stackctl.core.names import PatchName
from stackctl.core.patches.values import FilePatch, Hunk, Patch
from stackctl.core.review.drawing import STYLE
from stackctl.core.review.inventory import LEVELS, Carried, by_area, by_touch
from stackctl.core.review.risk import KINDS
from stackctl.errors import StackctlError, Where

TEMPLATE, STYLES, SCRIPT = "inventory.html.j2", "inventory.css", "inventory.js"
PARTS = (TEMPLATE, STYLES, SCRIPT)
ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SIGNS = {"+": "add", "-": "del", "\\": "mark"}


@dataclass(frozen=True)
class Page:
    """`drawing`: SVG of the graph, made by drawing.py; empty for none. `patches` and `sources` go together."""

    title: str
    base: str
    patches: tuple[Carried, ...]
    sources: tuple[Patch, ...]
    drawing: str
    area: str | None = None


@dataclass(frozen=True)
class Line:
    """`kind`: add, del, same, mark or hunk. `old` and `new`: line numbers of the file; `anchor` for what is cited."""

    kind: str
    text: str
    old: int | None = None
    new: int | None = None
    anchor: str | None = None


@dataclass(frozen=True)
class File:
    path: str
    what: str
    added: int
    removed: int
    lines: tuple[Line, ...]


def page(value: Page, texts: Mapping[str, str]) -> str:
    """`texts`: the PARTS by name. Raises StackctlError with the line of a mistake in the template."""
    style, script = texts[STYLES].strip(), texts[SCRIPT].strip()
    styles = [_digest(style), *([_digest(STYLE)] if value.drawing else [])]
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["seen"] = seen
    file = f"templates/{TEMPLATE}"
    try:
        return environment.from_string(texts[TEMPLATE]).render(
            page=value,
            policy=f"default-src 'none'; style-src {' '.join(styles)}; script-src {_digest(script)}; base-uri 'none'; "
            "form-action 'none'",
            style=Markup(style),
            script=Markup(script),
            drawing=Markup(value.drawing),  # its texts are escaped there
            areas=by_area(value.patches),
            touching=by_touch(value.patches),
            every_area=sorted({area for one in value.patches for area in one.areas}),
            states=sorted({state(one) for one in value.patches}),
            levels=[level for level in LEVELS if any(one.level == level for one in value.patches)],
            kinds=KINDS,
            parts=[(one, tuple(_files(one, patch))) for one, patch in zip(value.patches, value.sources, strict=True)],
            bodies={patch.name: patch.header.body for patch in value.sources},
            anchor=anchor,
            cited=cited,
            state=state,
            words=words,
            is_link=is_link,
        )
    except jinja2.TemplateSyntaxError as error:
        raise StackctlError(error.message or "wrong syntax", where=Where(file, error.lineno)) from error
    except jinja2.TemplateError as error:
        raise StackctlError(str(error.message), where=Where(file)) from error


def anchor(name: PatchName) -> str:
    """The id of a patch in the page; a name may hold nothing that an id may not."""
    return f"patch/{name}"


def cited(name: PatchName, at: int) -> str:
    """The id of a line of a patch file."""
    return f"{anchor(name)}:{at}"


def state(one: Carried) -> str:
    """Of upstream, as a filter names it."""
    return (one.upstream or "not said").lower()


def words(one: Carried) -> str:
    """What the filter by text looks in."""
    texts = (one.name, one.title, one.why, *one.areas, *(file.path for file in one.files), one.author, one.remove_when)
    return " ".join(text for text in texts if text).lower()


def is_link(text: str | None) -> bool:
    """Only what can be nothing but an address of the web."""
    return bool(text and re.fullmatch(r"https://[^\s\"'<>\\]+", text))


def seen(text: object) -> str:
    """What would act on a screen, or turn its direction, as an escape."""
    return ACTS.sub(lambda match: f"<{ord(match[0]):04X}>", str(text))


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def _files(one: Carried, patch: Patch) -> Iterator[File]:
    told = {reason.at for reason in one.reasons if reason.at is not None}
    written = patch.data.split(b"\n")
    for section in patch.files:
        lines = [line for hunk in section.hunks for line in _lines(one.name, hunk, written[hunk.line - 1], told)]
        yield File(section.path, _what(section), section.added, section.removed, tuple(lines))


def _what(section: FilePatch) -> str:
    if section.old is None:
        return "new"
    if section.new is None:
        return "deleted"
    return f"was {section.old}" if section.rename or section.copy else ""


def _lines(name: PatchName, hunk: Hunk, head: bytes, told: set[int]) -> Iterator[Line]:
    yield Line("hunk", head.decode("utf-8", "replace").rstrip("\r"))
    old, new = hunk.old_start, hunk.new_start
    numbers = hunk.numbers or tuple(range(hunk.line + 1, hunk.line + 1 + len(hunk.lines)))
    for raw, at in zip(hunk.lines, numbers, strict=True):
        text = raw.decode("utf-8", "replace")
        sign = text[:1]
        yield Line(
            SIGNS.get(sign, "same"),
            text[1:].removesuffix("\n"),
            None if sign == "+" else old,
            None if sign == "-" else new,
            cited(name, at) if at in told else None,
        )
        if not text.endswith("\n"):
            yield Line("mark", "No newline at end of file")
        old += sign != "+"
        new += sign != "-"

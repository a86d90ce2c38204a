"""Edits the text of a stack file as a careful hand would: the line of one patch, and nothing else.

Comments, order, quoting, spacing and line ends of all other lines stay byte for byte; a comment at the end of a
patch's own line goes with it. Every result is parsed again and must say exactly what was meant. What cannot be
edited so is refused with its place: lists behind an alias or `<<`, names over several lines.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import yaml

from stackctl.core.stack.merge import did_you_mean, dotted
from stackctl.core.stack.rows import BREAK, Item, OddForm, Rows, line_end, line_start, newline_of
from stackctl.core.stack.source import Path, parse
from stackctl.errors import InvalidFile, Problem, Where

BOM = b"\xef\xbb\xbf"
QUEUE_KEYS = ("patches", "append")
ODD = "is written in a form that is not edited safely"
BY_HAND = "edit this part of the file by hand"


@dataclass(frozen=True)
class StackFile:
    """One stack file; `file` is its name as messages show it."""

    file: str
    data: bytes


def names_at(source: StackFile, path: Path) -> tuple[str, ...]:
    """The names of a list that this file has; none where it has no list there."""
    value: object = parse(source.file, source.data).value
    for step in path:
        value = value.get(str(step)) if isinstance(value, dict) else None
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()


def add_patch(source: StackFile, name: str, *, after: str | None = None, before: str | None = None) -> StackFile:
    """The file with one more line: after or before a patch that it lists, else at the end of its own list.

    A file that extends another and has no `patches` gets it in `append`. Raises InvalidFile.
    """

    def act(rows: _Queue) -> None:
        if name in rows.names:
            raise _refused(source, rows.path, f"`{name}` is in the list already", None)
        rows.add(scalar(name), name, after=rows.maybe(after), before=rows.maybe(before))

    return _edited(source, None, act)


def remove_patch(source: StackFile, *names: str) -> StackFile:
    """The file without the lines of these patches. Raises InvalidFile when it does not list one of them."""
    return _edited(source, None, lambda rows: [rows.remove(rows.item(name)) for name in names])


def remove_names(source: StackFile, path: Path, *names: str) -> StackFile:
    """The same for any list of names, such as `without` or `bisect.elements.patches`."""
    return _edited(source, path, lambda rows: [rows.remove(rows.item(name)) for name in names])


def leave_out(source: StackFile, *names: str) -> StackFile:
    """The file with these patches, which it inherits, in `without`."""
    return _edited(source, ("without",), lambda rows: [rows.add(scalar(name), name) for name in names])


def move_patch(source: StackFile, name: str, *, after: str | None = None, before: str | None = None) -> StackFile:
    """The file with the line of `name` right after or before that of another patch of the same list."""

    def act(rows: _Queue) -> None:
        if name in (after, before):
            raise _refused(source, rows.path, f"`{name}` cannot go beside itself", None)
        rows.move(rows.item(name), after=rows.maybe(after), before=rows.maybe(before))

    return _edited(source, None, act)


def scalar(value: str) -> str:
    """How YAML writes this text: plain where that is read back as the same text, else in single quotes."""
    if _is_plain(value):
        return value
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def _is_plain(value: str) -> bool:
    if not re.fullmatch(r"[\w./=+@-]+(?::[\w./=+@-]+)*", value):
        return False
    try:
        return parse("", f"x: [{value}]".encode()).value == {"x": [value]}
    except InvalidFile:
        return False


class _Document:
    """A stack file's text and the nodes of its own keys, as they are written there."""

    def __init__(self, source: StackFile) -> None:
        self.source = source
        self.value = parse(source.file, source.data).value
        self.text = source.data.decode("utf-8-sig")
        self.root = cast(yaml.MappingNode, yaml.compose(self.text, Loader=yaml.SafeLoader) or yaml.MappingNode("", []))

    def entry(self, path: Path) -> tuple[yaml.Node, yaml.Node]:
        """The key and value of a path, each step written in this very file. Raises InvalidFile."""
        key: yaml.Node = self.root
        node: yaml.Node = self.root
        for depth, step in enumerate(path):
            pairs = node.value if isinstance(node, yaml.MappingNode) else []
            found = next(((k, v) for k, v in pairs if k.value == step), None)
            if found is None:
                problem = f"this file does not say `{dotted(path[: depth + 1])}` itself"
                raise _refused(self.source, path[:depth], problem, "edit the file that does")
            if depth:
                self.refuse_indirect(path[:depth], key, node)
            key, node = found
        return key, node

    def refuse_indirect(self, path: Path, key: yaml.Node, node: yaml.Node) -> None:
        """A value that is written elsewhere, or that others take over from here."""
        if node.start_mark.index < key.end_mark.index:
            raise _refused(self.source, path, "the value is an alias of another place", BY_HAND)
        if self.text[node.start_mark.index : node.start_mark.index + 1] == "&":
            raise _refused(self.source, path, "the value has an anchor: a change would reach its aliases too", BY_HAND)

    def rows(self, path: Path) -> _Queue:
        key, node = self.entry(path)
        self.refuse_indirect(path, key, node)
        items: list[Item] = []
        flow = False
        if isinstance(node, yaml.SequenceNode):
            items = [self._item(path, number, item, node) for number, item in enumerate(node.value)]
            flow = bool(node.flow_style)
        elif not isinstance(node, yaml.ScalarNode) or node.value not in ("", "~", "null"):
            raise _refused(self.source, path, "expected a list of names", BY_HAND)
        colon = self.text.index(":", key.end_mark.index) + 1
        indent = self.text[line_start(self.text, key.start_mark.index) : key.start_mark.index]
        return _Queue(
            self.text,
            items,
            colon,
            node.start_mark.index + 1 if flow else None,
            None if indent.strip() else indent + "  ",
        )

    def _item(self, path: Path, number: int, item: yaml.Node, parent: yaml.Node) -> Item:
        start, end = item.start_mark.index, item.end_mark.index
        inside = parent.start_mark.index <= start and end <= parent.end_mark.index
        if not isinstance(item, yaml.ScalarNode) or not inside or BREAK.search(self.text, start, end):
            raise _refused(self.source, (*path, number), "expected a name in one line", BY_HAND)
        return Item(item.value, start, end)


class _Queue(Rows):
    """The rows of one list of one file, found by name."""

    source: StackFile
    path: Path

    def item(self, name: str) -> Item:
        found = next((item for item in self.items if item.name == name), None)
        if found is None:
            message = f"this file lists no patch `{name}`"
            raise _refused(self.source, self.path, message, did_you_mean(name, self.names))
        return found

    def maybe(self, name: str | None) -> Item | None:
        return None if name is None else self.item(name)


def _edited(source: StackFile, path: Path | None, act: Callable[[_Queue], object]) -> StackFile:
    """The file after `act` on the list at `path`, or on its own list of patches, which may have to be made."""
    value = parse(source.file, source.data).value
    key = str(path[0]) if path else _queue_key(value)
    begun = source if key in value or (path and path != ("without",)) else _with_key(source, key)
    rows = _Document(begun).rows(path or (key,))
    rows.source, rows.path = source, path or (key,)
    try:
        act(rows)
    except OddForm:
        raise _refused(source, rows.path, ODD, BY_HAND) from None
    return _checked(source, rows.text, rows.path, rows.names)


def _queue_key(value: dict[str, object]) -> str:
    said = next((key for key in QUEUE_KEYS if key in value), None)
    return said or ("append" if value.get("extends") else "patches")


def _with_key(source: StackFile, key: str) -> StackFile:
    """The file with an empty list under a new key, behind `extends` or `base`, else at its end."""
    document = _Document(source)
    text, root = document.text, document.root
    if root.flow_style:
        raise _refused(source, (), f"a list `{key}` cannot be added inside of {{}}", BY_HAND)
    neighbour = "base" if key == "patches" else "extends"
    after = next((node for one, node in root.value if one.value == neighbour), None)
    end = line_end(text, _last(after)) if after else len(text.rstrip("\r\n"))
    indent = " " * root.start_mark.column if root.value else ""
    new = text[:end] + (newline_of(text) if end else "") + f"{indent}{key}: []" + text[end:]
    return StackFile(source.file, _encoded(source, new))


def _last(node: yaml.Node) -> int:
    """The end of what is written last in a node; a block's own end lies behind blank lines and comments."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    inner = [one for pair in node.value for one in pair] if isinstance(node, yaml.MappingNode) else node.value
    return max(_last(one) for one in inner)


def _checked(source: StackFile, text: str, path: Path, wanted: object) -> StackFile:
    """The edited file, if it now says what it said before, and `wanted` at `path`; else it is refused."""
    expected = copy.deepcopy(parse(source.file, source.data).value)
    place = expected
    for step in path[:-1]:
        inner = place[str(step)]
        assert isinstance(inner, dict)
        place = inner
    place[str(path[-1])] = wanted
    made = StackFile(source.file, _encoded(source, text))
    try:
        agrees = parse(made.file, made.data).value == expected
    except InvalidFile:
        agrees = False
    if not agrees:
        raise _refused(source, path, ODD, BY_HAND)
    return made


def _encoded(source: StackFile, text: str) -> bytes:
    return (BOM if source.data.startswith(BOM) else b"") + text.encode()


def _refused(source: StackFile, path: Path, message: str, hint: str | None) -> InvalidFile:
    marks = parse(source.file, source.data).marks
    mark = next((marks[path[:n]] for n in range(len(path), 0, -1) if path[:n] in marks), None)
    return InvalidFile([Problem(message, mark.key if mark else Where(source.file), dotted(path) or None, hint)])

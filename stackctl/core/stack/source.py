"""Strict YAML with the place of every key and value.

Only whole numbers, true/false and null are more than text: `no`, `1.10`, `0755` and `12:30` stay what was typed.
It refuses duplicate keys (both lines), tags, several documents, keys that are no text, and files that refer to
themselves. It knows no key of a stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from stackctl.errors import InvalidFile, Problem, Where

Path = tuple[str | int, ...]
TAG = "tag:yaml.org,2002:"
MAX_NODES = 100_000  # aliases can multiply: a few lines may mean millions of values
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})$")
REMARK = re.compile(r"((?:^|\S\s+)\s*)#\s*stackctl:\s*(.*?)\s*$")
COMMENT = re.compile(r"(?:^|\s)#")


@dataclass(frozen=True)
class Mark:
    """Where a key stands and where its value begins; for an item of a list both are the item."""

    key: Where
    value: Where


@dataclass(frozen=True)
class Remark:
    """A comment that begins with `stackctl:`, and the line of values that it is about: its own, or the next one."""

    text: str  # behind `stackctl:`
    where: Where
    line: int


@dataclass(frozen=True)
class Document:
    """A parsed file: plain values, the mark of every path in it, and comments that are for us."""

    file: str
    value: dict[str, object]
    marks: Mapping[Path, Mark] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()


def parse(file: str, data: bytes) -> Document:
    """Read one file. Raises InvalidFile with every mistake that can be told apart from the others."""
    loader = None
    try:
        loader = _Loader(data.decode("utf-8-sig"))
        node = loader.get_single_node()
    except UnicodeDecodeError as error:
        raise _refused(file, f"not UTF-8: byte {error.start} is 0x{data[error.start]:02x}") from None
    except yaml.MarkedYAMLError as error:
        raise InvalidFile([_syntax(file, error)]) from None
    except yaml.reader.ReaderError as error:
        line = data.decode("utf-8-sig")[: error.position].count("\n") + 1
        raise InvalidFile([Problem(f"not allowed in YAML: {error.reason}", Where(file, line))]) from None
    except RecursionError:
        raise _refused(file, "nested too deeply") from None
    finally:
        if loader is not None:
            loader.dispose()
    builder = _Builder(file)
    value = builder.build(node, ()) if node is not None else {}
    for first, again in loader.duplicates:
        builder.refuse(again, f"key `{again.value}` is given twice, first in line {first.start_mark.line + 1}")
    if node is not None and not isinstance(value, dict):
        builder.refuse(node, "expected a mapping of keys at the top")
    if builder.problems:
        raise InvalidFile(in_order(builder.problems))
    return Document(file, value if isinstance(value, dict) else {}, builder.marks, _remarks(file, data))


def _remarks(file: str, data: bytes) -> tuple[Remark, ...]:
    """A comment that stands alone is about the next line that is none."""
    if b"stackctl:" not in data:
        return ()
    lines = data.decode("utf-8-sig").splitlines()
    found = []
    for number, text in enumerate(lines, 1):
        match = REMARK.search(text)
        if match is None or COMMENT.search(text[: match.end(1)]):  # quoted in another comment
            continue
        below = number
        while below < len(lines) and lines[below - 1].lstrip().startswith("#"):
            below += 1
        found.append(Remark(match[2], Where(file, number, match.end(1) + 1), below))
    return tuple(found)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """By file, line and column; what has no place comes last."""
    return sorted(problems, key=_order)


def _order(problem: Problem) -> tuple[bool, str, int, int]:
    where = problem.where or Where("")
    return problem.where is None, where.file, where.line or 0, where.column or 0


def _refused(file: str, message: str) -> InvalidFile:
    return InvalidFile([Problem(message, Where(file))])


def _syntax(file: str, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    message = " ".join(part for part in (error.context, error.problem) if part) or "not YAML"
    hint = "indent with spaces, not tabs" if "\\t" in message else None
    if "expected a single document" in message:
        message, hint = "expected one document, found a second (`---`)", None
    return Problem(message, Where(file, mark.line + 1, mark.column + 1) if mark else Where(file), hint=hint)


class _Loader(yaml.SafeLoader):
    """Composes nodes only; resolves no more than the four plain kinds and `<<`."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (PyYAML's own shape)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.duplicates: list[tuple[yaml.ScalarNode, yaml.ScalarNode]] = []

    def compose_mapping_node(self, anchor: dict[object, yaml.Node]) -> yaml.MappingNode:
        """Here and not later: `<<` has not been expanded yet, so that its overrides are no duplicates."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: dict[str, yaml.ScalarNode] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                self.duplicates.append((seen[key.value], key))
            seen.setdefault(key.value, key)
        return node


for _kind, _pattern, _first in (
    ("bool", r"(?:true|false)$", "tf"),
    ("null", r"(?:~|null|)$", ["~", "n", ""]),
    ("int", INTEGER.pattern, "-0123456789"),
    ("merge", r"<<$", "<"),
):
    _Loader.add_implicit_resolver(TAG + _kind, re.compile(_pattern), list(_first))


class _Builder:
    """Turns nodes into plain values and writes down their places."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.marks: dict[Path, Mark] = {}
        self.problems: list[Problem] = []
        self._open: set[int] = set()
        self._count = 0

    def build(self, node: yaml.Node, path: Path) -> object:
        self._count += 1
        if self._count > MAX_NODES or id(node) in self._open:
            self._refuse_endless(node)
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if not node.tag.startswith(TAG) or node.tag[len(TAG) :] not in ("map", "seq"):
            self.refuse(node, f"tag {node.tag.replace(TAG, '!!')} is not allowed")
            return None
        self._open.add(id(node))
        value = self._mapping(node, path) if isinstance(node, yaml.MappingNode) else self._sequence(node, path)
        self._open.discard(id(node))
        return value

    def refuse(self, node: yaml.Node, message: str) -> None:
        self.problems.append(Problem(message, self._where(node)))

    def _refuse_endless(self, node: yaml.Node) -> None:
        """Once: what follows is the same fault again."""
        message = "refers to itself" if id(node) in self._open else f"aliases make over {MAX_NODES} values"
        if not any(problem.message == message for problem in self.problems):
            self.refuse(node, message)

    def _where(self, node: yaml.Node) -> Where:
        return Where(self.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def _scalar(self, node: yaml.ScalarNode) -> object:
        text: str = node.value
        match node.tag.removeprefix(TAG):
            case "str":
                return text
            case "bool" if text in ("true", "false"):
                return text == "true"
            case "null" if text in ("", "~", "null"):
                return None
            case "int" if INTEGER.match(text):
                return int(text)
            case _:
                self.refuse(node, f"tag {node.tag.replace(TAG, '!!')} is not allowed here")
                return None

    def _sequence(self, node: yaml.Node, path: Path) -> list[object]:
        items: list[object] = []
        for index, item in enumerate(node.value):
            self.marks[(*path, index)] = Mark(self._where(item), self._where(item))
            items.append(self.build(item, (*path, index)))
        return items

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, object]:
        result: dict[str, object] = {}
        for key, value in self._pairs(node):
            here = (*path, key.value)
            for stale in [p for p in self.marks if p[: len(here)] == here] if key.value in result else []:
                del self.marks[stale]
            self.marks[here] = Mark(self._where(key), self._where(value))
            result[key.value] = self.build(value, here)
        return result

    def _pairs(self, node: yaml.Node) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        """What `<<` brings first, lowest precedence first, then the mapping's own keys."""
        own = []
        for key, value in node.value:
            if key.tag == TAG + "merge":
                sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
                for source in reversed(sources):
                    yield from self._merged(node, source)
            elif isinstance(key, yaml.ScalarNode):
                own.append((key, value))
            else:
                self.refuse(key, "a key must be plain text")
        yield from own

    def _merged(self, node: yaml.Node, source: yaml.Node) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        if not isinstance(source, yaml.MappingNode) or source is node or id(source) in self._open:
            self.refuse(source, "`<<` wants a mapping, or a list of them")
            return
        self._count += 1
        if self._count > MAX_NODES:
            self._refuse_endless(source)
            return
        self._open.add(id(source))
        yield from self._pairs(source)
        self._open.discard(id(source))

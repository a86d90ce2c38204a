"""`extends`: one stack out of a chain of files, every value with the place it came from.

Maps merge, lists replace, null deletes, keys that begin with `x-` are ignored; `without` and `append` shorten and
lengthen the inherited queue. It reads no file: the caller brings the chain, the base first.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from stackctl.core.stack.source import Document, Mark, Path, Remark
from stackctl.errors import Problem, Where

OWN = ("stack", "default", "extends", "without", "append")  # said by a file of itself, never inherited


@dataclass(frozen=True)
class Merged:
    """`file`: the stack file itself, as it is shown. `folders`: shown file -> the folder its paths begin at."""

    file: str
    value: dict[str, object]
    marks: Mapping[Path, Mark] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    folders: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()

    def where(self, path: Path) -> Where:
        """The place of a key; of its nearest parent when it is not written anywhere."""
        while path:
            if path in self.marks:
                return self.marks[path].key
            path = path[:-1]
        return Where(self.file)

    def value_where(self, path: Path) -> Where:
        return self.marks[path].value if path in self.marks else self.where(path)

    def folder(self, path: Path) -> str:
        """The folder of the file that says this value."""
        return self.folders.get(self.where(path).file, "")

    def problem(self, path: Path, message: str, hint: str | None = None) -> Problem:
        return Problem(message, self.where(path), dotted(path) or None, hint)


def dotted(path: Iterable[str | int]) -> str:
    """`roles.decode.1.port`"""
    return ".".join(str(step) for step in path)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint with the nearest of the known words, or none rather than a bad one."""
    near = difflib.get_close_matches(word, sorted(known), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else None


def extends_of(document: Document) -> tuple[str | None, Problem | None]:
    """The file that this one extends, as written there."""
    value = document.value.get("extends")
    if value is None or (isinstance(value, str) and value):
        return value, None
    where = document.marks[("extends",)].value
    return None, Problem("expected the name of one file", where, "extends")


def merge(chain: Sequence[Document], folders: Mapping[str, str]) -> Merged:
    """`chain`: the most basic file first, the stack file last."""
    value: dict[str, object] = {}
    marks: dict[Path, Mark] = {}
    problems: list[Problem] = []
    for number, document in enumerate(chain):
        layer = _Layer(document, inherits=number > 0)
        for key in OWN:
            _delete(value, marks, (key,))
        value, marks = layer.over(value, marks)
        problems.extend(layer.problems)
    remarks = tuple(remark for document in chain for remark in document.remarks)
    return Merged(chain[-1].file, value, marks, tuple(problems), folders, remarks)


class _Layer:
    """One file, laid over what it extends."""

    def __init__(self, document: Document, *, inherits: bool) -> None:
        self._document = document
        self._inherits = inherits
        self.problems: list[Problem] = []

    def over(self, base: dict[str, object], marks: dict[Path, Mark]) -> tuple[dict[str, object], dict[Path, Mark]]:
        marks = dict(marks)
        value = self._mapping(base, self._document.value, (), marks)
        self._queue(value, marks)
        return value, marks

    def _mapping(
        self, base: Mapping[str, object], top: Mapping[str, object], path: Path, marks: dict[Path, Mark]
    ) -> dict[str, object]:
        result = dict(base)
        for key, new in top.items():
            here = (*path, key)
            if key.startswith("x-"):
                continue
            old = result.get(key)
            if new is None:
                _delete(result, marks, here)
                continue
            if not (isinstance(old, dict) and isinstance(new, dict)):
                _forget(marks, here)
                old = {}
            marks[here] = self._document.marks[here]
            result[key] = self._value(old, new, here, marks)
        return result

    def _value(self, old: dict[str, object], value: object, path: Path, marks: dict[Path, Mark]) -> object:
        """A list or a scalar is taken whole, but `x-` keys inside of a list's mappings go too."""
        if isinstance(value, dict):
            return self._mapping(old, value, path, marks)
        if not isinstance(value, list):
            return value
        items: list[object] = []
        for index, item in enumerate(value):
            here = (*path, index)
            marks[here] = self._document.marks[here]
            items.append(self._value({}, item, here, marks))
        return items

    def _queue(self, value: dict[str, object], marks: dict[Path, Mark]) -> None:
        """Apply `without` and `append` to `patches`."""
        without, append = self._names("without"), self._names("append")
        value.pop("without", None)
        value.pop("append", None)
        if not (without or append):
            return
        if not self._inherits:
            self._refuse(("without" if without else "append",), "only beside `extends`")
            return
        if "patches" in self._document.value:
            self._refuse(("patches",), "give either the whole list, or `without` and `append`")
            return
        inherited = value.get("patches")
        names = inherited if isinstance(inherited, list) else []
        for index, name in without:
            if name not in names:
                hint = did_you_mean(name, [n for n in names if isinstance(n, str)])
                self._refuse(("without", index), f"no inherited patch is called `{name}`", hint)
        gone = {name for _, name in without}
        kept = [(name, marks[("patches", i)]) for i, name in enumerate(names) if name not in gone]
        added = [(name, self._document.marks[("append", index)]) for index, name in append]
        place = marks.get(("patches",)) or self._document.marks[("append",) if append else ("without",)]
        _forget(marks, ("patches",))
        marks[("patches",)] = place
        value["patches"] = [name for name, _ in kept + added]
        marks.update({("patches", i): mark for i, (_, mark) in enumerate(kept + added)})

    def _names(self, key: str) -> list[tuple[int, str]]:
        value = self._document.value.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            self._refuse((key,), "expected a list of patch names")
            return []
        return list(enumerate(value))

    def _refuse(self, path: Path, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(message, self._document.marks[path].key, dotted(path), hint))


def _delete(value: dict[str, object], marks: dict[Path, Mark], path: Path) -> None:
    value.pop(str(path[-1]), None)
    _forget(marks, path)


def _forget(marks: dict[Path, Mark], path: Path) -> None:
    for known in [mark for mark in marks if mark[: len(path)] == path]:
        del marks[known]

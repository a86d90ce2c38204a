"""Hints that a patch may need another though no line of theirs touches: it uses a Python name that the other adds.

A hint is no need: nothing is left out or moved because of it, it says where a `Needs:` may be missing. It would rather
be silent than wrong: the name must be new in every file that the two patches touch, bound by one patch alone, and both
lines must still be in the result. Whether the rest of the tree has the name as well is for the caller to ask.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from stackctl.core.names import PatchName
from stackctl.core.patches.apply import Text
from stackctl.core.patches.state import State
from stackctl.core.patches.values import Patch

SHORTEST = 4  # characters; shorter names are everywhere
BOUND = re.compile(rb"(?:def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=,()\n]+)?=(?!=)")  # what looks like it
WORD = re.compile(rb"[A-Za-z_]\w+")


@dataclass(frozen=True)
class Hint:
    """`patch` uses `name`, which `adds` binds. Files are of the tree, lines of it after the whole queue, from 1."""

    patch: PatchName
    adds: PatchName
    name: str
    file: str
    line: int
    bound_in: str
    bound_at: int


def hints(patches: Sequence[Patch], state: State) -> tuple[Hint, ...]:
    """One a pair of patches and name, in the order of the queue. `state`: the files after all of them."""
    makers = _makers(patches)
    words = {patch.name: _words(patch) for patch in patches}
    trees = _Trees(state)
    found: list[Hint] = []
    for name in sorted(makers):
        users = [patch for patch in patches if name in words[patch.name]]
        if len(users) > 1 and not _was_there(name, users, state):
            found += trees.hints(name, makers[name], users)
    place = {patch.name: at for at, patch in enumerate(patches)}
    return tuple(sorted(found, key=lambda hint: place[hint.patch]))


def _makers(patches: Sequence[Patch]) -> dict[str, list[Patch]]:
    """Names that added lines bind, by the look of them; the syntax decides later."""
    found: dict[str, list[Patch]] = {}
    for patch in patches:
        for name in {name for lines in _python(patch) for name in _bound(lines)}:
            found.setdefault(name, []).append(patch)
    return found


def _bound(lines: bytes) -> Iterator[str]:
    for match in BOUND.finditer(lines):
        name = match[1] or match[2]
        if len(name) >= SHORTEST and not name.startswith(b"__") and name.isascii():
            yield name.decode()


def _words(patch: Patch) -> set[str]:
    """Every word of the added lines of Python files."""
    return {word.decode() for lines in _python(patch) for word in WORD.findall(lines) if word.isascii()}


def _python(patch: Patch) -> Iterator[bytes]:
    """The added lines of each Python file."""
    for section in patch.files:
        if section.path.endswith(".py"):
            yield b"".join(line for hunk in section.hunks for line in hunk.lines if line.startswith(b"+"))


def _was_there(name: str, patches: Iterable[Patch], state: State) -> bool:
    """Whether a file of the base that one of these patches touches has the word already."""
    word = re.compile(rb"\b%s\b" % name.encode())
    paths = {path for patch in patches for section in patch.files for path in (section.old, section.new) if path}
    return any(word.search(state.base.contents.get(path, b"")) for path in paths)


@dataclass
class _Names:
    """Lines of one file: where each name is bound for others to see, where for a function alone, where it is used."""

    open: dict[str, list[int]] = field(default_factory=dict)
    local: dict[str, list[int]] = field(default_factory=dict)
    used: dict[str, list[int]] = field(default_factory=dict)


class _Trees:
    """The syntax of the files that the queue leaves; each is read once, and only when it is asked for."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._names: dict[str, _Names] = {}

    def hints(self, name: str, makers: Sequence[Patch], users: Sequence[Patch]) -> Iterator[Hint]:
        """None when several patches bind the name, or none does."""
        bound = {patch.name: self._first(patch, lambda names: names.open.get(name, [])) for patch in makers}
        binders = [(patch, place) for patch, place in bound.items() if place]
        if len(binders) != 1:
            return
        maker, place = binders[0]
        for user in users:
            used = self._first(user, lambda names: names.used.get(name, []))
            own = self._first(user, lambda names: names.local.get(name, []))
            if used and not own and user.name != maker:
                yield Hint(user.name, maker, name, *used, *place)

    def _first(self, patch: Patch, lines: Callable[[_Names], Sequence[int]]) -> tuple[str, int] | None:
        """The first of these lines that the patch wrote."""
        for path in dict.fromkeys(section.path for section in patch.files):
            text = self._state.texts.get(path)
            if text and path.endswith(".py"):
                for line in lines(self._of(path, text)):
                    if text.owners[line - 1] == patch.name:
                        return path, line
        return None

    def _of(self, path: str, text: Text) -> _Names:
        if path not in self._names:
            self._names[path] = _names_of(text.data())
        return self._names[path]


def _names_of(data: bytes) -> _Names:
    """A file that is no Python has none."""
    names = _Names()
    try:
        todo: list[tuple[ast.AST, bool]] = [(ast.parse(data), False)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return names
    while todo:
        node, inside = todo.pop()
        for name, line, side in _names_in(node, inside):
            getattr(names, side).setdefault(name, []).append(line)
        inside = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        todo += [(child, inside) for child in ast.iter_child_nodes(node)]
    return names


def _names_in(node: ast.AST, inside: bool) -> Iterator[tuple[str, int, str]]:
    """A name, its line, and which side of `_Names` it belongs to. `inside`: of a function."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name, node.lineno, "local" if inside else "open"
        case ast.Name():
            yield node.id, node.lineno, "used" if isinstance(node.ctx, ast.Load) else "local" if inside else "open"
        case ast.Attribute():
            yield node.attr, node.end_lineno or node.lineno, "used" if isinstance(node.ctx, ast.Load) else "open"
        case ast.arg():  # a caller says it by name
            yield node.arg, node.lineno, "open"
        case ast.alias():
            yield node.name.rpartition(".")[2], node.lineno, "used"
        case ast.keyword() if node.arg:
            yield node.arg, node.lineno, "used"

"""Reads modules of a tree as far as their meaning needs no running of them: names, imports, lists, small functions.

It is an interpreter of the little that declares a command line, in a process that has just started: no environment
variable is set and nothing else is imported. Whatever is outside of the tree is a name, and what cannot be known is
Unknown. It opens nothing, imports nothing, and comes to an end whatever it is given (limits.py).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stackctl.core.upstream.static import binding, expressions, statements
from stackctl.core.upstream.static.limits import DEPTH, FREE, KEPT, LARGEST, LONGEST_FILE, STEPS
from stackctl.core.upstream.static.values import (
    TOO_LARGE,
    Class,
    External,
    Function,
    Later,
    Lazy,
    Module,
    Recorder,
    Scope,
    Unknown,
    weight,
)

Intrinsic = Callable[["Machine", Sequence[Any], Mapping[str, Any], str], Any]


class Machine:
    """`files`: path in the tree -> source, with `python/` as the root that imports begin at.

    `intrinsics`: functions of the tree, by name, that are known by what they do and are not followed.
    """

    def __init__(
        self, files: Mapping[str, bytes], root: str = "python/", intrinsics: Mapping[str, Intrinsic] | None = None
    ) -> None:
        self._files, self._root = files, root
        self.intrinsics = dict(intrinsics or {})
        self._modules: dict[str, Module | None] = {}
        self._packages: set[str] | None = None
        self._steps = self._depth = self._kept = 0
        self.faults: list[str] = []
        self.parsers: list[Recorder] = []  # every ArgumentParser that was made, in order

    # --- modules and names -----------------------------------------------------------------------------------------

    def module(self, name: str) -> Module | None:
        """A module of the tree, read down to its end; None when there is none of that name, or it does not parse."""
        if name not in self._modules:
            self._modules[name] = None
            base = self._root + name.replace(".", "/")
            path = next((one for one in (f"{base}.py", f"{base}/__init__.py") if one in self._files), None)
            tree = self.parsed(path) if path is not None and self._may_keep(path) else None
            if path is not None and tree is not None:
                made = Module(name, path, tree, {"__name__": name})
                self._modules[name] = made
                self._run_module(made)
        return self._modules[name]

    def _may_keep(self, path: str) -> bool:
        self._kept += len(self._files[path])
        if self._kept > KEPT:
            self.faults.append(f"{path} is not followed: too much is followed already")
        return self._kept <= KEPT

    def _run_module(self, made: Module) -> None:
        try:
            statements.run(self, made.tree.body, Scope(made, made.names))
        except RecursionError:
            self.faults.append(f"{made.path} goes too deep to follow: what stands behind is not known")

    def parsed(self, path: str) -> ast.Module | None:
        """The syntax tree of a file; None, and a sentence in `faults`, when it has none.

        It is not kept, beside those of modules: so many objects that live on cost more than parsing a file twice.
        """
        if len(self._files[path]) > LONGEST_FILE:
            self.faults.append(f"{path} is too long to be read: {len(self._files[path])} bytes")
            return None
        try:
            return ast.parse(self._files[path])
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.faults.append(f"{path} is no Python that can be read: {error}")
            return None

    def has_package(self, name: str) -> bool:
        """Whether a dotted name is a module or package of the tree."""
        if self._packages is None:
            files = [path.removeprefix(self._root).removesuffix(".py").split("/") for path in self._files]
            self._packages = {".".join(parts[:end]) for parts in files for end in range(1, len(parts) + 1)}
        return name in self._packages

    def lookup(self, name: str, scope: Scope | None) -> Any:
        """The value of a name where it is written."""
        start = scope
        while scope is not None:
            if name in scope.names:
                return self.settled(scope.names, name)
            scope = scope.outer
        assert start is not None
        if name in start.module.names:
            return self.settled(start.module.names, name)
        return expressions.builtin(name) or Unknown(f"the name {name}")

    def settled(self, names: dict[str, Any], name: str) -> Any:
        """The value of a name in a table, where an import is followed now."""
        value = names[name]
        if isinstance(value, Lazy):
            names[name] = Unknown(f"{name}, which is imported in a circle")
            value = names[name] = self.imported(value)
        elif isinstance(value, Later):
            names[name] = Unknown(f"{name}, which needs itself")
            value = names[name] = self.value(value.node, value.scope)
        return value

    def imported(self, lazy: Lazy) -> Any:
        module = self.module(lazy.module)
        if not lazy.name:
            return module or External(lazy.module)
        if module is not None and lazy.name in module.names:
            return self.settled(module.names, lazy.name)
        inner = self.module(f"{lazy.module}.{lazy.name}")
        if inner is not None:
            return inner
        if module is not None:
            return Unknown(f"{lazy.module} has no {lazy.name}")
        return External(f"{lazy.module}.{lazy.name}")

    # --- classes ---------------------------------------------------------------------------------------------------

    def body(self, one: Class) -> dict[str, Any]:
        """Names of a class's own body."""
        if not one.ran:
            one.ran = True
            statements.run(self, one.node.body, Scope(one.scope.module, one.body, one.scope, of_class=True))
        return one.body

    def bases(self, one: Class) -> tuple[Any, ...]:
        if one.bases is None:
            one.bases = tuple(self.value(base, one.scope) for base in one.node.bases)
        return one.bases

    def line(self, one: Class) -> tuple[Class, ...]:
        """The class and those of the tree that it comes from, nearest first."""
        found: dict[Class, None] = {}
        waiting = [one]
        while waiting and self.spend():
            each = waiting.pop()
            if each not in found:
                found[each] = None
                waiting += [base for base in reversed(self.bases(each)) if isinstance(base, Class)]
        return tuple(found)

    def outside(self, one: Class) -> tuple[str, ...]:
        """Names of the classes outside of the tree that it comes from."""
        return tuple(base.name for each in self.line(one) for base in self.bases(each) if isinstance(base, External))

    def member(self, one: Class, name: str) -> Any:
        """An attribute as the class and its bases say it; None when they do not."""
        for each in self.line(one):
            if name in self.body(each):
                return self.settled(self.body(each), name)
        return None

    # --- running ---------------------------------------------------------------------------------------------------

    def spend(self, steps: int = 1) -> bool:
        """Whether there are that many left; the first time that there are not is a fault."""
        before = self._steps
        self._steps += steps
        if before <= STEPS < self._steps:
            self.faults.append("there is more than can be followed: what stands behind is not known")
        return self._steps <= STEPS

    def value(self, node: ast.expr | None, scope: Scope) -> Any:
        """What an expression means there."""
        if node is None:
            return None
        if not self.spend():
            return TOO_LARGE
        reader = expressions.READERS.get(type(node))
        if reader is None:
            return Unknown(f"{type(node).__name__} at {place(node, scope)}")
        try:
            found = reader(self, node, scope)
        except RecursionError:
            return Unknown("what goes too deep to follow")
        size = weight(found)
        return found if self.spend(size // FREE) and size <= LARGEST else TOO_LARGE

    def run(self, function: Function, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """What a function of the tree returns."""
        if self._depth > DEPTH:
            return Unknown("calls that go too deep")
        if function.bound is not None:
            arguments = (function.bound, *arguments)
        scope = Scope(function.scope.module, {}, function.scope)
        fault = binding.bind(self, function, arguments, named, scope)
        if fault:
            return fault
        self._depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body, scope)
            signal = statements.run(self, function.node.body, scope)
        finally:
            self._depth -= 1
        return signal.value if isinstance(signal, statements.Returned) else None


def place(node: ast.AST, scope: Scope) -> str:
    return f"{scope.module.path}:{getattr(node, 'lineno', 0)}"

"""The command line of an engine that is not sglang: the argparse parser that its served module makes.

The function that makes it is found through the module's own imports, nearest first, and followed like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stackctl.core.upstream.static.calls import invoke
from stackctl.core.upstream.static.machine import Machine
from stackctl.core.upstream.static.statements import source_of
from stackctl.core.upstream.static.values import Function, Module, Recorder

SIGNS = ("ArgumentParser", "add_argument")


def parser_of(machine: Machine, engine_module: str) -> Recorder:
    """The parser, with what was added to it; an empty one that says why when none is found."""
    for module in _reached(machine, engine_module):
        _make(machine, module)
    found: dict[tuple[object, ...], Recorder] = {}
    for one in machine.parsers:
        found.setdefault(tuple(each.names for each in one.added), one)
    found.pop((), None)
    if not found:
        return Recorder(lost=[f"{engine_module}: no argparse parser is found in what it imports"])
    nearest = next(iter(found.values()))
    if len(found) > 1:
        nearest.lost.append(f"{engine_module}: {len(found)} parsers are found; this is the nearest one")
    return nearest


def _reached(machine: Machine, name: str) -> Iterator[Module]:
    """The served module and those of its own package that it imports, nearest first."""
    package = name.partition(".")[0]
    waiting, seen = [name, f"{name}.__main__"], {name, f"{name}.__main__"}
    while waiting:
        module = machine.module(waiting.pop(0))
        if module is None:
            continue
        yield module
        for found in _imports(module):
            if found.partition(".")[0] == package and found not in seen:
                seen.add(found)
                waiting.append(found)


def _imports(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom):
            source = source_of(node, module)
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _make(machine: Machine, module: Module) -> None:
    """Runs the functions of a module that make a parser; what its own lines make is there already."""
    for node in module.tree.body:
        function = module.names.get(getattr(node, "name", ""))
        if isinstance(node, ast.FunctionDef) and _makes(node) and isinstance(function, Function):
            invoke(machine, function, (), {}, module.path)


def _makes(node: ast.FunctionDef) -> bool:
    calls = (inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return any(getattr(one, "attr", getattr(one, "id", "")) in SIGNS for one in calls)

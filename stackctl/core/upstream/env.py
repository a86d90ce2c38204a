"""Environment variables that a tree reads: those of its registry, those read on the spot, and the deprecated ones.

Names that are put together at run time cannot be seen. Tests and the diffusion engine are left out: what only they read
does nothing for a language model.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stackctl.core.upstream.static.machine import Machine
from stackctl.core.upstream.static.values import Class, Function, Instance, Module, Scope, dotted, unknown_in
from stackctl.core.upstream.values import EnvKind, EnvVar

ENVIRON = "sglang.srt.environ"
PACKAGE = "python/sglang/"
LEFT_OUT = ("python/sglang/test/", "python/sglang/multimodal_gen/")
KINDS: dict[str, EnvKind] = {
    "EnvBool": "bool", "EnvInt": "int", "EnvFloat": "float", "EnvStr": "str", "EnvTuple": "tuple", "EnvJSON": "json",
}  # fmt: skip
READS = re.compile(rb"env(?:iron\b(?! import)|_\w*\(|\()")  # begins with a literal: quick on what has none
ASKS = re.compile(r"(^|_)(getenv|env)(_|$)")
NAME = re.compile(r"^[A-Z][A-Z0-9_]+$")
FLAG = re.compile(r"--[a-z0-9][\w-]+(?:=\w+)?")
DIRECT = {"getenv", "get_bool_env_var", "get_int_env_var"}
ON_ENVIRON = {"get", "pop", "setdefault"}


def is_scanned(path: str) -> bool:
    """Whether a file of sglang's tree is read for its variables (its own package, without tests and diffusion)."""
    return path.startswith(PACKAGE) and path.endswith(".py") and not path.startswith(LEFT_OUT) and "/tests/" not in path


def environment(machine: Machine, files: Mapping[str, bytes]) -> tuple[dict[str, EnvVar], tuple[str, ...]]:
    """Every variable by name, and sentences for what could not be read."""
    module = machine.module(ENVIRON)
    if module is None:
        return {}, (f"{ENVIRON} is not there or cannot be read: its variables are not known",)
    registered = _registry(machine, module)
    found = {one.name: one for one in registered}
    for old, new in _deprecated(machine, module).items():
        like = found.get(old) or found.get(new or "") or EnvVar(old, "deprecated")
        found[old] = EnvVar(old, "deprecated", like.kind, like.default, new, registered=old in found)
    for name, read in sorted(_read_on_the_spot(machine, files).items()):
        found.setdefault(name, EnvVar(name, "ad hoc", read.kind, indirect=read.indirect))
    return found, () if registered else (f"{ENVIRON}: no registry of variables can be read",)


def _registry(machine: Machine, module: Module) -> list[EnvVar]:
    one = module.names.get("Envs")
    if not isinstance(one, Class):
        return []
    found = {}
    for each in reversed(machine.line(one)):
        for name, value in machine.body(each).items():
            if isinstance(value, Instance) and any(kind in KINDS for kind in _line(machine, value.of)):
                found[name] = _variable(machine, name, value)
    return list(found.values())


def _variable(machine: Machine, name: str, value: Instance) -> EnvVar:
    kind = next(KINDS[each] for each in _line(machine, value.of) if each in KINDS)
    default = value.fields.get("default")
    known = isinstance(default, str | int | float | tuple | None) and unknown_in(default) is None
    return EnvVar(name, "registry", kind, None if default is None or not known else str(default), registered=True)


def _line(machine: Machine, one: Class) -> tuple[str, ...]:
    return tuple(each.name for each in machine.line(one))


def _deprecated(machine: Machine, module: Module) -> dict[str, str | None]:
    """Old name -> the variable or flag that took over, None when there is none, in all ways of saying it."""
    found: dict[str, str | None] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 0:
            for old, new in _told(module, node.func.id, [getattr(one, "value", None) for one in node.args]):
                found.setdefault(old, new)  # what the file's own lines say comes first, and they name flags
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if "deprecated" in dotted(target).lower():
                found.update(_table(machine, module, node.value))
    envs = module.names.get("Envs")
    for name, value in machine.body(envs).items() if isinstance(envs, Class) else ():
        alias = value.fields.get("deprecated_name") if isinstance(value, Instance) else None
        if isinstance(alias, str):
            found[alias] = name
    return found


def _told(module: Module, function: str, texts: list[Any]) -> Iterator[tuple[str, str | None]]:
    """`_print_deprecated_env(old, new)` (in older releases new, old: its own signature says) and the one for flags."""
    if not all(isinstance(one, str) for one in texts):
        return
    if function == "_print_deprecated_env":
        spec = module.names.get(function)
        first = spec.node.args.args[0].arg if isinstance(spec, Function) and spec.node.args.args else ""
        old, new = (texts[-1], texts[0]) if first == "new_name" and len(texts) > 1 else (texts[0], texts[1:])
        yield old, new if isinstance(new, str) else next(iter(new), None)
    elif function == "_warn_deprecated_env_to_cli_flag":
        flag = FLAG.search(texts[1]) if len(texts) > 1 else None
        yield texts[0], flag.group() if flag else None


def _table(machine: Machine, module: Module, node: ast.Dict) -> Iterator[tuple[str, str | None]]:
    """A dictionary of old names: to new ones, or to objects that name the replacement or say it in a note."""
    scope = Scope(module, module.names)
    for key, value in zip(node.keys, node.values, strict=True):
        old = machine.value(key, scope)
        new = machine.value(value, scope)
        if isinstance(new, Instance):
            note = new.fields.get("note")
            flag = FLAG.search(note) if isinstance(note, str) else None
            new = new.fields.get("replacement") or (flag.group() if flag else None)
        if isinstance(old, str) and isinstance(new, str | None):
            yield old, new


@dataclass(frozen=True)
class _Read:
    """`indirect`: only through functions of the tree's own, whose names speak of the environment."""

    kind: EnvKind = "unknown"
    indirect: bool = False

    def __or__(self, other: _Read) -> _Read:
        return _Read(self.kind if self.kind != "unknown" else other.kind, self.indirect and other.indirect)


def _read_on_the_spot(machine: Machine, files: Mapping[str, bytes]) -> dict[str, _Read]:
    """Names that are read or set anywhere in the package by their own text, with what the reader makes of them."""
    found: dict[str, _Read] = {}
    for path, data in files.items():
        lines = _lines(data) if is_scanned(path) else ()
        if not lines:
            continue
        tree = machine.parsed(path)
        if tree is None:
            continue
        constants = dict(_constants(tree))
        for name, read in _mentions(tree, lines, constants):
            if NAME.match(name):
                found[name] = found[name] | read if name in found else read
    return found


def _lines(data: bytes) -> list[int]:
    """Numbers of the lines that may speak of the environment, ascending."""
    found, at, line = [], 0, 1
    for match in READS.finditer(data):
        line += data.count(b"\n", at, match.start())
        at = match.start()
        found.append(line)
    return found


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from ((one.id, node.value.value) for one in node.targets if isinstance(one, ast.Name))


def _mentions(tree: ast.AST, lines: list[int], constants: Mapping[str, str]) -> Iterator[tuple[str, _Read]]:
    """Only the parts of a file are walked that hold one of the lines: most of a large file is something else."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        subject, read = _subject(node)
        if isinstance(subject, ast.Name):
            subject = ast.Constant(constants.get(subject.id))
        if isinstance(subject, ast.Constant) and isinstance(subject.value, str):
            yield subject.value, read
        for child in ast.iter_child_nodes(node):
            first = min([getattr(child, "lineno", 0), *(one.lineno for one in getattr(child, "decorator_list", ()))])
            last = getattr(child, "end_lineno", None)
            at = bisect_left(lines, first)
            if last is None or (at < len(lines) and lines[at] <= last):
                waiting.append(child)


def _subject(node: ast.AST) -> tuple[ast.AST | None, _Read]:
    """What names a variable, if the node asks for one."""
    if isinstance(node, ast.Subscript) and _is_environ(node.value):
        return node.slice, _Read()
    if isinstance(node, ast.Compare) and _is_environ(node.comparators[0]):
        return node.left, _Read()
    if isinstance(node, ast.Call) and node.args:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if isinstance(node.func, ast.Attribute) and name in ON_ENVIRON and _is_environ(node.func.value):
            return node.args[0], _Read()
        if ASKS.search(name):
            kind: EnvKind = "bool" if "bool" in name else "int" if "int" in name else "unknown"
            return node.args[0], _Read(kind, indirect=name not in DIRECT)
    return None, _Read()


def _is_environ(node: ast.AST) -> bool:
    return getattr(node, "attr", getattr(node, "id", "")) == "environ"

"""Runs statements as far as they can be known. A branch whose condition cannot be known is not taken: every name that
it would bind, and every list that it would change, is Unknown from there on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from stackctl.core.upstream.static.binding import bind_target, spoil
from stackctl.core.upstream.static.calls import iterated
from stackctl.core.upstream.static.methods import MUTATORS
from stackctl.core.upstream.static.operators import operate, truth
from stackctl.core.upstream.static.values import (
    TOO_LARGE,
    Class,
    Function,
    Later,
    Lazy,
    Module,
    Recorder,
    Scope,
    Unknown,
    dotted,
)

if TYPE_CHECKING:
    from stackctl.core.upstream.static.machine import Machine

ASKS_ENVIRONMENT = ("envs", "environ", "getenv", "get_bool_env_var")
KINDS = {"staticmethod": "static", "classmethod": "class", "property": "property", "cached_property": "property"}
SEE_THROUGH = {"lru_cache", "cache", "functools.lru_cache", "functools.cache"}


@dataclass(frozen=True)
class Returned:
    value: Any


Signal = Returned | str | None  # "break", "continue"


def run(machine: Machine, body: Sequence[ast.stmt], scope: Scope) -> Signal:
    """Down to its end, or to what leaves it."""
    for statement in body:
        if not machine.spend():
            return Returned(TOO_LARGE)
        runner = RUNNERS.get(type(statement))
        signal = runner(machine, statement, scope) if runner else None
        if signal is not None:
            return signal
    return None


def _assign(machine: Machine, node: ast.Assign, scope: Scope) -> None:
    if scope.names is scope.module.names and _can_wait(node):
        scope.names[node.targets[0].id] = Later(node.value, scope)  # type: ignore[attr-defined]
        return
    value = machine.value(node.value, scope)
    for target in node.targets:
        bind_target(machine, target, value, scope)


def _can_wait(node: ast.Assign) -> bool:
    """`NAME = function("text")`: nothing that is written later can change what it gives."""
    call, target = node.value, node.targets[0]
    if not isinstance(call, ast.Call) or not isinstance(target, ast.Name) or len(node.targets) > 1:
        return False
    return not call.keywords and all(isinstance(one, ast.Constant) or _own_name(one) for one in call.args)


def _own_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "__name__"


def _annotated(machine: Machine, node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        bind_target(machine, node.target, machine.value(node.value, scope), scope)


def _augmented(machine: Machine, node: ast.AugAssign, scope: Scope) -> None:
    old, added = machine.value(node.target, scope), machine.value(node.value, scope)
    if isinstance(old, list) and isinstance(node.op, ast.Add) and isinstance(added, list | tuple):
        old.extend(added)  # in place, as Python does
    elif isinstance(old, list) and not isinstance(added, list | tuple):
        spoil(old)
    else:
        bind_target(machine, node.target, operate(node.op, old, added), scope)


def _expression(machine: Machine, node: ast.Expr, scope: Scope) -> None:
    if not isinstance(node.value, ast.Constant):
        machine.value(node.value, scope)


def _import(machine: Machine, node: ast.Import, scope: Scope) -> None:
    for alias in node.names:
        whole = alias.name if alias.asname else alias.name.partition(".")[0]
        scope.names[alias.asname or whole] = Lazy(whole)


def source_of(node: ast.ImportFrom, here: Module) -> str:
    """The dotted name of the module that `from … import` names."""
    if not node.level:
        return node.module or ""
    parts = here.name.split(".")
    package = parts if here.path.endswith("/__init__.py") else parts[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])


def _import_from(machine: Machine, node: ast.ImportFrom, scope: Scope) -> None:
    module = source_of(node, scope.module)
    for alias in node.names:
        if alias.name != "*":
            scope.names[alias.asname or alias.name] = Lazy(module, alias.name)
        elif (all_of := machine.module(module)) is not None:
            shown = (name for name in all_of.names if not name.startswith("_"))
            scope.names.update({name: Lazy(module, name) for name in shown})


def _class(machine: Machine, node: ast.ClassDef, scope: Scope) -> None:
    scope.names[node.name] = Class(node, scope)


def _function(machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
    kind = "plain"
    for decorator in node.decorator_list:
        name = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if name not in SEE_THROUGH:
            kind = KINDS.get(name.rpartition(".")[2], "wrapped")
    seen = scope.outer if scope.of_class else scope
    scope.names[node.name] = Function(node, seen or Scope(scope.module, scope.module.names), kind)


def _return(machine: Machine, node: ast.Return, scope: Scope) -> Signal:
    return Returned(machine.value(node.value, scope))


def _raise(machine: Machine, node: ast.Raise, scope: Scope) -> Signal:
    return Returned(Unknown("it raises"))


def _if(machine: Machine, node: ast.If, scope: Scope) -> Signal:
    holds = truth(machine.value(node.test, scope))
    if holds is None and _asks_environment(node.test):
        holds = False  # opt-in by a variable: not part of the table
    if holds is None:
        return _either(machine, [*node.body, *node.orelse], scope)
    return run(machine, node.body if holds else node.orelse, scope)


def _asks_environment(test: ast.expr) -> bool:
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}
    return bool(names.intersection(ASKS_ENVIRONMENT))


def _either(machine: Machine, body: Sequence[ast.stmt], scope: Scope) -> Signal:
    """What may or may not run."""
    for node in (inner for statement in body for inner in _walk(statement)):
        if not machine.spend():
            break
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bind_target(machine, node, Unknown(f"{node.id}, bound under a condition"), scope)
        elif isinstance(node, ast.AugAssign):
            spoil(machine.value(node.target, scope))
        elif isinstance(node, ast.alias):
            scope.names[(node.asname or node.name).partition(".")[0]] = Unknown(f"{node.name}, imported if it is there")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            _perhaps(machine, node, node.func, scope)
    leaves = any(isinstance(inner, ast.Return) for statement in body for inner in _walk(statement))
    return Returned(Unknown("returned under a condition")) if leaves else None


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All inside, but not what is inside of other functions and classes."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += reversed(list(ast.iter_child_nodes(one)))


def _perhaps(machine: Machine, call: ast.Call, method: ast.Attribute, scope: Scope) -> None:
    if method.attr not in MUTATORS and method.attr != "add_argument":
        return
    owner = machine.value(method.value, scope)
    if not isinstance(owner, Recorder):
        spoil(owner)
    elif method.attr == "add_argument":
        before = len(owner.added)
        machine.value(call, scope)
        owner.added[before:] = [replace(one, maybe=True) for one in owner.added[before:]]


def _try(machine: Machine, node: ast.Try, scope: Scope) -> Signal:
    signal = run(machine, node.body, scope)
    for handler in node.handlers:
        run(machine, [one for one in handler.body if _binds_a_missing_name(one, scope)], scope)
    return signal or run(machine, [*node.orelse, *node.finalbody], scope)


def _binds_a_missing_name(node: ast.stmt, scope: Scope) -> bool:
    """The handler is what happens when the body did not; its names count where the body has none."""
    names = [target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)]
    return bool(names) and not any(name in scope.names for name in names)


def _with(machine: Machine, node: ast.With, scope: Scope) -> Signal:
    for item in node.items:
        if item.optional_vars is not None:
            bind_target(machine, item.optional_vars, machine.value(item.context_expr, scope), scope)
    return run(machine, node.body, scope)


def _for(machine: Machine, node: ast.For, scope: Scope) -> Signal:
    turns = iterated(machine, machine.value(node.iter, scope))
    if turns is None or any(isinstance(one, Unknown) for one in turns):
        bind_target(machine, node.target, Unknown("one of an unknown list"), scope)
        return _either(machine, node.body, scope)
    for item in turns:
        bind_target(machine, node.target, item, scope)
        signal = run(machine, node.body, scope)
        if signal == "break":
            return None
        if isinstance(signal, Returned):
            return signal
    return run(machine, node.orelse, scope)


def _while(machine: Machine, node: ast.While, scope: Scope) -> Signal:
    return _either(machine, node.body, scope)


def _delete(machine: Machine, node: ast.Delete, scope: Scope) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            scope.names.pop(target.id, None)
        elif isinstance(target, ast.Subscript):
            spoil(machine.value(target.value, scope))


def _leave(word: str) -> Callable[[Machine, Any, Scope], Signal]:
    return lambda machine, node, scope: word


RUNNERS: dict[type[ast.stmt], Callable[[Machine, Any, Scope], Signal | None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.ClassDef: _class,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.If: _if,
    ast.Try: _try,
    ast.With: _with,
    ast.For: _for,
    ast.While: _while,
    ast.Delete: _delete,
    ast.Break: _leave("break"),
    ast.Continue: _leave("continue"),
}

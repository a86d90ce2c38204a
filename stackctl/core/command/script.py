"""The commands of a script: once through it, or once for each role that it asks its caller for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stackctl.core.command.effort import TOO_DEEP, Effort, refused
from stackctl.core.command.expand import Scope
from stackctl.core.command.lexer import tokens
from stackctl.core.command.roles import dispatch, played
from stackctl.core.command.shell import run
from stackctl.core.command.words import Simple, Text, Value
from stackctl.errors import Where


def commands(
    source: Text, variables: Mapping[str, Value] | None = None, exported: Mapping[str, Value] | None = None
) -> tuple[Simple, ...]:
    """In order. `variables` are known from outside; `exported` ones reach the programs too. Raises InvalidFile."""
    try:
        return _commands(source, Scope({**(variables or {}), **(exported or {})}, set(exported or {})))
    except RecursionError:
        raise refused(TOO_DEEP, Where(source.file, source.line, source.column)) from None


def _commands(source: Text, scope: Scope) -> tuple[Simple, ...]:
    found, effort = tokens(source), Effort()
    asked = dispatch(found, effort)
    if asked is None:
        return tuple(run(found, scope, effort))
    name, roles = asked
    told: dict[Simple, list[str]] = {}
    for role in roles:
        given = scope.copy()
        given.values[name] = Value(role, Where(source.file, source.line, source.column))
        for one in run(played(found, name, role, effort), given, effort):
            told.setdefault(one, []).append(role)
    return tuple(replace(one, played="" if len(by) == len(roles) else by[0]) for one, by in told.items())

"""Operators and conditions on values; one that is not known gives a value that is not known."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from stackctl.core.upstream.static.limits import LARGEST
from stackctl.core.upstream.static.values import Class, Distinct, External, Generic, Instance, Unknown, unknown_in

WIDTH = re.compile(r"%[^a-zA-Z%]*[\d*]")  # `%9d` is as long as it says
UNION = "typing.Union"
OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


def truth(value: Any) -> bool | None:
    """None when it cannot be known."""
    if isinstance(value, Unknown | Instance):
        return None
    return bool(value) if isinstance(value, str | int | float | list | tuple | dict | type(None)) else True


def operate(kind: ast.operator, left: Any, right: Any) -> Any:
    """One operator on two values."""
    if isinstance(kind, ast.Add) and isinstance(left, str) and isinstance(right, Unknown):
        return Unknown(right.why, left + right.begins)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return left if isinstance(left, Unknown) else right
    if isinstance(kind, ast.BitOr) and (_is_type(left) or _is_type(right)):
        parts = [arg for one in (left, right) for arg in (one.args if _is_union(one) else (one,))]
        return Generic(UNION, tuple(parts))
    if isinstance(left, Distinct) or isinstance(right, Distinct):
        return _sets(kind, left, right)
    action = OPERATORS.get(type(kind))
    if action is None or not _small(kind, left, right):
        return Unknown("an operator that is not followed")
    try:
        return action(left, right)
    except (TypeError, ValueError, ArithmeticError):
        return Unknown("an operator on values that have none")


def _small(kind: ast.operator, left: Any, right: Any) -> bool:
    if isinstance(kind, ast.LShift):
        return isinstance(right, int) and right <= 64
    if isinstance(kind, ast.Mod) and isinstance(left, str | bytes):
        return isinstance(left, str) and not WIDTH.search(left)
    if not isinstance(kind, ast.Mult):
        return True
    sizes = [value if isinstance(value, int | float) else len(value) for value in (left, right) if _measured(value)]
    both_numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return len(sizes) == 2 and (both_numbers or abs(sizes[0] * sizes[1]) <= LARGEST)


def _measured(value: Any) -> bool:
    return isinstance(value, int | float | str | list | tuple)


def _sets(kind: ast.operator, left: Any, right: Any) -> Any:
    if not isinstance(left, Distinct) or not isinstance(right, Distinct) or unknown_in(left) or unknown_in(right):
        return Unknown("an operator on a set that is not known")
    if isinstance(kind, ast.BitOr):
        return Distinct.of([*left, *right])
    if isinstance(kind, ast.BitAnd | ast.Sub):
        return left.without(right, keeps=isinstance(kind, ast.BitAnd))
    return Unknown("an operator on sets that is not followed")


def _is_type(value: Any) -> bool:
    return isinstance(value, External | Generic | Class)


def _is_union(value: Any) -> bool:
    return isinstance(value, Generic) and value.base == UNION

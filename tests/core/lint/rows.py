"""Tables of rules: a row is a command, what else is known, and where the finding must stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from stackctl.core.lint.run import Fired, run
from stackctl.core.lint.setup import Setup
from stackctl.core.lint.values import Place, Rule
from stackctl.core.stack.resolved import Model, PathBase, ResolvedStack, Serve
from tests.core.lint.setups import setup

STACK = ResolvedStack("s", "s.yaml", "/w", PathBase("/b"), (), Model("/m", "m"), Serve(), (), None, None, hosts={})


@dataclass(frozen=True)
class Row:
    """`place`: kind and name, None where the rule must be silent. `more`: for `setup`. `process`: fields of each."""

    rule: str
    single: str
    place: tuple[str, str] | None
    severity: str = "error"
    says: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    stack: bool = True

    @property
    def id(self) -> str:
        fires = "fires" if self.place else "silent"
        return f"{self.rule} {fires} {self.more.get('version', '0.5.15')} {self.single[:60]}"


def fires(rule: str, single: str, place: tuple[str, str], severity: str = "error", says: str = "", **more: Any) -> Row:
    stack = more.pop("stack", True)
    return Row(rule, single, place, severity, says, more, stack)


def silent(rule: str, single: str, **more: Any) -> Row:
    stack = more.pop("stack", True)
    return Row(rule, single, None, more=more, stack=stack)


def made(row: Row) -> Setup:
    more = dict(row.more)
    roles = more.pop("roles", {"single": row.single})
    found = setup(**roles, **more)
    return replace(found, stack=STACK) if row.stack else found


def check(row: Row, rules: Sequence[Rule]) -> None:
    """What the whole set says of this rule: exactly what the row says, and nowhere else."""
    heard = [one for one in run(made(row), rules) if one.rule.id == row.rule]
    assert [_seen(one) for one in heard] == ([] if row.place is None else [(*row.place, row.severity)]), heard
    for one in heard:
        assert row.says in one.hit.message
        assert one.hit.message and one.hit.hint
        assert one.hit.message[-1] != "."


def _seen(one: Fired) -> tuple[str, str, str]:
    place: Place = one.hit.place
    return place.kind, place.name, one.severity

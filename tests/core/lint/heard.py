"""What rules say of a setup, in a form that a table can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from stackctl.core.lint.run import run
from stackctl.core.lint.setup import Setup
from stackctl.core.lint.values import Rule
from tests.core.lint.setups import setup


@dataclass(frozen=True)
class Case:
    """`place`: `name@instance`, empty where the rule must be silent. `says`: words of the message and of the hint."""

    rule: str
    roles: dict[str, str]
    place: str = ""
    says: tuple[str, ...] = ()
    severity: str = "error"
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        commands = " | ".join(f"{role} {command}" for role, command in self.roles.items())
        return f"{self.rule} {self.more.get('version', '')} {self.place or 'silent'} {commands}"[:110]


def asked(case: Case, rules: Sequence[Rule]) -> None:
    """The rule says exactly what the case says, and nothing else of it."""
    judged(setup(**case.more, **case.roles), case, rules)


def judged(made: Setup, case: Case, rules: Sequence[Rule]) -> None:
    heard = [one for one in run(made, rules) if one.rule.id == case.rule]
    places = sorted({f"{one.hit.place.name}@{one.hit.place.instance}" for one in heard})
    assert places == sorted(case.place.split()), [one.hit.message for one in heard]
    for one in heard:
        told = f"{one.hit.message} -> {one.hit.hint}"
        assert one.severity == case.severity, told
        assert not [word for word in case.says if word not in told], told
        assert one.hit.hint and one.hit.message[-1] not in ".:", told

"""All rules, in the order in which they are asked and listed. A module of rules is one line here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from stackctl.core.lint import (
    own,
    rules_env,
    rules_flags,
    rules_values,
)
from stackctl.core.lint.values import Rule

RULES: tuple[Rule, ...] = (
    *rules_flags.RULES,
    *rules_values.RULES,
    *rules_env.RULES,
    *own.RULES,
)


@cache
def by_id() -> Mapping[str, Rule]:
    return {rule.id: rule for rule in RULES}

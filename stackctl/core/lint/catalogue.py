"""All rules, in the order in which they are asked and listed. A module of rules is one line here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from stackctl.core.lint.rules import (
    around,
    chat,
    dsv4,
    dsv4_features,
    env,
    flags,
    host,
    own,
    pd,
    pd_layout,
    pd_versions,
    router,
    serving,
    sm120,
    sm120_env,
    sm120_moe,
    sm120_prefill,
    v41,
    values,
)
from stackctl.core.lint.values import Rule

RULES: tuple[Rule, ...] = (
    *flags.RULES,
    *values.RULES,
    *env.RULES,
    *dsv4.RULES,
    *dsv4_features.RULES,
    *v41.RULES,
    *sm120.RULES,
    *sm120_env.RULES,
    *sm120_prefill.RULES,
    *sm120_moe.RULES,
    *chat.RULES,
    *serving.RULES,
    *pd.RULES,
    *pd_layout.RULES,
    *pd_versions.RULES,
    *host.RULES,
    *router.RULES,
    *around.RULES,
    *own.RULES,
)


@cache
def by_id() -> Mapping[str, Rule]:
    return {rule.id: rule for rule in RULES}

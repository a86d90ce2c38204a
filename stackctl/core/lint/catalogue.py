"""All rules, in the order in which they are asked and listed. A module of rules is one line here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from stackctl.core.lint import (
    own,
    rules_chat,
    rules_dsv4,
    rules_dsv4_features,
    rules_env,
    rules_flags,
    rules_host,
    rules_pd,
    rules_pd_layout,
    rules_pd_versions,
    rules_router,
    rules_serving,
    rules_sm120,
    rules_sm120_env,
    rules_sm120_moe,
    rules_sm120_prefill,
    rules_v41,
    rules_values,
)
from stackctl.core.lint.values import Rule

RULES: tuple[Rule, ...] = (
    *rules_flags.RULES,
    *rules_values.RULES,
    *rules_env.RULES,
    *rules_dsv4.RULES,
    *rules_dsv4_features.RULES,
    *rules_v41.RULES,
    *rules_sm120.RULES,
    *rules_sm120_env.RULES,
    *rules_sm120_prefill.RULES,
    *rules_sm120_moe.RULES,
    *rules_chat.RULES,
    *rules_serving.RULES,
    *rules_pd.RULES,
    *rules_pd_layout.RULES,
    *rules_pd_versions.RULES,
    *rules_host.RULES,
    *rules_router.RULES,
    *own.RULES,
)


@cache
def by_id() -> Mapping[str, Rule]:
    return {rule.id: rule for rule in RULES}

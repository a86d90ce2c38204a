"""`stackctl check --rules` and `--explain RULE`: what the linter knows, without any stack."""

from __future__ import annotations

from dataclasses import dataclass

from stackctl.core.lint.catalogue import RULES, by_id
from stackctl.core.lint.near import did_you_mean
from stackctl.core.lint.values import Rule, Severity
from stackctl.errors import UsageError


@dataclass(frozen=True)
class RuleLine:
    """`versions`: releases of sglang that it is for; empty for all. `inferred`: no source or report shows it alone."""

    id: str
    severity: Severity
    versions: str
    about: str
    why: str
    evidence: tuple[str, ...]
    inferred: bool


def all_rules() -> tuple[RuleLine, ...]:
    return tuple(_line(rule) for rule in RULES)


def explain(name: str) -> RuleLine:
    """Raises UsageError when no rule has this id."""
    rule = by_id().get(name.upper())
    if rule is None:
        hint = did_you_mean(name.upper(), by_id()) or "`stackctl check --rules` lists them"
        raise UsageError(f"no rule is called {name}", hint)
    return _line(rule)


def _line(rule: Rule) -> RuleLine:
    return RuleLine(rule.id, rule.severity, rule.versions, rule.about, rule.why, rule.evidence, rule.doubt)

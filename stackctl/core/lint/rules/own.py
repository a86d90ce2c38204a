"""Rules of the linter about itself: a version that nobody knows, a rule that broke, comments that ignore nothing.

They have ids so that they are explained, silenced and counted like the others. Where they fire is not seen from a
Setup alone: run.py and ignore.py say so, and `check` of these finds nothing by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.lint.setup import Setup
from stackctl.core.lint.values import Hit, Rule


def _elsewhere(_setup: Setup) -> Iterator[Hit]:
    return iter(())


VERSION_UNKNOWN = Rule(
    "VERSION-UNKNOWN",
    "info",
    _elsewhere,
    "the base does not say which release it is",
    "Rules for certain releases are not asked then. Flags, choices and variables are checked all the same: they come "
    "from the tree itself. A base with `pypi: sglang==VERSION`, or a tree whose version.py was written, says it.",
    sglang=False,
)
RULE_FAILED = Rule(
    "RULE-FAILED",
    "warning",
    _elsewhere,
    "a rule broke, so what it looks for was not looked for",
    "A fault of stackctl, not of the stack. The other rules were asked as always.",
    sglang=False,
)
IGNORE_INVALID = Rule(
    "IGNORE-INVALID",
    "error",
    _elsewhere,
    "a `# stackctl:` comment that cannot be understood",
    "The form is `# stackctl: ignore RULE[, RULE] because REASON`, on the line of the value or alone above it. The "
    "reason is for the next reader: why this is right here although the rule says no.",
    sglang=False,
)
IGNORE_UNUSED = Rule(
    "IGNORE-UNUSED",
    "warning",
    _elsewhere,
    "a comment that ignores nothing on its line",
    "Either what it was for is gone, perhaps with a newer base, or it stands on another line than the value. A comment "
    "of a file that this one extends is not told where its value was replaced.",
    sglang=False,
)

RULES = (VERSION_UNKNOWN, RULE_FAILED, IGNORE_INVALID, IGNORE_UNUSED)

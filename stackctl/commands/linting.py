"""Lints a composed stack against its own patched tree: reads the tables, asks the rules, hears the comments.

`check` shows all of it; a deploy only wants to know what refuses it. It never looks at a host.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from stackctl.commands.upstream import history, upstream_of
from stackctl.core.lint import ignore
from stackctl.core.lint.catalogue import RULES, by_id
from stackctl.core.lint.from_stack import setup_of
from stackctl.core.lint.places import located, order
from stackctl.core.lint.run import run
from stackctl.core.lint.values import Finding
from stackctl.core.patches.values import PatchedTree
from stackctl.core.stack.resolved import Base, GitBase, PypiBase, ResolvedStack
from stackctl.core.upstream.values import Upstream
from stackctl.errors import InvalidFile, Problem
from stackctl.ports import Ports

RELEASE = re.compile(r"v?(\d+\.\d+\.\d+(?:\.post\d+)?)")
WAY_OUT = (
    "where one of these is right after all, say why on its line: `# stackctl: ignore RULE because …`; "
    "`lint: {severity: {RULE: warning}}` lets all of a rule through"
)


@dataclass(frozen=True)
class Lint:
    """`findings`: in the order of the files. `unread`: what of the base's own source could not be read statically."""

    findings: tuple[Finding, ...] = ()
    ignored: tuple[ignore.Ignored, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.severity == "warning")


Linter = Callable[[Ports, ResolvedStack, PatchedTree], Lint]


def lint(ports: Ports, stack: ResolvedStack, tree: PatchedTree) -> Lint:
    """Raises InvalidFile when `lint.severity` names a rule that does not exist."""
    merged = stack.merged
    if merged is None:
        return Lint()
    rules = by_id()
    ignore.refuse_unknown(merged, stack.severity, rules)
    upstream = _upstream(ports, stack, tree)
    setup = setup_of(stack, upstream, history(ports), (patch.name for patch in tree.patches))
    left, ignored, faults = ignore.apply(merged, located(setup, run(setup, RULES)), rules)
    told = tuple(ignore.with_severity(sorted([*left, *faults], key=order), stack.severity))
    return Lint(told, tuple(ignored), upstream.unknown)


def _upstream(ports: Ports, stack: ResolvedStack, tree: PatchedTree) -> Upstream:
    found = upstream_of(ports, tree.tree, stack.serve.module, _pinned(stack.base))
    return found if found.version else replace(found, version=_called(stack.base))


def _pinned(base: Base) -> str | None:
    """The release that a wheel of sglang itself is."""
    name, _, version = base.requirement.partition("==") if isinstance(base, PypiBase) else ("", "", "")
    return version if name.lower() == "sglang" else None


def _called(base: Base) -> str | None:
    """The release that people call a commit: a checkout of sglang does not say so itself."""
    match = RELEASE.fullmatch(base.ref) if isinstance(base, GitBase) else None
    return match[1] if match else None


def refuse_errors(ports: Ports, stack: ResolvedStack, tree: PatchedTree) -> tuple[str, ...]:
    """Warnings, each as a sentence. Raises InvalidFile with every error.

    A variant is not linted: what it leaves out may be the very point of it, and a bisect starts hundreds.
    """
    if not stack.variant.is_plain:
        return ()
    found = lint(ports, stack, tree)
    if found.errors:
        raise InvalidFile([as_problem(one) for one in found.errors], WAY_OUT)
    return tuple(str(as_problem(one)) for one in found.warnings)


def as_problem(finding: Finding) -> Problem:
    message = f"{finding.rule}: {finding.message}"
    return Problem(message, finding.where, finding.key or None, finding.hint or None)

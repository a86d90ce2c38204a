"""Lints a composed stack against its own patched tree: reads the tables, asks the rules, then hears the comments.

`check` shows all of it; a deploy only wants to know what refuses it. It never looks at a host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from stackctl.commands.linting.tables import history, pinned_release, upstream_of
from stackctl.core.lint import ignore
from stackctl.core.lint.catalogue import RULES, by_id
from stackctl.core.lint.from_stack import setup_of
from stackctl.core.lint.places import Located, located, order
from stackctl.core.lint.rules import around
from stackctl.core.lint.run import run
from stackctl.core.lint.values import Finding
from stackctl.core.patches.values import PatchedTree
from stackctl.core.stack.resolved import Base, GitBase, ResolvedStack
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


@dataclass(frozen=True)
class Heard:
    """All that the rules say of a stack, before anybody silences some of it."""

    located: tuple[Located, ...] = ()
    unread: tuple[str, ...] = ()


Linter = Callable[[Ports, ResolvedStack, PatchedTree], Heard]


def hear(ports: Ports, stack: ResolvedStack, tree: PatchedTree) -> Heard:
    """Reads the tables and asks the rules."""
    if stack.merged is None:
        return Heard()
    upstream = _upstream(ports, stack, tree)
    setup = setup_of(stack, upstream, history(ports), (patch.name for patch in tree.patches))
    return Heard(tuple(located(setup, run(setup, RULES))), upstream.unknown)


def judged(stack: ResolvedStack, heard: Heard, about: Sequence[Located] | None = None) -> Lint:
    """Without what comments and the stack's severities silence. `about`: what stands around the flags; None: not asked.

    Raises InvalidFile when `lint.severity` names a rule that does not exist.
    """
    merged, found = stack.merged, [*heard.located, *(about or ())]
    if merged is None:
        return Lint(tuple(one.finding for one in found))
    rules = by_id()
    ignore.refuse_unknown(merged, stack.severity, rules)
    unasked = {rule.id for rule in around.RULES} if about is None else set[str]()
    left, ignored, faults = ignore.apply(merged, found, rules, unasked)
    told = tuple(ignore.with_severity(sorted([*left, *faults], key=order), stack.severity))
    return Lint(told, tuple(ignored), heard.unread)


def _upstream(ports: Ports, stack: ResolvedStack, tree: PatchedTree) -> Upstream:
    found = upstream_of(ports, tree.tree, stack.serve.module, pinned_release(stack.base))
    return found if found.version else replace(found, version=_called(stack.base))


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
    found = judged(stack, hear(ports, stack, tree))
    if found.errors:
        raise InvalidFile([as_problem(one) for one in found.errors], WAY_OUT)
    return tuple(str(as_problem(one)) for one in found.warnings)


def as_problem(finding: Finding) -> Problem:
    message = f"{finding.rule}: {finding.message}"
    return Problem(message, finding.where, finding.key or None, finding.hint or None)

"""`# stackctl: ignore RULE[, RULE] because REASON`: what a reader of the stack file has decided, and why.

A comment is about the values of its line, or of the next one when it stands alone. Without a reason, or with a rule
that does not exist, it is a mistake; one that ignores nothing is told, so that it goes when its cause has gone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stackctl.core.lint.near import did_you_mean
from stackctl.core.lint.places import Located
from stackctl.core.lint.rules.own import IGNORE_INVALID, IGNORE_UNUSED
from stackctl.core.lint.values import Finding, Rule
from stackctl.core.stack.merge import Merged
from stackctl.core.stack.resolved import Told
from stackctl.core.stack.source import Remark
from stackctl.errors import InvalidFile, Problem

FORM = re.compile(r"ignore\s+(?P<rules>[A-Za-z0-9-]+(?:\s*,\s*[A-Za-z0-9-]+)*)(?:\s+because\s+(?P<reason>\S.*))?")
SPELLED = "the form is `# stackctl: ignore RULE because REASON`"


@dataclass(frozen=True)
class Ignored:
    """A finding that a comment silences, with its reason."""

    finding: Finding
    reason: str


@dataclass(frozen=True)
class _Comment:
    remark: Remark
    rules: tuple[str, ...]
    reason: str


def apply(
    merged: Merged, found: Sequence[Located], rules: Mapping[str, Rule], unasked: Collection[str] = ()
) -> tuple[list[Finding], list[Ignored], list[Finding]]:
    """What is left, what is ignored, and what is wrong with the comments. `unasked`: rules whose comments may wait."""
    comments, faults = _read(merged.remarks, rules)
    left: list[Finding] = []
    ignored: list[Ignored] = []
    used: set[tuple[_Comment, str]] = set()
    for one in found:
        comment = next((each for each in comments if _speaks_of(each, one)), None)
        if comment is None:
            left.append(one.finding)
            continue
        used.add((comment, one.finding.rule))
        ignored.append(Ignored(one.finding, comment.reason))
    waiting = {(each, name) for each in comments for name in unasked}
    return left, ignored, [*faults, *_unused(merged, comments, used | waiting)]


def with_severity(findings: Iterable[Finding], severity: Mapping[str, Told]) -> Iterator[Finding]:
    """As the stack wants them told; without those of rules that are off."""
    for finding in findings:
        told = severity.get(finding.rule, finding.severity)
        if told != "off":
            yield replace(finding, severity=told)


def refuse_unknown(merged: Merged, severity: Mapping[str, Told], rules: Mapping[str, Rule]) -> None:
    """Raises InvalidFile for every id under `lint.severity` that no rule has."""
    unknown = [name for name in severity if name not in rules]
    if unknown:
        raise InvalidFile([_no_rule(merged, name, rules) for name in unknown])


def _no_rule(merged: Merged, name: str, rules: Mapping[str, Rule]) -> Problem:
    hint = did_you_mean(name, rules) or "`stackctl check --rules` lists them"
    return merged.problem(("lint", "severity", name), f"no rule is called {name}", hint)


def _speaks_of(comment: _Comment, one: Located) -> bool:
    return one.finding.rule in comment.rules and (comment.remark.where.file, comment.remark.line) in one.lines


def _read(remarks: Iterable[Remark], rules: Mapping[str, Rule]) -> tuple[list[_Comment], list[Finding]]:
    comments, faults = [], []
    for remark in remarks:
        match = FORM.fullmatch(remark.text)
        if match is None:
            faults.append(_fault(remark, f"`{remark.text}` is no remark that stackctl knows", SPELLED))
            continue
        names = tuple(re.split(r"\s*,\s*", match["rules"]))
        known = tuple(name for name in names if name in rules)
        for name in names:
            if name not in rules:
                hint = did_you_mean(name, rules) or "`stackctl check --rules` lists them"
                faults.append(_fault(remark, f"no rule is called {name}", hint))
        if match["reason"] is None:
            faults.append(_fault(remark, "the comment gives no reason", SPELLED))
        elif known:
            comments.append(_Comment(remark, known, match["reason"]))
    return comments, faults


def _fault(remark: Remark, message: str, hint: str) -> Finding:
    return Finding(IGNORE_INVALID.id, IGNORE_INVALID.severity, message, hint, remark.where)


def _unused(merged: Merged, comments: Iterable[_Comment], used: set[tuple[_Comment, str]]) -> Iterator[Finding]:
    """In a file that is extended, only where a value of the line is still the one in effect."""
    in_effect = {(where.file, where.line) for mark in merged.marks.values() for where in (mark.key, mark.value)}
    for comment in comments:
        where = comment.remark.where
        if where.file != merged.file and (where.file, comment.remark.line) not in in_effect:
            continue
        for name in comment.rules:
            if (comment, name) not in used:
                message = f"{name} finds nothing on line {comment.remark.line}"
                hint = "take the comment away, or put it on the line of the value"
                yield Finding(IGNORE_UNUSED.id, IGNORE_UNUSED.severity, message, hint, where)

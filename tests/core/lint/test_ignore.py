"""Comments that ignore a finding, and severities that a stack sets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.core.lint.from_stack import setup_of
from stackctl.core.lint.ignore import Ignored, apply, refuse_unknown, with_severity
from stackctl.core.lint.places import located
from stackctl.core.lint.rules.own import RULES as OWN
from stackctl.core.lint.run import run
from stackctl.core.lint.setup import Setup
from stackctl.core.lint.values import Finding, Hit, Place, Rule
from stackctl.core.stack.merge import Merged
from stackctl.core.upstream.values import History
from stackctl.errors import InvalidFile
from tests.core.lint.setups import table
from tests.workspaces import ports_of

BASE = """\
base: {path: engine}
model: {path: /m, name: m}
serve:
  flags: {tp-size: 2}%s
  env:
    SGLANG_A: 1%s
hosts: {a: {address: local}}
"""
MAIN = """\
extends: base.yaml
roles:
  single:
    host: a
    port: 30000%s
    flags:
%s
      page-size: 64%s
      cuda-graph-bs-decode:%s
        [1, 2]
"""


def _everything(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        for option in process.options:
            yield Hit(f"{option.name} is wrong", Place("flag", option.name, process.id))


RULE = Rule("ALL-WRONG", "warning", _everything, "about", "why")
OTHER = Rule("OTHER", "error", lambda _: iter(()), "about", "why")
RULES = {rule.id: rule for rule in (RULE, OTHER, *OWN)}


def linted(main: tuple[str, ...] = (), base: tuple[str, ...] = ()) -> tuple[list[str], list[Ignored], list[Finding]]:
    """What is left (names of flags), what is ignored, what is wrong with the comments."""
    files = {
        "stacks/main.yaml": MAIN % (*main, *[""] * (4 - len(main))),
        "stacks/base.yaml": BASE % (*base, *[""] * (2 - len(base))),
    }
    stack = load(ports_of(files), Selection("main"))
    setup = setup_of(stack, table("0.5.15"), History(()), [])
    assert stack.merged is not None
    left, ignored, faults = apply(stack.merged, located(setup, run(setup, [RULE])), RULES)
    return [one.message.split()[0] for one in left], ignored, faults


def names(ignored: list[Ignored]) -> list[str]:
    return [each.finding.message.split()[0] for each in ignored]


ALL = ["model-path", "served-model-name", "tp-size", "host", "port", "page-size", "cuda-graph-bs-decode"]


def test_without_comments_nothing_is_ignored() -> None:
    left, ignored, faults = linted()
    assert (sorted(left), ignored, faults) == (sorted(ALL), [], [])


@pytest.mark.parametrize(
    ("main", "base", "gone"),
    [
        (("", "", " # stackctl: ignore ALL-WRONG because it is right here"), (), "page-size"),
        (("", "      # stackctl: ignore OTHER, ALL-WRONG because of x", ""), (), "page-size"),
        (("", "      # stackctl: ignore ALL-WRONG because of x\n      # and more", ""), (), "page-size"),
        (("", "", "", "  # stackctl: ignore ALL-WRONG because a list"), (), "cuda-graph-bs-decode"),
        (("", "", "", "\n        # stackctl: ignore ALL-WRONG because a list"), (), "cuda-graph-bs-decode"),
        (("  #stackctl:ignore ALL-WRONG because a port",), (), "port"),
        ((), ("  # stackctl: ignore ALL-WRONG because of the base",), "tp-size"),
    ],
)
def test_a_comment_on_the_line_or_above_it(main: tuple[str, ...], base: tuple[str, ...], gone: str) -> None:
    left, ignored, faults = linted(main, base)
    assert names(ignored) == [gone]
    assert gone not in left and len(left) == len(ALL) - 1
    assert [fault.message for fault in faults if "OTHER" not in fault.message] == []


@pytest.mark.parametrize(
    ("text", "rule", "message", "hint"),
    [
        ("ignore ALL-WRONG", "IGNORE-INVALID", "the comment gives no reason", "the form is"),
        ("ignore ALL-WRONG because", "IGNORE-INVALID", "`ignore ALL-WRONG because` is no remark", "the form is"),
        ("ignore", "IGNORE-INVALID", "`ignore` is no remark that stackctl knows", "the form is"),
        ("skip ALL-WRONG", "IGNORE-INVALID", "`skip ALL-WRONG` is no remark that stackctl knows", "the form is"),
        ("ignore ALL-WORNG because x", "IGNORE-INVALID", "no rule is called ALL-WORNG", "did you mean ALL-WRONG?"),
        ("ignore OTHER because x", "IGNORE-UNUSED", "OTHER finds nothing on line 8", "take the comment away"),
    ],
)
def test_what_is_wrong_with_a_comment(text: str, rule: str, message: str, hint: str) -> None:
    left, ignored, (fault,) = linted(("", "", f"  # stackctl: {text}"))
    assert (fault.rule, fault.message.startswith(message), fault.hint.startswith(hint)) == (rule, True, True)
    assert str(fault.where) == "stacks/main.yaml:8:22"
    assert (len(left), ignored) == (len(ALL), [])


def test_a_comment_of_a_base_whose_value_was_replaced_is_not_told() -> None:
    comment = "  # stackctl: ignore ALL-WRONG because of the base"
    assert [fault.rule for fault in linted((), ("", comment))[2]] == ["IGNORE-UNUSED"]  # a variable, no flag
    files = {
        "stacks/main.yaml": "extends: base.yaml\nserve: {env: {SGLANG_A: 2}}\nroles: {single: {host: a, port: 1}}\n",
        "stacks/base.yaml": BASE % ("", comment),
    }
    stack = load(ports_of(files), Selection("main"))
    assert stack.merged is not None
    assert apply(stack.merged, [], RULES)[2] == []


def test_a_comment_for_a_rule_that_was_not_asked_is_not_told() -> None:
    files = {
        "stacks/main.yaml": MAIN % ("", "", "  # stackctl: ignore OTHER because of x", ""),
        "stacks/base.yaml": BASE % ("", ""),
    }
    merged = load(ports_of(files), Selection("main")).merged
    assert merged is not None
    assert [fault.rule for fault in apply(merged, [], RULES)[2]] == ["IGNORE-UNUSED"]
    assert apply(merged, [], RULES, {"OTHER"})[2] == []


def test_severities_of_the_stack() -> None:
    findings = [Finding("ALL-WRONG", "warning", "a"), Finding("OTHER", "error", "b"), Finding("THIRD", "error", "c")]
    told = list(with_severity(findings, {"ALL-WRONG": "error", "OTHER": "off", "THIRD": "info"}))
    assert [(one.message, one.severity) for one in told] == [("a", "error"), ("c", "info")]
    assert list(with_severity(findings, {})) == findings


def test_a_severity_of_no_rule_is_a_mistake_of_the_file() -> None:
    text = BASE % ("", "") + "lint:\n  severity:\n    ALL-WORNG: off\n    NOTHING: info\n"
    text += "roles: {single: {host: a, port: 30000}}\n"
    stack = load(ports_of({"stacks/main.yaml": text}), Selection("main"))
    merged = stack.merged
    assert isinstance(merged, Merged)
    with pytest.raises(InvalidFile) as caught:
        refuse_unknown(merged, stack.severity, RULES)
    assert [(str(problem), problem.hint) for problem in caught.value.problems] == [
        ("stacks/main.yaml:10:5: lint.severity.ALL-WORNG: no rule is called ALL-WORNG", "did you mean ALL-WRONG?"),
        (
            "stacks/main.yaml:11:5: lint.severity.NOTHING: no rule is called NOTHING",
            "`stackctl check --rules` lists them",
        ),
    ]
    refuse_unknown(merged, {"OTHER": "off"}, RULES)


def test_severities_are_words_that_the_model_knows() -> None:
    text = BASE % ("", "") + "lint: {severity: {X: wrong}}\nroles: {single: {host: a, port: 30000}}\n"
    with pytest.raises(InvalidFile, match=r"lint\.severity\.X: expected 'error', 'warning', 'info' or 'off'"):
        load(ports_of({"stacks/main.yaml": text}), Selection("main"))

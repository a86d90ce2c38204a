"""Asks the rules and settles what they say of the same thing: a mistake is told once, by the rule that knows most.

A rule for certain releases is silent when the version is not known. One that breaks is itself a finding: it must
neither hide the others nor look like a mistake of the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stackctl.core.lint.rules.own import RULE_FAILED, VERSION_UNKNOWN
from stackctl.core.lint.setup import Setup
from stackctl.core.lint.values import Hit, Place, Rule, Severity

TOO_OLD = "DSV4-VERSION"  # the base does not have the model at all: what else is wrong with it there is noise
OF_THE_MODEL = ("DSV4-", "SM120-", "V41-", "NVFP4-", "INDEX-LOGITS-")
KNOWS_MORE = {  # a rule that knows the model -> what it says better, of the same value
    "PARSER-PAIR": ("CHOICE", "VALUE-DEPRECATED"),
    "PARSER-FORCES-ENCODING": ("CHOICE", "PARSER-PAIR"),
    "DSV4-KV": ("CHOICE",),
    "DSV4-ATTN": ("CHOICE", "VALUE-DEPRECATED"),
    "PD-KV-DTYPE": ("DSV4-KV",),
}
RANK: dict[Severity, int] = {"info": 0, "warning": 1, "error": 2}
SAME = {  # keys of a stack file -> the flag that is made of them
    "serve.tool_call_parser": "tool-call-parser",
    "serve.reasoning_parser": "reasoning-parser",
    "serve.chat_template": "chat-template",
    "model.path": "model-path",
    "model.name": "served-model-name",
}


@dataclass(frozen=True)
class Fired:
    """A hit and the rule that had it."""

    rule: Rule
    hit: Hit

    @property
    def severity(self) -> Severity:
        return self.hit.severity or self.rule.severity


def run(setup: Setup, rules: Sequence[Rule]) -> list[Fired]:
    """All that the rules say of a setup, in their order, less what a better one says."""
    heard = [fired for rule in rules for fired in _ask(setup, rule)]
    return [*_settled(heard), *_without_version(setup, rules)]


def applies(setup: Setup, rule: Rule) -> bool:
    """Whether the rule is for this engine and this release."""
    if rule.sglang and not setup.upstream.is_sglang:
        return False
    return not rule.versions or setup.at(rule.versions)


def _without_version(setup: Setup, rules: Iterable[Rule]) -> Iterator[Fired]:
    silent = sum(bool(rule.versions) for rule in rules)
    if setup.version is None and setup.upstream.is_sglang and silent:
        message = f"nobody knows which release this is: {silent} rules for certain releases were not asked"
        yield Fired(
            VERSION_UNKNOWN, Hit(message, Place("key", "base"), "pin a release, or lint a base that says its own")
        )


def _ask(setup: Setup, rule: Rule) -> Iterator[Fired]:
    if not applies(setup, rule):
        return
    try:
        hits = list(rule.check(setup))
    except Exception as error:
        yield _failed(rule, error)
        return
    for hit in hits:
        yield Fired(rule, hit)


def _failed(rule: Rule, error: Exception) -> Fired:
    message = f"rule {rule.id} could not be asked: {type(error).__name__}: {error}"
    hint = f"a fault of stackctl: please report it; `lint: {{severity: {{{rule.id}: off}}}}` goes on without the rule"
    return Fired(RULE_FAILED, Hit(message, Place("key", "lint"), hint))


def _settled(heard: Sequence[Fired]) -> Iterator[Fired]:
    too_old = any(fired.rule.id == TOO_OLD for fired in heard)
    about: dict[str, list[Fired]] = {}
    for fired in heard:
        about.setdefault(_subject(fired.hit.place)[0], []).append(fired)
    for fired in heard:
        name = fired.rule.id
        if too_old and name != TOO_OLD and name.startswith(OF_THE_MODEL):
            continue
        better = [rule for rule, worse in KNOWS_MORE.items() if name in worse]
        others = about[_subject(fired.hit.place)[0]]
        if not any(other.rule.id in better and _instead_of(other, fired) for other in others):
            yield fired


def _instead_of(other: Fired, fired: Fired) -> bool:
    """Whether the other is about the same value, of this process or of all, and not milder."""
    (theirs, whose), (ours, whom) = _subject(other.hit.place), _subject(fired.hit.place)
    return theirs == ours and whose in (whom, None) and RANK[other.severity] >= RANK[fired.severity]


def _subject(place: Place) -> tuple[str, str | None]:
    """The flag or variable that a place is about, however it was said."""
    return SAME.get(place.name, place.name) if place.kind == "key" else place.name, place.instance

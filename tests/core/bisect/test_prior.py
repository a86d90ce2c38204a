"""The prior of a bisect: the risk that the inventory shows, kept with the session, and told in the report."""

from __future__ import annotations

import json

import pytest

from stackctl.core.bisect.elements import pick
from stackctl.core.bisect.events import Started, decode, encode
from stackctl.core.bisect.hypotheses import Prior, hypotheses
from stackctl.core.bisect.report import BisectReport, report
from stackctl.core.bisect.session import replay, search_of
from stackctl.core.bisect.space import Member, make_space
from stackctl.core.names import TreeId
from stackctl.core.patches.values import Queue
from stackctl.core.review.risk import assess
from stackctl.core.stack.resolved import Model, PathBase, ResolvedStack, Serve
from stackctl.output.bisect import show_report
from stackctl.output.console import Console
from tests.core.review.test_page import PLAIN, POOL, patch

RISKY = patch("pool/slots", "self.kv_buffer[idx] = loc", path=POOL)
DOCS = patch("docs/read", "torch.cuda.synchronize()", path="python/sglang/README.md")
QUEUE = Queue(TreeId("0" * 40), (RISKY, PLAIN, DOCS))


def members() -> tuple[Member, ...]:
    names = tuple(one.name for one in QUEUE.patches)
    stack = ResolvedStack(
        name="s", file="stacks/s.yaml", workspace="/ws", base=PathBase("/engine"), patches=names,
        model=Model("/m", "m"), serve=Serve(), engines=(), router=None, router_package=None, hosts={},
    )  # fmt: skip
    return pick(stack, QUEUE).members


def reported(prior: Prior) -> BisectReport:
    started = Started("1", "s", "t", {}, members(), {}, prior=prior)
    session = replay(decode(encode(started, 1.0) + "\n", "x"))
    return report(session, search_of(session), "x")


def test_weights_are_those_of_the_inventory() -> None:
    risky, plain = members()  # documentation is no member
    assert (risky.weight, risky.reasons) == (
        assess(RISKY).weight,
        (f"batched indexing: {POOL}:11", f"buffers: {POOL}:11"),
    )
    assert (plain.weight, plain.reasons) == (1.0, ())


def test_a_risky_patch_is_likelier_beforehand_unless_the_prior_is_uniform() -> None:
    space = make_space(members(), {}, [])
    weighted = {one.members: one.log_prior for one in hypotheses(space, "weighted")}
    uniform = {one.members: one.log_prior for one in hypotheses(space, "uniform")}
    assert weighted[(0,)] > weighted[(1,)]
    assert uniform[(0,)] == uniform[(1,)]


def test_reasons_are_kept_with_the_session_and_an_older_one_has_none() -> None:
    line = encode(Started("1", "s", "t", {}, members(), {}), 1.0)
    assert replay(decode(line + "\n", "x")).started.members == members()
    old = json.loads(line)
    for one in old["members"]:
        del one["reasons"]
    assert [one.reasons for one in replay(decode(json.dumps(old) + "\n", "x")).started.members] == [(), ()]


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        ("weighted", f"  {assess(RISKY).weight:.2f}  patch:pool/slots\n        batched indexing: {POOL}:11\n"),
        ("uniform", "prior:\n  uniform: every element and every pair alike, risk does not count\n"),
    ],
)
def test_the_report_says_what_was_believed(prior: Prior, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    value = reported(prior)
    assert [one.element for one in value.believed] == ["patch:pool/slots"]
    show_report(Console(), value)
    assert said in capsys.readouterr().out

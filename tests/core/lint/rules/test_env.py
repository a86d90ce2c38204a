"""Rules on variables of the environment."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackctl.core.lint.rules.env import RULES
from stackctl.core.lint.run import run
from stackctl.core.lint.setup import Setup
from stackctl.core.upstream.values import EnvVar, History, Replacement, Span
from tests.core.lint.setups import setup

KNOWN = {
    one.name: one
    for one in (
        EnvVar("SGLANG_LOG_GC", "registry", "bool", "False"),
        EnvVar("SGLANG_AD_HOC", "ad hoc", "bool"),
        EnvVar("SGLANG_DSV4_FP4_EXPERTS", "registry", "str"),
        EnvVar("SGLANG_GC_LOG", "deprecated", use="SGLANG_LOG_GC"),
        EnvVar("SGLANG_OLD_SWITCH", "deprecated", use="--enable-mis"),
        EnvVar("SGLANG_OLD", "deprecated"),
    )
}
HISTORY = History(
    ("0.5.12", "0.5.15", "0.5.23"),
    env={
        "SGLANG_ENABLE_THINKING": (Span("0.5.12", "0.5.15"),),
        "SGLANG_CUTLASS_MOE": (Span("0.5.9", "0.5.15"),),
        "SGLANG_NEW": (Span("0.5.20"),),
    },
    replacements={"SGLANG_ENABLE_THINKING": Replacement("0.5.15", "SGLANG_DEFAULT_THINKING")},
)


def given(env: dict[str, str], version: str | None = "0.5.15") -> Setup:
    made = setup(env=env, single="--model-path /m")
    return replace(made, upstream=replace(made.upstream, env=KNOWN, version=version), history=HISTORY)


def told(made: Setup) -> list[tuple[str, str, str]]:
    return [(fired.rule.id, fired.hit.message, fired.hit.hint) for fired in run(made, RULES)]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (
            "SGLANG_LOG_GCC",
            "1",
            ("ENV-UNKNOWN", "nothing in sglang 0.5.15 reads SGLANG_LOG_GCC", "did you mean SGLANG_LOG_GC?"),
        ),
        ("SGL_NOTHING_AT_ALL", "1", ("ENV-UNKNOWN", "nothing in sglang 0.5.15 reads SGL_NOTHING_AT_ALL", "")),
        ("SGLANG_NEW", "1", ("ENV-UNKNOWN", "nothing in sglang 0.5.15 reads SGLANG_NEW", "added in 0.5.20")),
        (
            "SGLANG_GC_LOG",
            "1",
            (
                "ENV-DEPRECATED",
                "SGLANG_GC_LOG is an old name in sglang 0.5.15: it is SGLANG_LOG_GC now",
                "write SGLANG_LOG_GC",
            ),
        ),
        (
            "SGLANG_OLD_SWITCH",
            "1",
            (
                "ENV-DEPRECATED",
                "SGLANG_OLD_SWITCH is an old name in sglang 0.5.15: it is --enable-mis now",
                "write --enable-mis",
            ),
        ),
        ("SGLANG_OLD", "1", ("ENV-DEPRECATED", "SGLANG_OLD is an old name in sglang 0.5.15", "leave it out")),
        (
            "SGL_LOG_GC",
            "1",
            ("ENV-DEPRECATED", "SGL_LOG_GC is copied to SGLANG_LOG_GC, with a warning", "write SGLANG_LOG_GC"),
        ),
        (
            "SGLANG_ENABLE_THINKING",
            "1",
            ("ENV-DROPPED", "SGLANG_ENABLE_THINKING is ignored since 0.5.15", "write SGLANG_DEFAULT_THINKING"),
        ),
        ("SGLANG_CUTLASS_MOE", "1", ("ENV-DROPPED", "SGLANG_CUTLASS_MOE is ignored since 0.5.15", "leave it out")),
        (
            "SGLANG_LOG_GC",
            "on",
            ("ENV-BOOL", "SGLANG_LOG_GC=on is no yes or no: sglang takes its default, False", "write 1 or 0"),
        ),
        ("SGLANG_AD_HOC", "yes", ("ENV-BOOL", "SGLANG_AD_HOC=yes is no yes or no: sglang takes false", "write 1 or 0")),
        (
            "NCCL_TIMEOUT",
            "60",
            (
                "ENV-UNKNOWN",
                "NCCL_TIMEOUT may be read by nothing: neither NCCL nor sglang documents it",
                "sglang has --dist-timeout, in seconds",
            ),
        ),
    ],
)
def test_one_finding_for_a_variable(name: str, value: str, expected: tuple[str, str, str]) -> None:
    assert told(given({name: value})) == [expected]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SGLANG_LOG_GC", "YES"),
        ("SGLANG_AD_HOC", "True"),
        ("SGLANG_DSV4_FP4_EXPERTS", "maybe"),
        ("SGLANG_DG_CACHE_DIR", "/x"),
        ("NCCL_P2P_LEVEL", "SYS"),
        ("OMP_NUM_THREADS", "1"),
    ],
)
def test_variables_that_are_right_or_not_ours(name: str, value: str) -> None:
    assert told(given({name: value})) == []


def test_a_patch_that_reads_a_variable_makes_it_known() -> None:
    made = given({"SGLANG_NEW": "1"})
    known = {**KNOWN, "SGLANG_NEW": EnvVar("SGLANG_NEW", "ad hoc")}
    assert told(replace(made, upstream=replace(made.upstream, env=known))) == []


def test_without_a_version_nobody_says_since_when() -> None:
    assert [rule for rule, _, _ in told(given({"SGLANG_ENABLE_THINKING": "1"}, None))] == ["ENV-UNKNOWN"]


def test_a_tree_without_variables_says_nothing() -> None:
    made = given({"SGLANG_WHATEVER": "1"})
    assert told(replace(made, upstream=replace(made.upstream, env={}))) == []


def test_another_engine_has_no_variables_of_sglang() -> None:
    made = given({"SGLANG_WHATEVER": "1"})
    assert told(replace(made, upstream=replace(made.upstream, engine="standin"))) == []

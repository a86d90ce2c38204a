"""Names that may have been meant: the right one first, and none rather than a bad one."""

from __future__ import annotations

import json

import pytest

from stackctl.core.lint.near import did_you_mean, near
from tests.core.lint.setups import CASES, table

FLAGS = tuple(table("0.5.15").by_name)
SAID = json.loads((CASES / "env-0.5.15.json").read_text())
VARIABLES = tuple(name for kind in SAID.values() if isinstance(kind, list) for name in kind)


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("--reasoning_parser", "--reasoning-parser"),
        ("--KV-Cache-Dtype", "--kv-cache-dtype"),
        ("--enable-hierachical-cache", "--enable-hierarchical-cache"),
        ("--hicahce-ratio", "--hicache-ratio"),
        ("--chunk-prefill-size", "--chunked-prefill-size"),
        ("--max-runing-requests", "--max-running-requests"),
        ("--mem-fraction-statik", "--mem-fraction-static"),
        ("--disable-overlap-scheduler", "--disable-overlap-schedule"),
        ("--kv-cache-type", "--kv-cache-dtype"),
        ("--prot", "--port"),
    ],
)
def test_a_flag_that_was_meant(word: str, first: str) -> None:
    assert near(word, FLAGS)[:1] == (first,)


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("sglang_use_cpu_engine", "SGLANG_USE_CPU_ENGINE"),
        ("SGLANG-USE-CPU-ENGINE", "SGLANG_USE_CPU_ENGINE"),
        ("SGLANG_USE_CPU_ENGIN", "SGLANG_USE_CPU_ENGINE"),
        ("SGLANG_OPT_USE_TOPK", "SGLANG_OPT_USE_TOPK_V2"),
        ("SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUTS", "SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT"),
        ("SGL_DSV4_FP4_EXPERTS", "SGLANG_DSV4_FP4_EXPERTS"),
    ],
)
def test_a_variable_that_was_meant(word: str, first: str) -> None:
    assert near(word, VARIABLES)[:1] == (first,)


@pytest.mark.parametrize("word", ["--performance-mode", "--ulysses-degree", "--xyz", "--a", "--", "-", ""])
def test_nothing_rather_than_a_bad_one(word: str) -> None:
    assert near(word, FLAGS) == ()
    assert did_you_mean(word, FLAGS) == ""


@pytest.mark.parametrize("word", ["SGLANG_DSV4_MODE", "SGLANG_X", "SGLANG_", "SGLANG_HACK_FLASHMLA_BACKEND"])
def test_no_variable_rather_than_a_bad_one(word: str) -> None:
    assert near(word, VARIABLES) == ()


def test_values_are_words_too_and_at_most_three_are_offered() -> None:
    assert near("flashinfer_cutlas", ("flashinfer_cutlass", "cutlass", "triton")) == ("flashinfer_cutlass",)
    assert near("deepseek_v4", ("deepseek-v4", "deepseek-v3")) == ("deepseek-v4",)
    assert len(near("--tp-sizes", [f"--tp-size{letter}" for letter in "abcdefgh"])) == 3
    assert did_you_mean("abcdef", ("abcdeg", "abcdeh")) == "did you mean abcdeg or abcdeh?"

"""Rules on names of flags: each fires, stays silent beside it, and keeps to its releases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackctl.core.lint.catalogue import by_id
from stackctl.core.lint.rules.flags import RULES
from stackctl.core.lint.run import run
from stackctl.core.lint.setup import Setup
from stackctl.core.lint.values import Hit
from stackctl.core.upstream.values import Flag, History, Replacement, Span, Upstream
from tests.core.lint.setups import setup

HISTORY = History(
    ("0.5.9", "0.5.12", "0.5.14", "0.5.15", "0.5.20", "0.5.21", "0.5.22", "0.5.23"),
    flags={
        "--cuda-graph-max-bs": (Span("0.5.9", "0.5.20"),),
        "--enforce-piecewise-cuda-graph": (Span("0.5.9", "0.5.20"),),
        "--piecewise-cuda-graph-compiler": (Span("0.5.9", "0.5.20"),),
        "--cuda-graph-tc-compiler": (Span("0.5.20", "0.5.22"),),
        "--enable-nan-detection": (Span("0.5.9", "0.5.13"),),
        "--multi-item-scoring-delimiter": (Span("0.5.9", "0.5.11"),),
        "--hierarchical-sparse-attention-extra-config": (Span("0.5.9", "0.5.10"), Span("0.5.12")),
        "--dsv4-attn-backend": (Span("0.5.20"),),
        "--port-of": (Span("0.5.9", "0.5.10"),),
        "--prot": (Span("0.5.9", "0.5.10"),),
    },
    replacements={
        "--cuda-graph-max-bs": Replacement("0.5.20", "--cuda-graph-max-bs-decode"),
        "--enforce-piecewise-cuda-graph": Replacement("0.5.20", "--cuda-graph-backend-prefill=tc_piecewise"),
        "--piecewise-cuda-graph-compiler": Replacement("0.5.20", "--cuda-graph-tc-compiler"),
        "--cuda-graph-tc-compiler": Replacement("0.5.22"),
        "--enable-nan-detection": Replacement("0.5.13"),
        "--multi-item-scoring-delimiter": Replacement("0.5.11", see="--enable-mis"),
    },
)


def hits(command: str, version: str = "0.5.15", **more: str) -> list[tuple[str, str, str]]:
    given = setup(version=version, single=f"--model-path /m {command}", **more)
    return told(replace(given, history=HISTORY))


def told(given: Setup) -> list[tuple[str, str, str]]:
    return [(fired.rule.id, fired.hit.message, fired.hit.hint) for fired in run(given, RULES)]


@pytest.mark.parametrize(
    ("command", "version", "expected"),
    [
        (
            "--reasoning_parser x",
            "0.5.15",
            ("FLAG-UNKNOWN", "sglang 0.5.15 has no flag --reasoning_parser", "did you mean --reasoning-parser?"),
        ),
        ("--kt-magic 1", "0.5.15", ("FLAG-UNKNOWN", "sglang 0.5.15 has no flag --kt-magic", "")),
        (
            "--dsv4-attn-backend auto",
            "0.5.15",
            ("FLAG-UNKNOWN", "sglang 0.5.15 has no flag --dsv4-attn-backend", "added in 0.5.20"),
        ),
        (
            "--cuda-graph-max-bs 8",
            "0.5.23",
            ("FLAG-REMOVED", "--cuda-graph-max-bs went away in 0.5.20", "write --cuda-graph-max-bs-decode"),
        ),
        (
            "--enforce-piecewise-cuda-graph",
            "0.5.23",
            ("FLAG-REMOVED", "--enforce-piecewise-cuda-graph went away in 0.5.20", "leave it out"),
        ),
        (
            "--piecewise-cuda-graph-compiler eager",
            "0.5.23",
            ("FLAG-REMOVED", "--piecewise-cuda-graph-compiler went away in 0.5.20", "leave it out"),
        ),
        (
            "--enable-nan-detection",
            "0.5.15",
            ("FLAG-REMOVED", "--enable-nan-detection went away in 0.5.13", "leave it out"),
        ),
        (
            "--multi-item-scoring-delimiter 3",
            "0.5.15",
            (
                "FLAG-REMOVED",
                "--multi-item-scoring-delimiter went away in 0.5.11",
                "leave it out; --enable-mis is related",
            ),
        ),
        ("--pp 2", "0.5.15", ("FLAG-AMBIGUOUS", None, "write the name out")),
        (
            "--trust-remote",
            "0.5.15",
            (
                "FLAG-ABBREV",
                "--trust-remote is read as --trust-remote-code and may break with a new flag",
                "write --trust-remote-code",
            ),
        ),
        (
            "--gpu-memory-utilization 0.9",
            "0.5.15",
            (
                "FOREIGN-FLAG",
                "--gpu-memory-utilization is a flag of vLLM; sglang 0.5.15 does not know it",
                "see --mem-fraction-static",
            ),
        ),
        (
            "--enable-auto-tool-choice",
            "0.5.15",
            (
                "FOREIGN-FLAG",
                "--enable-auto-tool-choice is a flag of vLLM; sglang 0.5.15 does not know it",
                "leave it out",
            ),
        ),
    ],
)
def test_one_finding_for_a_name(command: str, version: str, expected: tuple[str, str | None, str]) -> None:
    ((rule, message, hint),) = hits(command, version)
    assert (rule, hint) == (expected[0], expected[2])
    assert message == expected[1] or expected[1] is None


@pytest.mark.parametrize(
    ("command", "version"),
    [
        ("--tp-size 2 --model /m --tensor-parallel-size 2 --ep 1", "0.5.15"),
        ("--cuda-graph-max-bs-decode 8", "0.5.15"),
        ("--dsv4-attn-backend auto", "0.5.23"),
        ("--dp-size=2", "0.5.12"),
    ],
)
def test_names_that_are_right(command: str, version: str) -> None:
    assert hits(command, version) == []


def test_the_usual_abbreviations_are_information() -> None:
    given = replace(setup(single="--model-path /m --tp 2 --dp 1 --context-len 5"), history=HISTORY)
    assert [(fired.hit.place.name, fired.severity) for fired in run(given, RULES)] == [
        ("tp", "info"),
        ("dp", "info"),
        ("context-len", "warning"),
    ]


def test_deprecated_says_what_to_write_and_ends_with_its_release() -> None:
    assert [rule for rule, _, _ in hits("--cuda-graph-max-bs 8", "0.5.15")] == ["FLAG-DEPRECATED"]
    assert [rule for rule, _, _ in hits("--cuda-graph-max-bs 8", "0.5.12")] == []
    assert [rule for rule, _, _ in hits("--enable-dp-attention", "0.5.15")] == []
    assert [rule for rule, _, _ in hits("--enable-dp-attention", "0.5.23")] == ["FLAG-DEPRECATED"]
    idle = Flag(("--idle",), "idle", 0, deprecated=True, action="DeprecatedAction")
    assert told(_of(Upstream("sglang", "0.5.15", "argparse", (idle,)), "--idle")) == [
        ("FLAG-DEPRECATED", "--idle is deprecated in sglang 0.5.15", "it does nothing any more: leave it out")
    ]
    flag = Flag(("--old",), "old", 0, deprecated=True, use="--new")
    assert told(_of(Upstream("sglang", "0.5.15", "argparse", (flag,)), "--old")) == [
        ("FLAG-DEPRECATED", "--old is deprecated in sglang 0.5.15", "write --new")
    ]


def _of(table: Upstream, command: str) -> Setup:
    from stackctl.core.lint.argv import read

    given = setup(single="")
    argv = tuple(command.split())
    options, left = read(argv, table)
    (process,) = given.processes
    process = replace(process, argv=argv, options=options, left=left, table=table)
    return replace(given, upstream=table, processes=(process,), history=HISTORY)


def test_a_removed_name_that_another_flag_begins_with_would_be_taken_silently() -> None:
    table = Upstream("sglang", "0.5.15", "argparse", (Flag(("--port-of-call",), "port_of_call"),))
    ((rule, message, _),) = told(_of(table, "--port-of 1"))
    assert (rule, message) == (
        "FLAG-REMOVED",
        "--port-of went away in 0.5.10 and would be read as --port-of-call",
    )


def test_a_flag_that_comes_back_says_so() -> None:
    table = Upstream("sglang", "0.5.11", "argparse", (Flag(("--port",), "port"),))
    ((rule, _, hint),) = told(_of(table, "--hierarchical-sparse-attention-extra-config {}"))
    assert (rule, hint) == ("FLAG-REMOVED", "leave it out; it is back in 0.5.12")


def test_a_patch_may_bring_a_flag_back_or_add_one() -> None:
    flags = (Flag(("--enable-nan-detection",), "enable_nan_detection", 0), Flag(("--kt-method",), "kt_method"))
    assert told(_of(Upstream("sglang", "0.5.15", "argparse", flags), "--enable-nan-detection --kt-method A")) == []


def test_without_a_version_only_the_table_speaks() -> None:
    table = Upstream("sglang", None, "argparse", (Flag(("--port",), "port"),))
    assert told(_of(table, "--cuda-graph-max-bs 8 --dsv4-attn-backend x --nothing")) == [
        ("FLAG-UNKNOWN", "this sglang has no flag --cuda-graph-max-bs", "sglang 0.5.9 has it, 0.5.20 has not"),
        ("FLAG-UNKNOWN", "this sglang has no flag --dsv4-attn-backend", "sglang 0.5.20 has it"),
        ("FLAG-UNKNOWN", "this sglang has no flag --nothing", ""),
    ]


def test_another_engine_has_its_own_names_and_no_history() -> None:
    table = Upstream("standin", None, "argparse", (Flag(("--port",), "port"),))
    assert told(_of(table, "--gpu-memory-utilization 1 --prot 2 --cuda-graph-max-bs 1")) == [
        ("FLAG-UNKNOWN", "standin has no flag --gpu-memory-utilization", ""),
        ("FLAG-UNKNOWN", "standin has no flag --prot", "did you mean --port?"),
        ("FLAG-UNKNOWN", "standin has no flag --cuda-graph-max-bs", ""),
    ]


def test_a_table_that_could_not_be_read_says_nothing() -> None:
    assert told(_of(Upstream("sglang", "0.5.15", "none"), "--whatever --pp 3")) == []


def test_a_table_with_holes_makes_an_unknown_flag_a_warning() -> None:
    table = Upstream("sglang", "0.5.15", "argparse", (Flag(("--port",), "port"),), unknown=("x.py: not followed",))
    (fired,) = run(_of(table, "--whatever 1"), RULES)
    assert fired.severity == "warning"
    assert fired.hit.message == "sglang 0.5.15 has no flag --whatever, as far as its source could be read"


def test_the_router_has_no_table() -> None:
    given = setup(single="--model-path /m", router="--whatever 1")
    assert told(given) == []


def test_hits_name_the_flag_as_written_and_the_process() -> None:
    given = setup(prefill="--model-path /m --reasoning_parser=x", decode="--model-path /m")
    (hit,) = (fired.hit for fired in run(given, RULES))
    assert isinstance(hit, Hit)
    assert (hit.place.kind, hit.place.name, hit.place.instance) == ("flag", "reasoning_parser", "prefill-0")
    assert by_id()["FLAG-UNKNOWN"].severity == "error"

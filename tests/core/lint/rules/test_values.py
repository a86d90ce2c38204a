"""Rules on values and on the form of a command."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackctl.core.lint.rules.values import CONTINUES, RULES, left_behind
from stackctl.core.lint.run import run
from stackctl.core.lint.setup import Setup
from stackctl.core.upstream.values import Flag, History, Span
from tests.core.lint.setups import process, setup, table

HISTORY = History(
    ("0.5.12", "0.5.15", "0.5.23"),
    choices={
        "--quantization": {"qoq": (Span("0.5.9", "0.5.16"),)},
        "--kv-cache-dtype": {"nvfp4": (Span("0.5.16"),)},
    },
)


def hits(command: str, version: str = "0.5.15", module: str = "sglang.launch_server") -> list[tuple[str, str, str]]:
    given = setup(version=version, single=command)
    (one,) = given.processes
    return told(replace(given, history=HISTORY, processes=(replace(one, module=module),)))


def told(given: Setup) -> list[tuple[str, str, str]]:
    return [(fired.rule.id, fired.hit.message, fired.hit.hint) for fired in run(given, RULES)]


@pytest.mark.parametrize(
    ("command", "message", "hint"),
    [
        (
            "--moe-runner-backend flashinfer_cutlas",
            "flashinfer_cutlas is not a value of --moe-runner-backend in sglang 0.5.15",
            "did you mean flashinfer_cutlass?",
        ),
        (
            "--disaggregation-mode both",
            "both is not a value of --disaggregation-mode in sglang 0.5.15",
            "one of null, prefill, decode",
        ),
        (
            "--kv-cache-dtype nvfp4",
            "nvfp4 is not a value of --kv-cache-dtype in sglang 0.5.15",
            "since 0.5.16; one of auto, fp8_e5m2, fp8_e4m3, bf16, bfloat16, fp4_e2m1",
        ),
        ("--tool-call-parser deepseek_v4", "deepseek_v4 is not a value of --tool-call-parser in sglang 0.5.15", None),
        ("--port", "--port: expected one argument", ""),
        ("--cuda-graph-bs-decode", "--cuda-graph-bs-decode: expected at least one argument", ""),
        (
            "--enable-metrics=true",
            "--enable-metrics: ignored explicit argument 'true'",
            "a switch takes no value: write --enable-metrics, or leave it out",
        ),
        (
            "--enable-metrics true",
            "--enable-metrics takes no value: true is left over",
            "a switch takes no value: write --enable-metrics, or leave it out",
        ),
        ("--enable-metrics ' '", "--enable-metrics takes no value: a word of 1 blank is left over", CONTINUES),
        ("--cuda-graph-bs-decode=1 2 4", "--cuda-graph-bs-decode takes 1 value: 2 4 is left over", ""),
        ("/models/x --port 3", "/models/x belongs to no flag", ""),
    ],
)
def test_what_the_parser_would_refuse(command: str, message: str, hint: str | None) -> None:
    ((rule, said, meant),) = hits(command)
    assert (rule, said) == ("CHOICE", message)
    assert hint is None or meant == hint


@pytest.mark.parametrize(
    "command",
    [
        "--moe-runner-backend flashinfer_cutlass --kv-cache-dtype fp8_e4m3 --enable-metrics",
        "--cuda-graph-bs-decode 1 2 4 --port 3",
        "--chunked-prefill-size -1",
        "--no-such-flag with values",  # told by its name
    ],
)
def test_what_the_parser_takes(command: str) -> None:
    assert hits(command) == []


def test_numbers_are_checked_where_the_type_is_known() -> None:
    number = Flag(("--port",), "port", type="int")
    known = replace(table("0.5.15"), flags=(number, Flag(("--free",), "free", type=None)))
    for command, count in (("--port x", 1), ("--port 1.5", 1), ("--port 15", 0), ("--free x", 0)):
        given = setup(single="")
        one = process("single", command)
        from stackctl.core.lint.argv import read

        options, left = read(one.argv, known)
        given = replace(given, upstream=known, processes=(replace(one, options=options, left=left, table=known),))
        assert len(told(given)) == count, command


def test_choices_that_could_not_be_read_are_not_checked() -> None:
    flags = (Flag(("--x",), "x", choices=("a",), unknown=("choices",)),)
    from stackctl.core.lint.argv import read

    known = replace(table("0.5.15"), flags=flags)
    one = process("single", "--x b")
    options, left = read(one.argv, known)
    assert told(replace(setup(single=""), processes=(replace(one, options=options, left=left, table=known),))) == []


@pytest.mark.parametrize(
    ("command", "version", "fires"),
    [
        ("--tool-call-parser glm45", "0.5.15", True),
        ("--tool-call-parser glm47", "0.5.15", False),
        ("--tool-call-parser qwen25", "0.5.23", True),
        ("--attention-backend compressed", "0.5.15", True),
        ("--prefill-attention-backend compressed", "0.5.15", True),
        ("--reasoning-parser glm45", "0.5.15", False),
        ("--attention-backend dsv4", "0.5.15", False),
    ],
)
def test_old_names_of_values(command: str, version: str, fires: bool) -> None:
    assert [rule for rule, _, _ in hits(command, version)] == ["VALUE-DEPRECATED"] * fires


@pytest.mark.parametrize(
    ("command", "messages"),
    [
        ("--config=a.yaml", ["--config=FILE is accepted and its file is not read"]),
        ("--config a.json", ["--config wants a .yaml or .yml file, not a.json"]),
        ("--config a.yaml --config b.YML", ["--config is given twice: sglang takes one file"]),
        ("--config a.yaml", []),
    ],
)
def test_config_files(command: str, messages: list[str]) -> None:
    assert [message for rule, message, _ in hits(command) if rule == "CONFIG-FILE"] == messages


@pytest.mark.parametrize(
    ("version", "fires"), [("0.5.9", True), ("0.5.15", True), ("0.5.16", False), ("0.5.23", False)]
)
def test_a_bare_model_is_understood_from_0_5_16(version: str, fires: bool) -> None:
    found = hits("org/model --tp-size 4", version, "sglang serve")
    assert [(rule, hint) for rule, _, hint in found] == [("SERVE-POSITIONAL", "write --model-path org/model")] * fires
    assert hits("--model-path org/model", version, "sglang serve") == []


def test_a_second_bare_word_of_serve_is_no_model() -> None:
    assert [message for _, message, _ in hits("m extra --tp-size 4", "0.5.23", "sglang serve")] == [
        "extra belongs to no flag"
    ]


def test_modules_that_are_gone() -> None:
    ((rule, message, hint),) = hits("--port 3", module="sglang.srt.disaggregation.mini_lb")
    assert (rule, message) == ("MODULE-REMOVED", "sglang.srt.disaggregation.mini_lb is gone from sglang")
    assert "sglang_router.launch_router" in hint


def test_words_left_behind_know_their_option() -> None:
    one = process("single", "a b --port 3 c --enable-metrics d e --cuda-graph-bs-decode 1 2 -- z")
    found = [(option.name if option else None, words) for option, words in left_behind(one)]
    assert found == [
        (None, ("a", "b")),
        ("port", ("c",)),
        ("enable-metrics", ("d", "e")),
        ("cuda-graph-bs-decode", ("--", "z")),
    ]

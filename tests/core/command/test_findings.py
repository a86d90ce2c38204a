"""Where findings of a command point, and what is left unsaid because it cannot be known."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stackctl.core.command.findings import findings
from stackctl.core.command.launches import launches
from stackctl.core.command.setup import Ground, readings
from stackctl.core.command.sources import read
from stackctl.core.lint.catalogue import RULES
from stackctl.core.lint.setup import Card, ModelView, Setup
from stackctl.core.lint.values import Finding, Hit, Place, Rule
from stackctl.core.upstream.values import History, Replacement, Span
from tests.core.lint.setups import SM120, table

HISTORY = History(
    ("0.5.15", "0.5.23"), {"--old": (Span("0.5.9", "0.5.12"),)}, replacements={"--old": Replacement("0.5.12", "--new")}
)


def lint(
    text: str, rules: tuple[Rule, ...] = RULES, *, card: Card | None = SM120, model: ModelView | None = None
) -> list[Finding]:
    found = readings(launches(read("serve.sh", text.encode())), Ground(table(), HISTORY, card, model))
    return [one for reading in found for one in findings(reading, rules)]


def told(text: str, *, loud: bool = True, card: Card | None = SM120) -> list[str]:
    kinds = ("error", "warning") if loud else ("error", "warning", "info")
    return [f"{one.where}: {one.rule}" for one in lint(text, card=card) if one.severity in kinds]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sglang serve --model-path /m --nope 1", ["serve.sh:1:30: FLAG-UNKNOWN"]),
        ("sglang serve \\\n  --model-path /m \\\n  --old 1", ["serve.sh:3:3: FLAG-REMOVED"]),
        ("A=(\n --model-path /m\n --grammar-backend x\n)\nsglang serve \"${A[@]}\"", ["serve.sh:3:2: CHOICE"]),
        ("SGLANG_NOPE=1 sglang serve --model-path /m", ["serve.sh:1:13: ENV-UNKNOWN"]),
        ("export SGLANG_NOPE='1'\nsglang serve --model-path /m", ["serve.sh:1:21: ENV-UNKNOWN"]),
        ("sglang serve /m", ["serve.sh:1:14: SERVE-POSITIONAL"]),
        ("python -m sglang.srt.disaggregation.mini_lb --port 1", ["serve.sh:1:1: MODULE-REMOVED"]),
        ("sglang serve --model-path a/V4 --moe-runner-backend=x", ["serve.sh:1:32: CHOICE"]),
    ],
)  # fmt: skip
def test_a_finding_points_at_the_word(text: str, expected: list[str]) -> None:
    assert [one for one in told(text) if "SPARSE-PREFILL" not in one] == expected


def test_what_is_missing_is_told_at_the_program() -> None:
    found = lint("\nnohup python -m sglang.launch_server --model-path a/DeepSeek-V4-Flash-NVFP4 &")
    (auto,) = [one for one in found if one.rule == "SM120-DSV4-NVFP4-AUTO"]
    assert (str(auto.where), auto.key) == ("serve.sh:2:7", "")


def test_one_line_of_two_processes_is_one_finding() -> None:
    text = 'A="--nope 1"\nsglang serve --model-path /m --port 1 $A &\nsglang serve --model-path /m --port 2 $A'
    (one,) = [one for one in lint(text) if one.rule == "FLAG-UNKNOWN"]
    assert (str(one.where), one.instances) == ("serve.sh:1:4", ("single-0", "single-1"))


def test_two_models_of_one_file_are_two_deployments() -> None:
    text = "sglang serve --model-path a/DeepSeek-V4-Flash\nsglang serve --model-path b/Qwen3-8B --page-size 64"
    assert "DSV4-PAGE" not in [one.rule for one in lint(text)]
    assert "DSV4-PAGE" in [one.rule for one in lint(text.replace("b/Qwen3-8B", "a/DeepSeek-V4-Flash"))]


PAIR = "sglang serve --model-path /m --disaggregation-mode prefill --port 30000 --page-size 64{0}\n" \
    "sglang serve --model-path /m --disaggregation-mode decode --port 30300 --page-size {1}"  # fmt: skip


def test_prefill_and_decode_of_one_file_are_compared() -> None:
    assert "PD-PAGE" in [one.rule for one in lint(PAIR.format("", "128"))]
    assert "PD-PAGE" not in [one.rule for one in lint(PAIR.format("", "64"))]


@pytest.mark.parametrize("second", ["$PAGE", "${PAGE}", "$(cat page)"])
def test_a_value_that_is_unknown_is_compared_with_nothing(second: str) -> None:
    assert "PD-PAGE" not in [one.rule for one in lint(PAIR.format("", second))]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("sglang serve --model-path /m --page-size $P", []),
        ("sglang serve --model-path /m --page-size=$P", []),
        ("sglang serve --model-path /m --nope $P", ["FLAG-UNKNOWN"]),
        ("sglang serve --model-path /m --gpu-memory-utilization $P", ["FOREIGN-FLAG"]),
        ("sglang serve --model-path a/DeepSeek-V4-Flash-NVFP4 --moe-runner-backend $P", []),
        ("sglang serve --model-path a/DeepSeek-V4-Flash-NVFP4 $EXTRA", []),
        ("sglang serve --model-path a/DeepSeek-V4-Flash-NVFP4 \"$@\"", []),
        ("sglang serve --model-path a/DeepSeek-V4-Flash-NVFP4 --cuda-graph-bs-decode 1 $EXTRA", []),
        ("sglang serve $A$B --model-path /m --grammar-backend x", ["CHOICE"]),
        ("SGLANG_NOPE=$X sglang serve --model-path /m", ["ENV-UNKNOWN"]),
        ("SGLANG_LOG_GC=$X sglang serve --model-path /m", []),
        ("source x.env\nSGLANG_LOG_GCC=1 sglang serve --model-path /m", ["ENV-UNKNOWN"]),
        ("sglang serve --model-path $X --page-size 64", []),
        ("sglang serve --model-path $D/DeepSeek-V4-Flash --page-size 64", ["DSV4-PAGE"]),
        ("M=''\nwhile x; do case $1 in -m) M=\"$2\";; esac; done\nsglang serve --model-path \"$M\" --tp 2", []),
        ("P=''\nif x; then P=5; fi\nsglang serve --model-path /m --port $P --page-size 64", []),
        ("sglang-router --pd-disaggregation $WORKERS --port 1", []),
    ],
)  # fmt: skip
def test_nothing_is_said_about_what_is_unknown(text: str, kept: list[str]) -> None:
    found = [one.rpartition(" ")[2] for one in told(text)]
    assert [one for one in found if one != "SM120-SPARSE-PREFILL"] == kept


def test_a_variable_of_a_file_that_was_not_read_may_be_set() -> None:
    rules = [
        one.rule for one in lint("sglang serve --model-path a/DeepSeek-V4-Flash-NVFP4 --moe-runner-backend marlin")
    ]
    assert "SM120-SPARSE-PREFILL" in rules
    text = "source .env\nsglang serve --model-path a/DeepSeek-V4-Flash-NVFP4 --moe-runner-backend marlin"
    assert "SM120-SPARSE-PREFILL" not in [one.rule for one in lint(text)]


@pytest.mark.parametrize(
    ("added", "kept"),
    [
        ("--nope 1", ["FLAG-UNKNOWN"]),
        ("--grammar-backend x", ["CHOICE"]),
        ("--page-size 64", []),
        ("--moe-runner-backend flashinfer_trtllm", []),
    ],
)
def test_of_an_option_under_a_condition_only_its_writing_is_judged(added: str, kept: list[str]) -> None:
    text = f"A=''\nif [ $X ]; then A=\"{added}\"; fi\nsglang serve --model-path a/DeepSeek-V4-Flash $A"
    found = [one.rpartition(" ")[2] for one in told(text)]
    assert [one for one in found if one not in ("SM120-SPARSE-PREFILL", "INDEX-LOGITS-MEMORY")] == kept


def _host(setup: Setup) -> Iterator[Hit]:
    for one in setup.processes:
        yield Hit(f"{one.host} {one.gpus} {dict(one.container or {})}", Place("key", "x", one.id))


SEEN = Rule("SEEN", "info", _host, "", "")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("sglang serve --model-path /m", "local () {}"),
        ("sglang serve --model-path /m --tp 2", "local (0, 1) {}"),
        ("sglang serve --model-path /m --tp 2 --base-gpu-id 4", "local (4, 5) {}"),
        ("CUDA_VISIBLE_DEVICES=2,3,5 sglang serve --model-path /m", "local (2, 3, 5) {}"),
        ("CUDA_VISIBLE_DEVICES=2,3,5 sglang serve --model-path /m --tp 2", "local (2, 3) {}"),
        ("CUDA_VISIBLE_DEVICES=$G sglang serve --model-path /m --tp 2", "local () {}"),
        ("sglang serve --model-path /m --tp 16 --nnodes 2", "local (0, 1, 2, 3, 4, 5, 6, 7) {}"),
        ("ssh gpu1 sglang serve --model-path /m", "gpu1 () {}"),
        ("if x; then sglang serve --model-path /m; fi", "local, line 1 () {}"),
        ("docker run --ipc host img sglang serve --model-path /m --tp 2", "local () {'ipc': 'host'}"),
    ],
)  # fmt: skip
def test_host_cards_and_container_are_what_the_command_says(text: str, seen: str) -> None:
    assert [one.message for one in lint(text, (SEEN,))] == [seen]


def test_what_the_user_says_of_the_model_counts() -> None:
    rules = [
        one.rule for one in lint("sglang serve --model-path /m --page-size 64", model=ModelView("", "deepseek-v4"))
    ]
    assert "DSV4-PAGE" in rules


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        (PAIR.format("", "64"), True),
        (PAIR.format("", "64").split("\n")[0], False),
        ("sglang serve --model-path /m", False),
        ("sglang serve --model-path /m --port 1\nsglang-router --worker-urls http://h:1", True),
    ],
)
def test_a_deployment_is_whole_when_both_sides_are_there(text: str, complete: bool) -> None:
    (one,) = readings(launches(read("x.sh", text.encode())), Ground(table(), HISTORY))
    assert one.sure.complete == complete


def test_two_models_in_one_deployment_are_none() -> None:
    """Rules of a model ask for one that all engines have."""
    serve = "python -m sglang.launch_server --model-path a/DeepSeek-V4-Flash{} --disaggregation-mode {} --port {} &\n"
    text = serve.format("-NVFP4", "prefill", 30000) + serve.format("{}", "decode", 30300)
    for other, family in (("-NVFP4", "deepseek-v4"), ("", None)):
        script = text.replace("{}", other)
        (reading,) = readings(launches(read("serve.sh", script.encode())), Ground(table(), HISTORY, SM120, None))
        assert reading.whole.model.family == family

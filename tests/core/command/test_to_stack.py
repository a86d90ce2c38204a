"""The stack that a command becomes starts what the command started: the same flags, values and variables."""

from __future__ import annotations

import shlex

import pytest

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.core.command.launches import launches
from stackctl.core.command.setup import Ground, Reading, readings
from stackctl.core.command.sources import read
from stackctl.core.command.to_stack import Made, Wish, to_stack
from stackctl.core.lint.argv import read as read_argv
from stackctl.core.lint.setup import Option, Process
from stackctl.core.names import Digest
from stackctl.core.render.launch import launches as rendered
from stackctl.core.stack.resolved import PypiBase, ResolvedStack
from stackctl.core.upstream.values import History
from tests.core.lint.setups import SM120, table
from tests.launch_corpus import cases
from tests.workspaces import ports_of

BASE = PypiBase("sglang==0.5.15", Digest("ab" * 32))
MADE = {"host", "--host", "--prometheus-port"}  # a stack binds and measures as it sees fit
DEFAULTS = {"disaggregation_bootstrap_port": ("8998",)}
PD = """
M=/models/V4
COMMON=(--model-path $M --served-model-name v4 --tp 4 --tool-call-parser deepseekv4)
export SGLANG_LOG_GC=1 HF_TOKEN=$HF_TOKEN
CUDA_VISIBLE_DEVICES=0,1,2,3 python -m sglang.launch_server "${COMMON[@]}" --disaggregation-mode prefill \\
  --port 30000 --disaggregation-bootstrap-port 9000 --chunked-prefill-size 8192 &
CUDA_VISIBLE_DEVICES=4,5,6,7 A='x: y' python -m sglang.launch_server "${COMMON[@]}" --disaggregation-mode decode \\
  --port 30300 --cuda-graph-bs-decode 1 2 4 --json-model-override-args '{"a": [1, "b"]}' &
python -m sglang_router.launch_router --pd-disaggregation --prefill http://127.0.0.1:30000 9000 \\
  --decode http://127.0.0.1:30300 --port 8000 --policy cache_aware
"""


def read_text(text: str, **more: object) -> tuple[Reading, ...]:
    ground = Ground(table(), History(()), **more)  # type: ignore[arg-type]
    return readings(launches(read("serve.sh", text.encode())), ground)


def made(text: str, **wish: object) -> Made:
    return to_stack(read_text(text), Wish("main", "serve.sh", BASE, **wish))  # type: ignore[arg-type]


def stack_of(text: str) -> ResolvedStack:
    return load(ports_of({"stacks/main.yaml": text}), Selection("main"))


def meaning(options: tuple[Option, ...], left: tuple[str, ...]) -> dict[str, set[tuple[str, ...]] | tuple[str, ...]]:
    """By what a flag sets: the last value, of the router all of them."""
    found: dict[str, set[tuple[str, ...]] | tuple[str, ...]] = {}
    for option in options:
        if option.flag is not None:
            found[option.flag.dest] = option.values
        else:
            values = found.setdefault(option.word, set())
            assert isinstance(values, set)
            values.add(option.values)
    if left:
        found["model_path"] = left
    return {name: value for name, value in found.items() if name not in MADE and value != DEFAULTS.get(name)}


def started(process: Process) -> tuple[str, object, dict[str, str]]:
    env = {name: value for name, value in process.env.items() if name != "HF_TOKEN"}
    said = meaning(process.options, process.left)
    if process.role != "router":
        said.setdefault("served_model_name", said["model_path"])  # sglang's own default
        said.setdefault("port", ("30000",))
    return process.id, said, env


def rendered_of(stack: ResolvedStack) -> list[tuple[str, object, dict[str, str]]]:
    out = []
    for launch in rendered(stack):
        options, left = read_argv(launch.argv[2:], None if launch.role == "router" else table())
        out.append((launch.instance, meaning(options, left), dict(launch.env)))
    return out


SINGLES = sorted({one.id: one.command for one in cases("0.5.15")}.items())


@pytest.mark.parametrize("command", [pytest.param(command, id=name) for name, command in SINGLES])
def test_a_command_comes_back_from_its_stack_or_is_refused_with_words(command: str) -> None:
    found = read_text(command)
    text = to_stack(found, Wish("main", "command", BASE))
    if text.problems:
        assert not text.text
        assert all(problem.message and problem.where for problem in text.problems)
        return
    assert rendered_of(stack_of(text.text)) == [started(process) for process in found[0].sure.processes]


def test_most_commands_of_one_engine_can_be_said() -> None:
    refused = [name for name, command in SINGLES if made(command).problems]
    other = {name for name, command in SINGLES if "--disaggregation-mode" in command or "router" in command}
    assert set(refused) - other == {"i12818-underscore", "i17880-6000d-dsv31-fp4", "pr8063-minilb"}


def test_prefill_decode_and_their_router() -> None:
    text = made(PD)
    assert text.problems == ()
    stack = stack_of(text.text)
    assert rendered_of(stack) == [started(process) for process in read_text(PD)[0].sure.processes]
    assert stack.secrets == ("HF_TOKEN",)
    assert [one.gpus for one in stack.engines] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert dict(stack.engines[0].flags) == {"tp-size": 4, "chunked-prefill-size": 8192}


def test_what_has_to_be_added_is_marked() -> None:
    text = made(
        "sglang serve /m --disaggregation-mode prefill --port 1000 &\nsglang serve /m --disaggregation-mode decode"
    ).text
    assert "port: 31000                      # of no command: two engines need a router in front" in text
    assert "port: 30000                      # sglang's default" in text
    assert "name: /m    # sglang's default: the path; clients ask for it" in text
    assert stack_of(text).router is not None


def test_hosts_of_the_user_and_of_ssh() -> None:
    text = made("/opt/py/bin/python3 -m sglang.launch_server --model-path /m", hosts={"gpu1": "ops@gpu1.example"}).text
    host = stack_of(text).hosts["gpu1"]
    assert (host.address, host.python) == ("ops@gpu1.example", "/opt/py/bin/python3")
    text = made("ssh ops@gpu2.example 'sglang serve /m'").text
    assert stack_of(text).hosts["gpu2.example"].address == "gpu2.example"


def test_the_card_of_the_user_is_the_hosts() -> None:
    found = read_text("sglang serve /m --tp 4", card=SM120)
    host = stack_of(to_stack(found, Wish("main", "x", BASE)).text).hosts["local"]
    assert (host.gpu_count, host.gpu_arch, host.gpu_memory) == (8, "sm_120", 96 << 30)


def test_words_under_a_condition_are_left_out_and_told() -> None:
    text = made('A=(--tp 4)\n[ $x ] && A+=(--log-level debug)\nsglang serve /m "${A[@]}"').text
    assert "# Left out of single-0: --log-level debug" in text
    assert dict(stack_of(text).engines[0].flags) == {"tp-size": 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sglang serve --model-path /m --tp $1", "serve.sh:1:35: what $1 is cannot be known here"),
        ("sglang serve --model-path /m $EXTRA", "what $EXTRA is cannot be known here"),
        ("export A=$(x); sglang serve --model-path /m", "what A is cannot be known here: $(x)"),
        ("sglang serve --model-path /m --chat-template t.jinja", "--chat-template t.jinja: there is no such file here"),
        ("sglang serve --model-path /m --api-key abc", "--api-key holds a secret"),
        ("sglang serve --model-path /m --reasoning_parser x", "--reasoning_parser is not how a flag is written"),
        ("sglang serve --model-path /m a b", "`a` belongs to no flag"),
        ("sglang serve --tp 4", "no --model-path"),
        ("sglang serve --model-path /m --port x", "--port x is no port"),
        ("sglang serve /m --disaggregation-mode prefill", "prefill without decode"),
        ("sglang serve /m --disaggregation-mode decode", "decode without prefill"),
        ("sglang-router --port 1", "a router without engines"),
        ("sglang serve /m --served-model-name caf\ufffd", "caf\ufffd holds a byte that is no UTF-8"),
        ("sglang serve /m\nsglang serve /n", "serve.sh:2:1: a second deployment"),
        ("sglang serve /m --port 1\nsglang serve /m --port 2 --tool-call-parser x", "differ in --tool-call-parser"),
        ("sglang serve /m --port 1\nsglang-router --worker-urls http://h:2", "the router is told of port 2"),
    ],
)  # fmt: skip
def test_what_a_stack_cannot_say_is_refused(text: str, message: str) -> None:
    found = made(text)
    assert found.text == ""
    assert any(message in str(problem) for problem in found.problems), found.problems


def test_a_secret_is_never_written() -> None:
    text = made("export MY_API_KEY=abcdef B=1; sglang serve /m").text
    assert "abcdef" not in text
    assert stack_of(text).secrets == ("MY_API_KEY",)


@pytest.mark.parametrize(
    "value", ["true", "null", "1.10", "007", "-1", "a: b", "- x", "#x", "'q'", '"', "{a}", "é", "~", "", " "]
)
def test_any_value_comes_back(value: str) -> None:
    line = f"A={shlex.quote(value)} sglang serve --model-path /m --log-level {shlex.quote(value)}"
    stack = stack_of(made(line).text)
    argv = rendered(stack)[0].argv
    assert argv[argv.index("--log-level") + 1] == value
    assert rendered(stack)[0].env["A"] == value


def test_a_script_of_two_roles_wants_a_host_for_each() -> None:
    script = "case $1 in prefill) ;; decode) ;; esac\nsglang serve /m --disaggregation-mode $1"
    refused = [str(problem) for problem in made(script).problems]
    assert refused == [
        f"serve.sh:2:1: the script becomes {role} on a machine of its own" for role in ("prefill", "decode")
    ]
    stack = stack_of(made(script, hosts={"prefill": "a@one", "decode": "a@two"}).text)
    assert [(one.id, one.host) for one in stack.engines] == [("prefill-0", "prefill"), ("decode-0", "decode")]


def test_a_key_of_the_engine_has_a_hint_that_can_be_followed() -> None:
    (problem,) = made("sglang serve --model-path /m --api-key abc").problems
    assert "a proxy that asks for one" in (problem.hint or "")
    (problem,) = made("sglang serve --model-path /m --download-dir ghp_abcdefghijklmnopqrstuvwxyz0123456789").problems
    assert "`secrets:`" in (problem.hint or "")

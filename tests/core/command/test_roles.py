"""A script that asks for its role is read once for each role."""

from __future__ import annotations

import pytest

from stackctl.core.command.effort import Effort
from stackctl.core.command.launches import Launch, launches
from stackctl.core.command.lexer import tokens
from stackctl.core.command.roles import dispatch
from stackctl.core.command.sources import read
from stackctl.core.command.words import Text

RUN = '\nsglang serve --model-path /m $ARGS "${MORE[@]}" --disaggregation-mode $ROLE\n'
IF = """ROLE=${1:-prefill}
if [ "$ROLE" = prefill ]; then
  ARGS="--port 1"
  if [ $DEBUG ]; then ARGS="$ARGS --log-level debug"; fi
elif [[ $ROLE == "decode" ]]; then
  ARGS="--port 2"
else
  exit 1
fi"""
CASE = """ROLE=$1
case "$ROLE" in
  prefill|p) ARGS="--port 1"; case $X in a) MORE=(--a);; esac ;;
  decode) ARGS="--port 2" ;;
  *) exit 1
esac"""
SEPARATE = """ROLE=$1
if [ $ROLE == prefill ]; then ARGS="--port 1"; fi
if [ $ROLE = decode ]; then
  ARGS="--port 2"
fi
if [ "$ROLE" != prefill ]; then MORE=(--b); fi"""


def found(text: str) -> dict[str, str]:
    """The role of each launch -> its words; those under a condition in brackets."""

    def words(launch: Launch) -> str:
        return " ".join(f"[{one.text}]" if one.maybe else one.text for one in launch.args)

    return {one.played: words(one) for one in launches(read("serve.sh", text.encode()))}


@pytest.mark.parametrize(
    ("script", "prefill", "decode"),
    [
        (IF, "--port 1 [--log-level] [debug]", "--port 2"),
        (CASE, "--port 1 [--a]", "--port 2"),
        (SEPARATE, "--port 1", "--port 2 --b"),
    ],
)
def test_each_role_has_its_own_words(script: str, prefill: str, decode: str) -> None:
    roles = found("MORE=()\n" + script + RUN)
    assert roles == {
        "prefill": f"--model-path /m {prefill} --disaggregation-mode prefill",
        "decode": f"--model-path /m {decode} --disaggregation-mode decode",
    }


def test_what_all_roles_start_is_started_once() -> None:
    text = "sglang-router --port 1 &\ncase $1 in prefill) sglang serve --tp 1;; decode) sglang serve --tp 2;; esac"
    assert found(text) == {"": "--port 1", "prefill": "--tp 1", "decode": "--tp 2"}


def test_a_branch_with_its_own_launches() -> None:
    text = (
        'if [ "$1" = "prefill" ]; then sglang serve --tp 1\nelif [ "$1" = "decode" ]; then sglang serve --tp 2\n'
        'elif [ "$1" = "router" ]; then sglang-router --port 3\nfi'
    )
    assert found(text) == {"prefill": "--tp 1", "decode": "--tp 2", "router": "--port 3"}


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ("if [ $A = prefill ]; then x; elif [ $A = decode ]; then y; fi", ("A", ("prefill", "decode"))),
        ("case ${1:-decode} in decode) x;; prefill) y;; esac", ("1", ("decode", "prefill"))),
        ("case ${A,,} in prefill) x;; decode) y;; router) z;; esac", ("A", ("prefill", "decode", "router"))),
        ("if [ $A = prefill ]; then x; fi", None),
        ("if [ $A = prefill ]; then x; elif [ $B = decode ]; then y; fi", None),
        ("case $A in a) x;; b) y;; esac", None),
        ("echo prefill decode", None),
    ],
)
def test_which_variable_is_asked(script: str, asked: tuple[str, tuple[str, ...]] | None) -> None:
    assert dispatch(tokens(Text("", script)), Effort()) == asked


@pytest.mark.parametrize(
    "end", ["", "if [ $A = prefill ]; then", "case $A in prefill) x;;", "fi", "esac", "if [ $A = prefill"]
)
def test_what_is_cut_off_is_read_as_far_as_it_goes(end: str) -> None:
    text = "case $A in prefill) sglang serve --tp 1;; decode) sglang serve --tp 2;; esac\n" + end
    assert found(text) == {"prefill": "--tp 1", "decode": "--tp 2"}

"""What a script's commands are: the words that a shell would start, each at its place, and holes for the rest."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stackctl.core.command.script import commands
from stackctl.core.command.words import Simple, Text
from stackctl.errors import InvalidFile


def read(script: str) -> tuple[Simple, ...]:
    return commands(Text("serve.sh", script))


def words(script: str) -> list[list[str]]:
    return [[one.text for one in simple.words] for simple in read(script)]


def run(script: str) -> list[str]:
    """The words of the last command."""
    return words(script)[-1]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("run a b", ["run", "a", "b"]),
        ("run 'a b' \"c d\" e\\ f", ["run", "a b", "c d", "e f"]),
        ("run --a \\\n  --b  # and this\n", ["run", "--a", "--b"]),
        ("run --a=\"x\"'y'z", ["run", "--a=xyz"]),
        ("run '{\"a\": 1}' \"{\\\"b\\\": 2}\"", ["run", '{"a": 1}', '{"b": 2}']),
        ("run $'a\\tb'", ["run", "a\tb"]),
        ("run '' \"\"", ["run", "", ""]),
        ("run a#b #c", ["run", "a#b"]),
        ("run > log 2>&1 < in a", ["run", "a"]),
        ("run 2> log a &", ["run", "a"]),
        ("A=1\r\nrun $A\r\n", ["run", "1"]),
        ("A='x y'; run $A \"$A\"", ["run", "x", "y", "x y"]),
        ("A=x; run pre$A ${A}post", ["run", "prex", "xpost"]),
        ("A='1 2'; run a$A-b", ["run", "a1", "2-b"]),
        ("run ${P:-30000} ${Q-q} ${P:=5} $P", ["run", "30000", "q", "5", "5"]),
        ("P=; run ${P:-d} ${P-d} ${P:+x} .", ["run", "d", "."]),
        ("P=1; run ${P:+--port $P} ${Q+x}", ["run", "--port", "1"]),
        ("run ${A:-${B:-b}}", ["run", "b"]),
        ("B=7; run $((B + 1)) $((B*2-1)) $(( $B / 2 ))", ["run", "8", "13", "3"]),
        ("A=(x 'y z' \\\n # no\n w); run \"${A[@]}\" ${A[@]}", ["run", "x", "y z", "w", "x", "y z", "w"]),
        ("A=(x); A+=(y); run \"${A[@]}\"", ["run", "x", "y"]),
        ("A=x; A+=\" y\"; run $A", ["run", "x", "y"]),
        ("A=(); run \"${A[@]}\" z", ["run", "z"]),
        ("set -- a b; run \"$@\" $2", ["run", "a", "b", "b"]),
        ("f() { run $1 \"$@\"; }; f p q", ["run", "p", "p", "q"]),
        ("f() { local p=$1; shift; run $p \"$@\"; }\nf p q r", ["run", "p", "q", "r"]),
        ("function f {\n run $1\n}\nf x", ["run", "x"]),
        ("if true; then A=1; else A=1; fi; run $A", ["run", "1"]),
        ("case $x in a) A=1;; b|c) A=1;; *) exit 1;; esac; run $A", ["run", "1"]),
        ("(A=2; true); A=${A:-1}; run $A", ["run", "1"]),
        ("true && A=1; run $A", ["run", "1"]),
        ("[ -z \"$A\" ] && exit 1; A=1; run $A", ["run", "1"]),
        ("A=$(x - <<'PY'\nit's (\nPY\n) ; run a", ["run", "a"]),
        ("A=$(x <<<word); run a", ["run", "a"]),
        ("A=$(x \")\" \"$(y '(')\"); run a", ["run", "a"]),
        ("cat <<EOF\nrun no\nEOF\nrun yes", ["run", "yes"]),
    ],
)  # fmt: skip
def test_words_are_those_that_a_shell_would_start(script: str, expected: list[str]) -> None:
    assert run(script) == expected


@pytest.mark.parametrize(
    ("script", "hole"),
    [
        ("run $1", "$1"),
        ("run $HOME/x", "$HOME"),
        ("run $(hostname -i)", "$(hostname -i)"),
        ("run `nproc`", "`nproc`"),
        ("run ${A[@]}", "${A[@]}"),
        ("run \"$@\"", "$@"),
        ("run $((X+1))", "$((X+1))"),
        ("run ${A%/*}", "${A%/*}"),
        ("if x; then A=1; else A=2; fi; run $A", "$A"),
        ("case $1 in a) A=1;; b) A=2;; esac; run $A", "$A"),
        ("A=1; read A; run $A", "$A"),
        ("while x; do A=$1; done; A=b$A; run $A", "$1"),
        ("while x; do A=1; done; run b$A", "b1"),
        ("for i in $(seq 3); do run $i; done", "$i"),
        ("f() { run $1; }", "$1"),
    ],
)  # fmt: skip
def test_what_only_a_shell_knows_is_a_hole(script: str, hole: str) -> None:
    last = next(simple for simple in reversed(read(script)) if simple.words[0].text == "run").words[-1]
    assert last.unknown == (hole,)
    assert hole in last.text


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("A=(--a)\nif [ $x ]; then A+=(--b 1); fi\nrun \"${A[@]}\"", [("--a", False), ("--b", True), ("1", True)]),
        ("A='--a'\nif x; then A=\"$A --b\"; fi\nrun $A", [("--a", False), ("--b", True)]),
        ("[ $x ] && A='--b 1'\nrun $A", [("--b", True), ("1", True)]),
        ("[[ $x == (a|b) ]] && A=--b\nrun $A", [("--b", True)]),
        ("case $1 in a) A='--x 1';; *) A=--y;; esac\nrun $A", [("--x", True), ("1", True), ("--y", True)]),
        ("if x; then A=(--a); else A=(); fi; run \"${A[@]}\"", [("--a", True)]),
    ],
)  # fmt: skip
def test_what_a_condition_adds_is_marked(script: str, expected: list[tuple[str, bool]]) -> None:
    assert [(one.text, one.maybe) for one in read(script)[-1].words[1:]] == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("A=1 run", {"A": "1"}),
        ("A=1; run", {}),
        ("export A=1 B='x y'; run", {"A": "1", "B": "x y"}),
        ("A=1; export A; run", {"A": "1"}),
        ("declare -x A=1; run", {"A": "1"}),
        ("set -a; A=1; set +a; B=2; run", {"A": "1"}),
        ("export A=1; A=2 run", {"A": "2"}),
        ("export A=1; unset A; run", {}),
        ("export A; A=3; run", {"A": "3"}),
        ("export A=$X; run", {"A": "$X"}),
    ],
)  # fmt: skip
def test_variables_reach_a_program_as_the_script_says(script: str, expected: dict[str, str]) -> None:
    assert {name: one.text for name, one in read(script)[-1].env.items()} == expected


def test_loops_over_written_words_are_their_passes() -> None:
    assert words("for i in 0 1; do run $i; done; run x$i") == [["run", "0"], ["run", "1"], ["run", "x1"]]
    assert words("for i in {0..2}; do for j in a b; do run $i$j; done; done")[-1] == ["run", "2b"]


def test_both_sides_of_a_condition_are_read_and_told_apart() -> None:
    first, second, third = (
        one for one in read("if a; then run 1; else run 2; fi; run 3") if one.words[0].text == "run"
    )
    assert first.branches[0][0] == second.branches[0][0]
    assert first.branches != second.branches
    assert third.branches == ()


def test_every_word_has_its_line_and_column() -> None:
    script = 'PORT=3\nARGS=(\n  --port $PORT\n  "x y"\n)\nMORE="--a \\\n  --b"\nrun "${ARGS[@]}" $MORE z\n'
    places = {one.text: str(one.where) for one in read(script)[-1].words}
    assert places == {
        "run": "serve.sh:8:1",
        "--port": "serve.sh:3:3",
        "3": "serve.sh:1:6",
        "x y": "serve.sh:4:3",
        "--a": "serve.sh:6:7",
        "--b": "serve.sh:7:3",
        "z": "serve.sh:8:24",
    }


def test_a_script_that_another_one_writes_is_read_at_its_lines() -> None:
    script = "M=/m\ncat > serve.sh <<EOF\n#!/bin/sh\nsglang serve --model-path $M \\$X\nEOF\n"
    found = read(script)[-1]
    assert [one.text for one in found.words] == ["sglang", "serve", "--model-path", "/m", "$X"]
    assert found.words[0].where.line == 4


@pytest.mark.parametrize(
    ("script", "place", "what"),
    [
        ("a\nrun 'b\nc", "serve.sh:2:5", "single quote"),
        ('run --x "b\n\n', "serve.sh:1:9", "double quote"),
        ("run `b", "serve.sh:1:5", "backtick"),
        ("run $(b", "serve.sh:1:5", "`$(`"),
        ("run ${b", "serve.sh:1:5", "`${`"),
        ("run $'b", "serve.sh:1:6", "single quote"),
    ],
)  # fmt: skip
def test_a_quote_without_an_end_is_named_where_it_opens(script: str, place: str, what: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        read(script)
    (problem,) = caught.value.problems
    assert str(problem.where) == place
    assert what in problem.message


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00\x02\x03\r"), max_size=12)


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_quoted_words_come_back_as_they_were(given_words: list[str]) -> None:
    line = "run " + " ".join(shlex.quote(one) for one in given_words)
    assert run(line) == ["run", *given_words]
    assert not any(one.unknown or one.maybe for one in read(line)[-1].words)


PIECES = st.sampled_from(
    ["if", "then", "fi", "else", "case", "in", "esac", "a)", ";;", "for", "do", "done", "while", "{", "}", "(", ")",
     "A=1", "A+=(b", "A=(", "$A", "${A:-b}", "$(x)", "`y`", '"', "'", "\\", "\n", ";", "&&", "||", "|", "&", "<<E", "E",
     ">", "function", "f", "f()", "#", "$((", "))", "{1..3}", "[[", "]]", "sglang", "set --", "shift", "export"]
)  # fmt: skip


@settings(max_examples=400)
@given(st.lists(PIECES | TEXT, max_size=30), st.sampled_from([" ", "\n", ""]))
@example(["[[", "A=("], " ")  # an array that may be empty or not be there at all
def test_any_text_is_read_or_refused_with_its_line(pieces: list[str], joint: str) -> None:
    try:
        found = read(joint.join(pieces))
    except InvalidFile as error:
        assert all(problem.where and problem.where.line for problem in error.problems)
    else:
        assert all(one.where.line for simple in found for one in simple.words)


PLAIN = st.lists(
    st.sampled_from(
        ["A=1", "A=x\\ y", "A='p q'", 'B="$A z"', "B+=more", "L=(a 'b c')", "L+=(d)", "for i in 1 2; do A=$i; done",
         "f() { B=$1; }", "f w", "unset A", "set -- m n", "if true; then A=t; else A=t; fi", "B=${A:-d}", "B=$((2*3))"]
    ),
    max_size=8,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(PLAIN)
def test_a_real_shell_agrees(lines: list[str]) -> None:
    """Printed by bash, word by word, against what was read."""
    begin = ["A=a", "B=b", "L=(l)", "set -- x"]
    script = "\n".join([*begin, *lines, 'run $A "$B" "${L[@]}" "$@" ${A:-u}'])
    printed = subprocess.run(
        ["bash", "-c", "run() { printf '%s\\0' \"$@\"; }\n" + script],
        capture_output=True,
        check=True,
        env={"PATH": "/bin"},
    )
    assert run(script)[1:] == printed.stdout.decode().split("\0")[:-1]

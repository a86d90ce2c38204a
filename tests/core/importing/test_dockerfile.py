"""A Dockerfile's instructions, the commands of its shell, and what each does to files."""

from __future__ import annotations

import pytest

from stackctl.core.importing.dockerfile import assigned, expanded, instructions, of_last_stage
from stackctl.core.importing.replay import Copy, Diff, Nothing, Program, Remove, Sed, Step, Unknown, Write, step_of
from stackctl.core.importing.shell import Command, commands, unrolled

FILE = """\
# syntax=docker/dockerfile:1
FROM base AS x

RUN set -eux; \\
    # a comment in between

    one 'a b' && \\
    two "c $D" || true
COPY --from=x --chown=1:1 a b /c/
RUN <<'EOF'
three
EOF
ENV A=1 B="x y" C=$A
LABEL x=y
"""


def test_instructions_have_their_lines() -> None:
    found = instructions(FILE)
    assert [(one.line, one.word) for one in found] == [
        (2, "FROM"), (4, "RUN"), (9, "COPY"), (10, "RUN"), (13, "ENV"), (14, "LABEL"),
    ]  # fmt: skip
    assert (found[2].flags, found[2].words) == ({"from": "x", "chown": "1:1"}, ("a", "b", "/c/"))
    assert [(text.name, text.text) for text in found[3].texts] == [("EOF", "three\n")]
    read = commands(found[1].rest, {"D": "d e"})
    assert [(one.line + found[1].line - 1, one.joint, one.words) for one in read] == [
        (4, "", ["set", "-eux"]), (7, ";", ["one", "a b"]), (8, "&&", ["two", "c d e"]), (8, "||", ["true"]),
    ]  # fmt: skip


def test_an_escape_directive_and_cr_lf() -> None:
    found = instructions("# escape=`\r\nRUN a `\r\n  b\r\nCMD c\r\n")
    assert [one.word for one in found] == ["RUN", "CMD"]
    assert commands(found[0].rest)[0].words == ["a", "b"]


def test_variables() -> None:
    assert assigned('A=1 B="x y" C=$A/z', {"A": "0"}) == {"A": "1", "B": "x y", "C": "0/z"}
    assert assigned("A one two", {}) == {"A": "one two"}
    assert expanded("$A ${B:-c} ${C} \\$A", {"A": "1"}) == "1 c ${C} $A"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("a\\ b c", [["a b", "c"]]),
        ("a 'it''s' \"q\\\"q\" d\\'e", [["a", "its", 'q"q', "d'e"]]),
        ("A=1; echo $A ${A}2 ${B:-x} '$A'", [["echo", "1", "12", "x", "$A"]]),
        ("a;b&&c|d\n# no\ne # no\nf#g", [["a"], ["b"], ["c"], ["d"], ["e"], ["f#g"]]),
        ("a 2>&1 >/dev/null", [["a"]]),
        ("a \\\n  b", [["a", "b"]]),
        ("sed 's/$/x/' f", [["sed", "s/$/x/", "f"]]),
        ("", []),
    ],
)
def test_words_of_a_shell(script: str, words: list[list[str]]) -> None:
    read = commands(script)
    assert [one.words for one in read] == words
    assert not any(one.dark for one in read)


@pytest.mark.parametrize(
    "script", ["a $(b)", "a `b`", "a $X", "(a)", "for x in y", "if a", 'a "$X"', "cat <<E\n$X\nE", "a > $X"]
)
def test_what_cannot_be_told_is_dark(script: str) -> None:
    assert commands(script)[0].dark


def test_texts_given_in_place() -> None:
    found = commands("cat > f <<'E' && b\n$x\nE\ncat <<-F\n\ty ${Z}\n\tF\nlast", {"Z": "z"})
    assert [(one.line, one.words, one.stdin, one.writes) for one in found] == [
        (1, ["cat"], "$x\n", "f"), (1, ["b"], None, None), (4, ["cat"], "y z\n", None), (7, ["last"], None, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "step"),
    [
        ("sed -i s/a/b/ x /y", Sed((), ("s/a/b/",), ("/w/x", "/y"))),
        ("sed -Ei.bak -e 1d --expression=2d x", Sed(("-E",), ("1d", "2d"), ("/w/x",))),
        ("sed -i -n -ne p x", Sed(("-n", "-n"), ("p",), ("/w/x",))),
        ("sed --in-place=.o -- s/a/b/ -x", Sed((), ("s/a/b/",), ("/w/-x",))),
        ("sed s/a/b/ x", Nothing()),
        ("sed -i -f s x", Unknown("a sed script in a file is not replayed")),
        ("patch -p1 < a", Diff(("/w/a",), None, 1, "/w")),
        ("patch -d /s -p 0 -i /p/a --fuzz=3 -l", Diff(("/p/a",), None, 0, "/s", ("fuzz", "white space ignored"))),
        ("patch -R < a", Unknown("a patch taken back is not replayed")),
        ("patch f.py a", Unknown("a patch whose file is named on the command line is not replayed")),
        ("patch -p1", Unknown("the patch comes from somewhere else")),
        ("git apply a b", Diff(("/w/a", "/w/b"), None, 1, "/w")),
        ("git -C /s apply -p2 --directory=d -3 /a", Diff(("/a",), None, 2, "/s/d", ("a 3-way merge",))),
        ("git apply - < a", Diff(("/w/a",), None, 1, "/w")),
        ("git apply --check a", Nothing()),
        ("git am a", Diff(("/w/a",), None, 1, "/w")),
        ("git cherry-pick a", Unknown("`git cherry-pick` is not replayed")),
        ("git apply <<E\nx\nE", Diff((), "x\n", 1, "/w")),
        ("cat > a <<E\nx\nE", Write("/w/a", "x\n", False)),
        ("echo a b >> /c", Write("/c", "a b\n", True)),
        ("date > a", Unknown("what `date` prints is not known")),
        ("python3 -u a.py b", Program("python", "/w/a.py", None, ("b",))),
        ("python -c 'x = 1'", Program("python", None, "x = 1", ())),
        ("python3 - <<E\nx\nE", Program("python", None, "x\n", ())),
        ("python -m pip install x", Unknown("`python -m pip` is not replayed")),
        ("bash -ex ./a.sh", Program("bash", "/w/a.sh", None, ())),
        ("./a b", Program("", "/w/a", None, ("b",))),
        ("cp -r a /b/", Copy(("/w/a",), "/b/", False)),
        ("mv a b c", Copy(("/w/a", "/w/b"), "/w/c", True)),
        ("rm -rf a /b", Remove(("/w/a", "/b"))),
        ("mkdir -p x", Nothing()),
        ("pip install x", Unknown("`pip` is not replayed")),
        ("a $(b)", Unknown("a command substitution is not followed")),
    ],
)  # fmt: skip
def test_what_a_command_does(script: str, step: Step) -> None:
    assert step_of(commands(script)[0], "/w") == step


def test_json_words_are_a_command_too() -> None:
    run = instructions('RUN ["sed", "-i", "s/a b/c/", "x"]')[0]
    assert run.is_json
    assert step_of(Command(1, words=list(run.words)), "/") == Sed((), ("s/a b/c/",), ("/x",))
    assert not instructions("RUN [ -f x ] && sed -i s/a/b/ y")[0].is_json


def test_loops_are_unrolled_where_they_are_plain() -> None:
    script = 'set -e; for p in /p/*.patch \\\n  x; do \\\n  git apply "$p"; echo $p\ndone; last\nnext'
    read = commands(unrolled(script, lambda word: ["/p/1", "/p/2"] if word == "/p/*.patch" else []))
    assert [one.words for one in read] == [
        ["set", "-e"], ["git", "apply", "/p/1"], ["echo", "/p/1"], ["git", "apply", "/p/2"], ["echo", "/p/2"],
        ["git", "apply", "x"], ["echo", "x"], ["last"], ["next"],
    ]  # fmt: skip
    assert (read[-1].line, read[0].line) == (5, 1)
    for other in ("for p in $(ls); do x; done", "for p in a; do if x; then y; fi; done", "for p in 'a b'; do x; done"):
        assert unrolled(other, lambda word: [word]) == other
        assert commands(other)[0].dark


@pytest.mark.parametrize(
    ("text", "kept", "left"),
    [
        ("RUN a", [1], []),
        ("FROM x\nRUN a", [1, 2], []),
        ("FROM x AS a\nRUN a\nFROM y\nRUN b", [3, 4], [1]),
        ("ARG S=A\nFROM x as a\nFROM a AS b\nFROM z\nFROM ${S} AS c\nFROM c", [1, 2, 5, 6], [3, 4]),
        ("FROM a AS a\nFROM --platform=x a AS a\nRUN x", [1, 2, 3], []),
        ("FROM\nRUN x", [1, 2], []),
    ],
)
def test_the_last_stage_and_those_it_goes_on_from(text: str, kept: list[int], left: list[int]) -> None:
    mine, others = of_last_stage(instructions(text))
    assert [one.line for one in mine] == kept
    assert [one.line for one in others] == left

"""What a pipe gets is for grep, what a terminal gets is for people; a path is whole in both."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console as RichConsole
from rich.text import Text

from stackctl.commands.deploying.logs import Log
from stackctl.errors import InvalidFile, Problem, StackctlError, Where
from stackctl.output.console import Console
from stackctl.output.deploy import show_log

SHOW_CURSOR = "\x1b[?25h"
PATH = "/home/someone/workspace/.stackctl/bisect/demo-c60-toolcalls-20260101T000000Z/events.jsonl"


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setenv("COLUMNS", "60")
    return Console()


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.delenv("COLUMNS", raising=False)
    return Console()


def test_a_pipe_gets_one_line_an_error(piped: Console, capsys: pytest.CaptureFixture[str]) -> None:
    piped.error(StackctlError("word " * 60 + "end", "do " * 60 + "this", Where("stacks/prod.yaml", 3, 1)))
    lines = capsys.readouterr().err.splitlines()
    assert [line[:8] for line in lines] == ["error: s", "   hint:"] and lines[0].endswith("word end")
    assert piped.width == 120  # what must be cut is cut all the same


def test_words_wrap_under_their_beginning(narrow: Console, capsys: pytest.CaptureFixture[str]) -> None:
    narrow.error(InvalidFile([Problem("m " * 40, Where("a.yaml", 1), "k", "h " * 40)], "all " * 20))
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 60 and not any(line.endswith(" ") for line in lines)
    assert [line[:6] for line in lines] == ["error:", "m m m ", "   hin", "   h h", "hint: ", "all al"]


def test_a_path_is_never_cut(narrow: Console, capsys: pytest.CaptureFixture[str]) -> None:
    narrow.print(f"events: {PATH} and more")
    narrow.print(Text.assemble(("evidence", "bold"), f": {PATH}"))
    assert capsys.readouterr().out.splitlines() == ["events:", PATH, "and more", "evidence:", PATH]


def test_lines_stay_lines(narrow: Console, capsys: pytest.CaptureFixture[str]) -> None:
    narrow.print("one\n\n  two")
    narrow.print()
    narrow.print(Text("x" * 70 + " y", no_wrap=True))
    assert capsys.readouterr().out == f"one\n\n  two\n\n{'x' * 70} y\n"


def test_any_line_is_a_sign_of_life(piped: Console, capsys: pytest.CaptureFixture[str]) -> None:
    progress = piped.progress()
    with progress.step("fetching"):
        progress.live("1 of 3")
        progress.live("2 of 3")
    progress.live("3 of 3")
    first, second, *rest = capsys.readouterr().err.splitlines()
    assert first == "1 of 3" and second.startswith("✓ fetching") and rest == []


def test_a_table_in_a_pipe_has_no_padding(piped: Console, capsys: pytest.CaptureFixture[str]) -> None:
    table = piped.table("name", "what")
    table.add_row("a", "x" * 200)
    table.add_row("b", "y")
    piped.print(table)
    assert capsys.readouterr().out.splitlines() == ["name  what", f"a     {'x' * 200}", "b     y"]


def test_logs_as_json_are_objects_line_by_line(piped: Console, capsys: pytest.CaptureFixture[str]) -> None:
    piped.as_json = True
    for name in ("prefill-0", "router-0"):
        show_log(piped, Log(name, "\x1b[2mone\x1b[0m\ntwo\n"))
    lines = capsys.readouterr().out.splitlines()
    found = [json.loads(line) for line in lines]
    assert [one["instance"] for one in found] == ["prefill-0", "router-0"] and found[0]["text"] == "one\ntwo\n"


def test_a_line_that_moves_is_gone_before_a_result_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    console, screen = Console(), io.StringIO()
    console._err = console._out = RichConsole(file=screen, force_terminal=True, width=60)
    progress = console.progress()
    progress.live("verifying 8 of 8")
    console.print("clean")
    assert screen.getvalue().endswith("clean\n") and screen.getvalue().count(SHOW_CURSOR) == 1
    progress.live("and more")
    console.still()
    assert screen.getvalue().count(SHOW_CURSOR) == 2

"""Colours of diffs, and what a terminal must not be told by a patch."""

from __future__ import annotations

from stackctl.output.paint import RESET, STYLES, Paint

PIPE = Paint(colours=False, terminal=False)
PLAIN = Paint(colours=False, terminal=True)  # NO_COLOR
FULL = Paint(colours=True, terminal=True)
DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@ f\n-old\n+new\n same\n--- not a name\n"


def test_a_pipe_gets_every_byte() -> None:
    text = DIFF + "+\x1b[31m\r\udce9\x85\n"
    assert PIPE.diff(text) == text
    assert PIPE.range_diff(text) == text


def test_a_terminal_without_colours_gets_text_that_does_nothing() -> None:
    assert PLAIN.diff("+a\x1b[2Jb\x07\r\u202e\tc\n") == "+a^[[2Jb^G^M<U+202E>\tc\n"
    assert PLAIN.styled("x\x9bm", "red") == "x<U+009B>m"


def test_lines_of_a_diff_have_their_colours() -> None:
    lines = FULL.diff(DIFF).split("\n")
    assert lines[0] == f"{STYLES['bold']}diff --git a/x b/x{RESET}"
    assert lines[3] == f"{STYLES['cyan']}@@ -1 +1 @@ f{RESET}"
    assert lines[4] == f"{STYLES['red']}-old{RESET}"
    assert lines[5] == f"{STYLES['green']}+new{RESET}"
    assert lines[6] == " same"
    assert lines[7] == f"{STYLES['red']}--- not a name{RESET}"  # a removed line that begins with two dashes


def test_a_range_diff_has_two_signs() -> None:
    first, second, third = FULL.range_diff("@@ x.py\n-+gone\n  same\n").splitlines()
    assert first == f"{STYLES['cyan']}@@ x.py{RESET}"
    assert second == f"{STYLES['red']}{STYLES['reverse']}-{RESET}{STYLES['green']}+gone{RESET}"
    assert third == "  same"


def test_what_others_write_never_survives() -> None:
    assert "\x1b[2J" not in FULL.diff("+a\x1b[2J\n") + FULL.range_diff("++a\x1b[2J\n") + FULL.styled("\x1b[2J", "red")

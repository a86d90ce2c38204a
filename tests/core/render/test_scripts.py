from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.render.scripts import render, sh
from stackctl.errors import StackctlError

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=30)


def fails(source: str, **values: object) -> StackctlError:
    with pytest.raises(StackctlError) as caught:
        render("x.sh.j2", source, values)
    return caught.value


def test_an_undefined_variable_is_told_with_its_line_and_what_is_known() -> None:
    error = fails("a\nb {{ nope | sh }}\n", stack="s")
    assert str(error) == "templates/x.sh.j2:2: 'nope' is undefined"
    assert error.hint == "known here: stack"


def test_an_attribute_that_is_not_there_is_told_too() -> None:
    assert str(fails("\n\n{{ stack.nope }}", stack={})).startswith("templates/x.sh.j2:3: ")


def test_wrong_syntax_is_told_with_its_line() -> None:
    assert str(fails("a\n{% if %}\n")).startswith("templates/x.sh.j2:2: ")


def test_an_unknown_filter_is_told_with_its_line() -> None:
    assert str(fails("a\n\n{{ 1 | quote }}")).startswith("templates/x.sh.j2:3: ")


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\0b", "\x1b[31m"])
@pytest.mark.parametrize("filter_", ["sh", "comment"])
def test_a_line_end_in_a_value_is_refused(value: str, filter_: str) -> None:
    error = fails(f"x\n{{{{ v | {filter_} }}}}", v=value)
    assert "templates/x.sh.j2:2" in str(error)
    assert "control character" in str(error)


@given(words)
def test_a_quoted_value_is_one_word_again(value: str) -> None:
    assert shlex.split(sh(value)) == [value]


@pytest.mark.slow
def test_a_real_shell_reads_hostile_values_as_they_are() -> None:
    values = ["it's", "$(exit 1)", "`x`", "a b\tc", '"', "\\", "*", "~", "-n", "", "é€", "!x", "${HOME}"]
    source = "printf '%s\\0'{% for v in values %} {{ v | sh }}{% endfor %}\n"
    text = render("x.sh.j2", source, {"values": values})
    done = subprocess.run(["sh", "-c", text], capture_output=True, check=True, timeout=30)
    assert done.stdout.decode().split("\0")[:-1] == values

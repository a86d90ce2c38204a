"""What to write for a flag, as words that can be copied; flags that went away before the first table."""

from __future__ import annotations

import pytest

from stackctl.core.lint.known.older import OLDER, older
from stackctl.core.lint.known.wording import spelled
from tests.core.lint.setups import TABLES, table


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("--a-{b,c}=d", "--a-b=d and --a-c=d"),
        ("--a-{b, c}", "--a-b and --a-c"),
        ("--a=d", "--a=d"),
        ("--a <b>", "--a <b>"),
        ("--a='{\"b\": 1}'", "--a='{\"b\": 1}'"),
    ],
)
def test_braces_are_several_flags(use: str, words: str) -> None:
    assert spelled(use) == words


@pytest.mark.parametrize("version", TABLES)
@pytest.mark.parametrize("word", OLDER)
def test_an_old_flag_is_gone_and_what_replaces_it_is_there(word: str, version: str) -> None:
    names = table(version).by_name
    assert word not in names
    flag, value = (*OLDER[word].split(" "), "")[:2]
    choices = names[flag].choices
    assert choices is None or value in choices
    assert older(word, names) == f"it went away before 0.5.9: write {OLDER[word]}"
    assert older(word, {}) == ""

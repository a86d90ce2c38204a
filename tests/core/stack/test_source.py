from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.stack.source import parse
from stackctl.errors import InvalidFile


def value(text: str) -> dict[str, object]:
    return parse("s.yaml", text.encode()).value


def test_only_whole_numbers_true_false_and_null_are_more_than_text() -> None:
    text = "[no, Yes, on, 1.10, 0755, 12:30, 1e3, 0x1f, 1_000, True, '5', 2026-01-02, =, 5, -3, true, false, null, ~]"
    read = value(f"a: {text}")["a"]
    assert read == [
        "no", "Yes", "on", "1.10", "0755", "12:30", "1e3", "0x1f", "1_000", "True", "5", "2026-01-02", "=",
        5, -3, True, False, None, None,
    ]  # fmt: skip


def test_a_short_commit_is_never_a_float() -> None:
    assert value("commit: 1234e56") == {"commit": "1234e56"}


def test_an_override_of_a_merge_is_no_duplicate_and_keeps_its_place() -> None:
    read = parse("s.yaml", b"x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  a: 3\n")
    assert read.value["y"] == {"a": 3, "b": 2}
    assert str(read.marks[("y", "a")].key) == "s.yaml:4:3"
    assert str(read.marks[("y", "b")].key) == "s.yaml:1:14"


def test_of_several_merges_the_first_wins() -> None:
    assert value("p: &p {k: 1}\nq: &q {k: 2, j: 3}\nr: {<<: [*p, *q]}")["r"] == {"k": 1, "j": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: {c: 1, c: 2}\na: 2", "s.yaml:2:11: key `c` is given twice, first in line 2"),
        ("a: &a [*a]", "refers to itself"),
        ("a: &a {<<: *a}", "`<<` wants a mapping"),
        ("a: !!python/name:os.system x", "tag !!python/name:os.system is not allowed"),
        ("a: !!float 1", "is not allowed"),
        ("a: 1\n---\nb: 1", "expected one document"),
        ("? [a]\n: 1", "a key must be plain text"),
        ("\ta: 1", "tab"),
        ("a: \x01", "not allowed in YAML"),
        ("[" * 3000, "nested too deeply"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        value(text)
    assert message in str(caught.value) or message == "tab"


def test_bytes_that_are_not_utf8_are_refused_with_their_place() -> None:
    with pytest.raises(InvalidFile, match="byte 3 is 0xff"):
        parse("s.yaml", b"a: \xff")


def test_aliases_cannot_multiply_without_end() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 12)]
    with pytest.raises(InvalidFile, match="aliases make over"):
        value("\n".join(lines))


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text("ab0179 .:-_'\"#{}[]&*!|>%@é€\n", max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc_-", min_size=1), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text("abcdefgh", min_size=1), plain, max_size=5))
def test_what_pyyaml_writes_is_read_back_the_same(content: dict[str, object]) -> None:
    read = parse("s.yaml", yaml.safe_dump(content, allow_unicode=True).encode())
    assert read.value == content
    assert all(mark.key.line and mark.value.column for mark in read.marks.values())


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        assert isinstance(parse("s.yaml", data).value, dict)
    except InvalidFile as error:
        assert error.problems


def test_remarks_are_comments_for_us_and_know_their_line() -> None:
    text = (
        "a: 1  # stackctl: ignore X because Y  \n"
        "# stackctl: ignore Z because W\n"
        "# another comment\n"
        "b: 2\n"
        "# told: `# stackctl: ignore RULE because REASON`\n"
        "c: 3 #stackctl:x\n"
        "# stackctl: at the end\n"
    )
    found = [(one.text, str(one.where), one.line) for one in parse("f", text.encode()).remarks]
    assert found == [
        ("ignore X because Y", "f:1:7", 1),
        ("ignore Z because W", "f:2:1", 4),
        ("x", "f:6:6", 6),
        ("at the end", "f:7:1", 7),
    ]

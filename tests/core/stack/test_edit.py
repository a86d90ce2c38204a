from __future__ import annotations

import difflib
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.stack import edit
from stackctl.core.stack.edit import StackFile
from stackctl.errors import InvalidFile

BLOCK = """\
# the top
stack: cpu
base: {pypi: sglang==0.5.15, sha256: 00ff}   # a pin

patches:
  - parser/keep     # why it is here
  # of the two below, one needs the other

  - cpu/label
  - 'cpu/weight'    # needs label
model: {path: /m, name: m}
"""
LINES = """\
extends: a.yaml
append: [
  one,   # the first

  # the second
  two,
  three  # no comma
]
serve: {}
"""


def file(text: str) -> StackFile:
    return StackFile("stacks/s.yaml", text.encode())


def after(change: Callable[[StackFile], StackFile], text: str) -> str:
    return change(file(text)).data.decode()


def lines(old: str, new: str) -> list[str]:
    """What was taken out and what was put in, line by line."""
    pairs = difflib.ndiff(old.splitlines(keepends=True), new.splitlines(keepends=True))
    return [line for line in pairs if line[0] in "-+"]


CASES: list[tuple[str, str, Callable[[StackFile], StackFile], list[str]]] = [
    ("at the end", BLOCK, lambda f: edit.add_patch(f, "x/new"), ["+   - x/new\n"]),
    ("after", BLOCK, lambda f: edit.add_patch(f, "x/new", after="parser/keep"), ["+   - x/new\n"]),
    ("before", BLOCK, lambda f: edit.add_patch(f, "x/new", before="cpu/label"), ["+   - x/new\n"]),
    ("remove", BLOCK, lambda f: edit.remove_patch(f, "parser/keep"), ["-   - parser/keep     # why it is here\n"]),
    (
        "move", BLOCK, lambda f: edit.move_patch(f, "cpu/weight", before="parser/keep"),
        ["+   - 'cpu/weight'    # needs label\n", "-   - 'cpu/weight'    # needs label\n"],
    ),
    ("flow, a line each: after", LINES, lambda f: edit.add_patch(f, "new", after="one"), ["+   new,\n"]),
    ("flow, a line each: before", LINES, lambda f: edit.add_patch(f, "new", before="two"), ["+   new,\n"]),
    ("flow, a line each: end", LINES, lambda f: edit.add_patch(f, "new"),
     ["-   three  # no comma\n", "+   three,  # no comma\n", "+   new\n"]),
    ("flow, a line each: remove", LINES, lambda f: edit.remove_patch(f, "one"), ["-   one,   # the first\n"]),
    ("flow, a line each: last", LINES, lambda f: edit.remove_patch(f, "three"), ["-   three  # no comma\n"]),
    ("flow, a line each: move", LINES, lambda f: edit.move_patch(f, "three", before="one"),
     ["+   three,  # no comma\n", "-   three  # no comma\n"]),
    ("no queue yet", "extends: a.yaml\nx: 1\n", lambda f: edit.add_patch(f, "a/b"), ["+ append:\n", "+   - a/b\n"]),
    ("no queue at all", "base: {path: e}\n\nx: 1\n", lambda f: edit.add_patch(f, "a/b"),
     ["+ patches:\n", "+   - a/b\n"]),
    ("without", "extends: a\nwithout: [a, b]\n", lambda f: edit.remove_names(f, ("without",), "a"),
     ["- without: [a, b]\n", "+ without: [b]\n"]),
    ("leave out", "extends: a   # base\nappend: [x]\n", lambda f: edit.leave_out(f, "a", "b"),
     ["+ without:\n", "+   - a\n", "+   - b\n"]),
    ("leave out more", "extends: a\nwithout: [x]  # c\n", lambda f: edit.leave_out(f, "a"),
     ["- without: [x]  # c\n", "+ without: [x, a]  # c\n"]),
    ("deep", "bisect:\n  elements: {patches: [a, b]}\n",
     lambda f: edit.remove_names(f, ("bisect", "elements", "patches"), "b"),
     ["-   elements: {patches: [a, b]}\n", "+   elements: {patches: [a]}\n"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "change", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_only_its_own_lines_change(text: str, change: Callable[[StackFile], StackFile], expected: list[str]) -> None:
    assert lines(text, after(change, text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("patches: [a]  # c\nx: 1\n", "patches: [a, n]  # c\nx: 1\n"),
        ("patches: []  # c\nx: 1\n", "patches:  # c\n  - n\nx: 1\n"),
        ("patches: # c\nx: 1\n", "patches: # c\n  - n\nx: 1\n"),
        ("patches:", "patches:\n  - n"),
        ("patches: [ ]\r\nx: 1\r\n", "patches:\r\n  - n\r\nx: 1\r\n"),
        ("patches:\r\n- a\r\nx: 1\r\n", "patches:\r\n- a\r\n- n\r\nx: 1\r\n"),
        ("x: 1\npatches:\n- a", "x: 1\npatches:\n- a\n- n"),
        ("{patches: [], x: 1}", "{patches: [n], x: 1}"),
        ("{patches: , x: 1}", "{patches: [n] , x: 1}"),
        ("\ufeffpatches: [\n  a\n]\n", "\ufeffpatches: [\n  a,\n  n\n]\n"),
        ("# only this", "# only this\npatches:\n  - n"),
        ("", "patches:\n  - n"),
        ("extends: a", "extends: a\nappend:\n  - n"),
        ("patches:\n  - é\n  - 'a\u2028b'\n", "patches:\n  - é\n  - 'a\u2028b'\n"),
    ],
)  # fmt: skip
def test_one_more(text: str, expected: str) -> None:
    if text == expected:
        with pytest.raises(InvalidFile, match="in one line"):
            edit.add_patch(file(text), "n")
        return
    assert after(lambda f: edit.add_patch(f, "n"), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("patches:  # c\n  - a\nx: 1\n", "patches: []  # c\nx: 1\n"),
        ("patches: [a]", "patches: []"),
        ("patches: [b, a,]", "patches: [b,]"),
        ("patches: [b,   a  ]", "patches: [b  ]"),
        ("patches: [a , b]", "patches: [b]"),
        ("patches: [b,\n  # why\n  a]\n", "patches: [b,\n  # why\n  ]\n"),
        ("x: 1\npatches:\n  - b\n  - a", "x: 1\npatches:\n  - b"),
        ("x: 1\r\npatches:\r\n  - b\r\n  - a", "x: 1\r\npatches:\r\n  - b"),
    ],
)  # fmt: skip
def test_one_less(text: str, expected: str) -> None:
    assert after(lambda f: edit.remove_patch(f, "a"), text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x-q: &q [a, b]\npatches: *q\n", "stacks/s.yaml:2:1: patches: the value is an alias"),
        ("patches: &q [a, b]\nx-q: *q\n", "stacks/s.yaml:1:1: patches: the value has an anchor"),
        ("x-n: &n a\npatches: [*n, b]\n", "patches.0: expected a name in one line"),
        ("x-q: &q {patches: [a]}\n<<: *q\n", "stacks/s.yaml: this file does not say `patches` itself"),
        ("patches:\n  -\n    a\n", "stacks/s.yaml:1:1: patches: is written in a form"),
        ("patches:\n  - >\n    a\n", "patches.0: expected a name in one line"),
        ("patches: [b]\n", "stacks/s.yaml:1:1: patches: this file lists no patch `a`"),
        ("extends: x\n", "stacks/s.yaml: append: this file lists no patch `a`"),
        ("patches: {a: 1}\n", "patches: expected a list of names"),
        ("patches: a\n", "patches: expected a list of names"),
        ("patches: [&x a, b]\nx-y: *x\n", "patches: is written in a form"),
    ],
)  # fmt: skip
def test_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        edit.remove_patch(file(text), "a")
    assert message in str(caught.value)


def test_what_is_there_already_is_refused() -> None:
    with pytest.raises(InvalidFile, match=r"stacks/s.yaml:5:1: patches: `cpu/label` is in the list already"):
        edit.add_patch(file(BLOCK), "cpu/label")
    with pytest.raises(InvalidFile, match="cannot go beside itself"):
        edit.move_patch(file(BLOCK), "cpu/label", after="cpu/label")


def test_a_comment_never_swallows_what_follows() -> None:
    text = "patches: [\n  a,\n  b  # of b\n  , c, d]\n"
    with pytest.raises(InvalidFile, match="is written in a form"):
        edit.move_patch(file(text), "b", before="d")


def test_a_name_that_plain_yaml_would_take_for_a_number_is_quoted() -> None:
    digits = "1" * 17
    assert after(lambda f: edit.add_patch(f, digits), "patches: [a]\n") == f"patches: [a, '{digits}']\n"


NAMES = st.lists(
    st.text("abc/-._01", min_size=1, max_size=5).filter(lambda name: name[0] in "abc/01"), unique=True, max_size=6
)
COMMENTS = st.sampled_from(["", "", "   # why", " #", "  # [x, y]: - z"])
BETWEEN = st.lists(st.sampled_from(["", "  # between", "# at the edge", "      # far"]), max_size=2)


@st.composite
def stacks(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A stack file, in any of the ways in which its list may be written, and the names in it."""
    names = draw(NAMES)
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    words = [draw(st.sampled_from([f"'{name}'", f'"{name}"', edit.scalar(name)])) for name in names]
    key, head = draw(st.sampled_from([("patches", "stack: s"), ("append", "extends: b.yaml   # base")]))
    style = draw(st.sampled_from(["block", "flow", "lines"])) if names else "flow"
    queue = [f"{key}:{draw(COMMENTS)}"]
    if style == "block":
        indent = draw(st.sampled_from(["", " ", "  ", "    "]))
        for word in words:
            queue += [*draw(BETWEEN), f"{indent}-{draw(st.sampled_from([' ', '   ']))}{word}{draw(COMMENTS)}"]
    elif style == "flow":
        comma = draw(st.sampled_from([", ", ",", " ,  "]))
        queue = [
            f"{key}: [{comma.join(words)}{draw(st.sampled_from(['', ' ', ',' if words else '']))}]{draw(COMMENTS)}"
        ]
    else:
        queue = [f"{key}: [{draw(COMMENTS)}"]
        for number, word in enumerate(words):
            comma = "," if number < len(words) - 1 else draw(st.sampled_from(["", ","]))
            queue += [*draw(BETWEEN), f"  {word}{comma}{draw(COMMENTS)}"]
        queue.append("  ]")
    rest = draw(st.sampled_from([[], ["model: {name: m}  # end"], ["", "# more", "x-list:", "  - a"]]))
    text = newline.join(["# top", head, *draw(BETWEEN), *queue, *rest])
    return text + draw(st.sampled_from(["", newline])), names


@given(stacks(), st.data())
def test_the_list_is_as_meant_and_all_other_lines_stay(made: tuple[str, list[str]], data: st.DataObject) -> None:
    text, names = made
    source = file(text)
    kind = data.draw(st.sampled_from(["add", "remove", "move"] if len(names) > 1 else ["add"]))
    name = data.draw(st.sampled_from(names)) if kind != "add" else "zz/new"
    others = [one for one in names if one != name]
    other = data.draw(st.sampled_from(others)) if others else None
    side = data.draw(st.sampled_from(["after", "before"]))
    beside = {side: other} if other else {}
    expected = list(others)
    if kind != "remove":
        place = others.index(other) + (side == "after") if other else 0
        expected.insert(place, name)
    change = {
        "add": lambda: edit.add_patch(source, name, **beside),
        "move": lambda: edit.move_patch(source, name, **beside),
        "remove": lambda: edit.remove_patch(source, name),
    }[kind]
    new = change()
    key = "append" if "append:" in text else "patches"
    assert list(edit.names_at(new, (key,))) == expected
    kept = [line for line in text.splitlines() if not any(word in line for word in names) and ": [" not in line]
    left = iter(new.data.decode().splitlines())
    assert all(line in left for line in kept)  # in this order
    assert new.data.endswith(b"\n") == text.endswith("\n")
    assert (b"\r\n" in new.data) == ("\r\n" in text)
    if kind == "add":
        old = text.splitlines()
        changed = [line for line in new.data.decode().splitlines() if line not in old]
        assert len(changed) <= 2


@given(stacks())
def test_there_and_back_is_the_same_file(made: tuple[str, list[str]]) -> None:
    text, names = made
    if names:
        longer = edit.add_patch(file(text), "zz/new", after=names[0])
        back = edit.remove_patch(longer, "zz/new").data.decode()
        # in a flow list, a row that was the last may have got its comma, and a comma its space
        assert re.sub("[, ]", "", back) == re.sub("[, ]", "", text)

"""Records of open edits, what a work tree may not turn into, and the header that an author writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.authoring.draft import Signature, draft, header_of, known, without_comments
from stackctl.core.authoring.edit import (
    Edit,
    changed,
    diff_digest,
    digest,
    dump,
    load,
    printable,
    refusals,
    rejected,
    worth_keeping,
)
from stackctl.core.names import Digest, PatchName, TreeId
from stackctl.core.patches.canonical import canonical
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.values import Header

EDIT = Edit(PatchName("t/a"), "stacks/s.yaml", "sglang", TreeId("1" * 40), Digest("2" * 64), "t/b", None, None)
BY = Signature("A <a@b>", 1_700_000_000.9)
DIFF = b"diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
PLAIN = ("100644", "a")


def test_a_record_comes_back() -> None:
    assert load(dump(EDIT)) == EDIT


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"format": 2}', b"\xff", b'{"format": 1, "name": 1}', dump(EDIT)[:-20]]
)
def test_what_is_no_record_is_none(data: bytes) -> None:
    assert load(data) is None


def test_a_header_is_no_part_of_the_diff() -> None:
    one, two = (parse(canonical(Header(title, None, None, ""), DIFF), "f.patch") for title in ("one", "two"))
    other = parse(canonical(Header("one", None, None, ""), DIFF.replace(b"+b", b"+c")), "f.patch")
    assert isinstance(one, ParsedPatch) and isinstance(two, ParsedPatch) and isinstance(other, ParsedPatch)
    assert diff_digest(one) == diff_digest(two) != diff_digest(other)


def test_the_old_name_of_a_new_file_is_part_of_the_diff() -> None:
    plain = b"--- /dev/null\n+++ b/f.py\n@@ -0,0 +1 @@\n+x\n"
    patch = parse(b"Subject: s\n\n---\n" + plain, "f.patch")
    assert isinstance(patch, ParsedPatch)
    assert diff_digest(patch) == digest(plain)


def test_changed_paths() -> None:
    assert changed({"a": PLAIN, "b": PLAIN, "c": PLAIN}, {"b": PLAIN, "c": ("100755", "a"), "d": PLAIN}) == (
        "a",
        "c",
        "d",
    )


@pytest.mark.parametrize(
    "old, new, texts, told",
    [
        (None, ("120000", "x"), (b"", b"a"), "a symbolic link, which no patch may make, change or delete"),
        (("120000", "x"), None, (b"a", b""), "a symbolic link, which no patch may make, change or delete"),
        (None, ("160000", "x"), (b"", b""), "a repository of its own, which is no file"),
        (
            PLAIN,
            ("100755", "a"),
            (b"a", b"a"),
            "its mode changed from 100644 to 100755, and patches change contents only",
        ),
        (None, PLAIN, (b"", b"\0"), "a binary file, which cannot be reviewed"),
        (PLAIN, ("100644", "b"), (b"\0", b""), "a binary file, which cannot be reviewed"),
        (PLAIN, ("100644", "b"), (b"", b"x\n<<<<<<< ours\n"), "holds conflict markers"),
    ],
)
def test_refusals(
    old: tuple[str, str] | None, new: tuple[str, str] | None, texts: tuple[bytes, bytes], told: str
) -> None:
    before, after = {"f": old} if old else {}, {"f": new} if new else {}
    found = list(refusals(before, after, {"f": texts}, "tree"))
    assert [(str(problem.where), problem.message) for problem in found] == [("tree/f", told)]
    assert found[0].hint


def test_what_is_fine_is_not_refused() -> None:
    markers = b"<<<<<<< in a fixture\n"
    old = {"kept": PLAIN, "gone": PLAIN}
    new = {"kept": ("100644", "b"), "new": ("100755", "x")}
    texts = {"kept": (markers, markers + b"x\n"), "gone": (b"a", b""), "new": (b"", b"x << 7\n")}
    assert not list(refusals(old, new, texts, "tree"))


def test_all_mistakes_at_once_and_no_name_moves_the_cursor() -> None:
    new = {"a\x1b[2J": ("120000", "x"), "b": ("160000", "y")}
    found = [str(problem.where) for problem in refusals({}, new, {}, "t")]
    assert found == ["t/a\\x1b[2J", "t/a\\x1b[2J", "t/b"]
    assert printable("dir/ä b") == "dir/ä b"


def test_what_is_worth_keeping() -> None:
    trash = ("__pycache__/a.pyc", "x/__pycache__/b.txt", "a.pyo", "a.py~", ".a.swp", "d/.a.swo", "#a#", ".#a", "a.orig")
    assert worth_keeping((*trash, ".mypy_cache/x", "run.log", "a.rej")) == ("run.log", "a.rej")
    assert rejected(("a.rej", "b")) == ("a.rej",)


def test_a_message_becomes_a_header() -> None:
    text = "Fix: the thing\n\nWhy it is.\n---\nmore\n\narea: x\nNeeds: t/a\nNeeds: t/b\nWhy:\nSigned-off-by: me\n"
    header = header_of(text, {"Area": "given"}, {"Area": "no", "Upstream": "Pending"}, BY)
    assert header == Header(
        "Fix: the thing", "A <a@b>", "2023-11-14T22:13:20+00:00", "Why it is.\n ---\nmore",
        (("Area", "given"), ("Upstream", "Pending"), ("Needs", "t/a"), ("Needs", "t/b"), ("Signed-off-by", "me")),
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "\n \n", "\n\nArea: x\nWhy: y\n", "why: so\n"])
def test_without_a_title_there_is_no_header(text: str) -> None:
    assert header_of(text, {}, {}, BY) is None


def test_a_draft_that_is_filled_in() -> None:
    text = draft("", known("cache", "flashinfer"), ["t/a, for s", "f.py"])
    assert header_of(without_comments(text), {}, {}, BY) is None
    header = header_of(without_comments("Title" + text.replace("Why:", "Why: so")), {}, {}, BY)
    assert header and header.trailers == (
        ("Area", "cache"),
        ("Why", "so"),
        ("Upstream", "Pending"),
        ("Source", "flashinfer"),
    )
    assert known(None, "sglang") == {"Area": "", "Upstream": "Pending"}


@given(st.text(), st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])))
def test_what_is_written_is_read_as_it_was_meant(body: str, title: str) -> None:
    header = header_of(f"{title}\n\n{body}", {"Area": "x"}, {}, BY)
    if header is None:
        return
    made = parse(canonical(header, DIFF), "f.patch")
    assert isinstance(made, ParsedPatch), made
    assert made.header.trailer("Area") == ("x",)
    assert len(made.files) == 1

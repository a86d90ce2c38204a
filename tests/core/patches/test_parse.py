"""The strict parser: what it reads, what it refuses, and that it never fails on anything else."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.patches.faults import Fault
from stackctl.core.patches.parse import ParsedPatch, parse

HEAD = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n"
GOOD = HEAD + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"


def parsed(text: str | bytes) -> ParsedPatch:
    result = parse(text if isinstance(text, bytes) else text.encode(), "x.patch")
    assert isinstance(result, ParsedPatch), result
    return result


def fault(text: str | bytes) -> Fault:
    result = parse(text if isinstance(text, bytes) else text.encode(), "x.patch")
    assert isinstance(result, Fault)
    assert result.message
    assert result.hint
    return result


def test_message_trailers_and_folded_lines() -> None:
    header = parsed(
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n"
        "From: =?utf-8?q?J=C3=B6rg?= <j@example.org>\n"
        "Date: Mon, 2 Mar 2026 09:00:00 +0100\n"
        "Subject: [PATCH v2 1/3] Raise the limit of\n waiting items\n\n"
        "Body.\n\nwhy: Because it is\n too small.\nNeeds: a/b (calls it)\nNeeds: c/d\nSigned-off-by: X <x@y>\n---\n"
        " x.py | 2 +-\n\n" + GOOD + "-- \n2.39.5\n\n"
    ).header
    assert header.subject == "Raise the limit of waiting items"
    assert header.author == "Jörg <j@example.org>"
    assert header.date == "2026-03-02T09:00:00+01:00"
    assert header.body == "Body."
    assert header.trailer("Why") == ("Because it is too small.",)
    assert header.trailer("needs") == ("a/b (calls it)", "c/d")


def test_a_trailer_above_the_last_paragraph_is_warned_of() -> None:
    text = "Subject: x\n\nArea: kernels\n\nMore text.\n---\n" + GOOD
    assert "misplaced-trailer" in parsed(text).warnings


def test_a_removed_line_that_looks_like_a_header_is_content() -> None:
    patch = parsed(HEAD + "@@ -1,2 +1,2 @@\n--- a/y.py\n+++ b/y.py\n z\n")
    assert patch.files[0].hunks[0].lines == (b"--- a/y.py\n", b"+++ b/y.py\n", b" z\n")


def test_the_signature_alone_may_follow_a_full_hunk() -> None:
    assert len(parsed(GOOD + "-- \n2.39.5\n").files) == 1
    assert fault(GOOD + "-- x\n").kind == "corrupt-hunk"
    assert fault(GOOD + "+lost\n").facts["counted"] == [3, 4]


def test_names_with_spaces_quotes_and_timestamps() -> None:
    patch = parsed('--- "a/gr\\303\\266\\303\\237e.py"\n+++ b/a b.py\t2026-03-02 09:00:00 +0100\n@@ -1 +1 @@\n-a\n+b\n')
    assert patch.files[0].names == ("b/a b.py", "b/a b.py")
    renamed = parsed("diff --git a/o d b/n w\nsimilarity index 100%\nrename from o d\nrename to n w\n")
    assert renamed.files[0].names == ("o d", "n w")
    empty = parsed("diff --git a/a b.txt b/a b.txt\nnew file mode 100644\nindex 0000000..e69de29\n")
    assert empty.files[0].names == ("b/a b.txt",)


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("", "not-a-patch", 1),
        ("\n \n", "not-a-patch", 1),
        ("\ufeff" + GOOD, "not-a-patch", 1),
        (GOOD.replace("\n", "\r\n"), "crlf-patch", 1),
        ("Hello,\r\nsee below\r\n" + GOOD.replace("\n", "\r\n"), "crlf-patch", 1),
        (GOOD.rstrip("\n"), "truncated-hunk", 4),
        (HEAD + "@@ -1,9 +1,9 @@\n a\n", "truncated-hunk", 4),
        (HEAD + "@@ -1,3 +1 @@\n a\n-b\n+B\n c\n" + GOOD, "corrupt-hunk", 4),
        (HEAD + "@@ nonsense @@\n", "corrupt-hunk", 4),
        ("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n" + GOOD, "corrupt-hunk", 1),
        (GOOD + "@@ -9 +9 @@\n", "truncated-hunk", 9),
        ("diff --git a/x b/x\nGIT binary patch\nliteral 0\n", "binary-patch", 2),
        ("Binary files a/x and b/x differ\n" + GOOD, "binary-without-data", 1),
        (GOOD + "Binary files a/x and b/x differ\n", "binary-without-data", 9),
        (GOOD + "From " + "1" * 40 + " Mon Sep 17 00:00:00 2001\nSubject: 2\n\n" + GOOD, "mailbox", 9),
        ("diff --git a/x b/x\nold mode 100644\nnew mode 160000\n", "gitlink", 3),
        ("diff --git a/x b/x\nnew file mode 100666\n", "not-a-patch", 2),
        ("--- a/x\n+++ b/x\n", "not-a-patch", 1),
        (GOOD.replace("b/x.py", "b/../x.py"), "path-escape", 1),
    ],
)
def test_refused_with_its_place(text: str, kind: str, line: int) -> None:
    found = fault(text)
    assert (found.kind, found.line, found.patch) == (kind, line, "x.patch")


LINES = st.lists(st.sampled_from(["a", "b", "", "-- ", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "x\r", " "]), max_size=12)


@given(LINES, LINES)
def test_what_difflib_writes_is_read_back(old: list[str], new: list[str]) -> None:
    diff = list(difflib.unified_diff(old, new, "a/f", "b/f", lineterm=""))
    if not diff:
        return
    hunks = parsed("\n".join(diff) + "\n").files[0].hunks
    assert sum(len(hunk.lines) for hunk in hunks) == sum(1 for line in diff[2:]) - len(hunks)
    for hunk in hunks:
        before = [line[1:-1].decode() for line in hunk.lines if line[:1] in b" -"]
        start = max(hunk.old_start - 1, 0) if hunk.old_count else hunk.old_start
        assert before == old[start : start + hunk.old_count]


PIECES = st.sampled_from(
    [b"diff --git a/x b/x\n", b"--- a/x\n", b"+++ b/x\n", b"@@ -1,2 +1 @@\n", b" a\n", b"-b\n", b"+c\n", b"\n",
     b"\\ No newline at end of file\n", b"new file mode 100644\n", b"rename from x\n", b"rename to y\n", b"\xff\x00",
     b"-- \n", b"index "]
)  # fmt: skip


@given(st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=25).map(b"".join)))
def test_it_never_fails(data: bytes) -> None:
    result = parse(data, "x.patch")
    assert isinstance(result, ParsedPatch | Fault)
    if isinstance(result, Fault) and result.line is not None:
        assert 1 <= result.line <= max(1, data.count(b"\n") + 1)


@pytest.mark.parametrize("mode", ["old mode 120000\nnew mode 100644\n", "old mode 100644\nnew mode 120000\n"])
def test_a_link_does_not_become_a_file_nor_a_file_a_link(mode: str) -> None:
    assert fault(HEAD.partition("---")[0] + mode).kind == "symlink"


def test_no_other_modes() -> None:
    assert fault(HEAD.partition("---")[0] + "old mode 1007 5\nnew mode 100644\n").kind == "not-a-patch"


def test_a_removed_line_that_looks_like_a_name_is_content_in_a_file_of_cr_lf_too() -> None:
    patch = parsed(HEAD + "@@ -1,2 +1 @@\n--- x\r\n keep\r\n")
    assert patch.files[0].hunks[0].lines == (b"--- x\r\n", b" keep\r\n")

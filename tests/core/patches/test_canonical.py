"""The canonical form: what is written is read back, and every patch that this project carries is written so."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.patches.canonical import canonical, slug, with_diff
from stackctl.core.patches.parse import ParsedPatch, diff_of, parse
from stackctl.core.patches.values import Header

ROOT = Path(__file__).resolve().parents[3]
PATCHES = sorted((ROOT / "patches").rglob("*.patch"))
DIFF = b"diff --git a/f.py b/f.py\nnew file mode 100644\n--- /dev/null\n+++ b/f.py\n@@ -0,0 +1 @@\n+x\n"
WORD = st.text(st.sampled_from("abcXYZ019ü-_.()@"), min_size=1, max_size=12)
TEXT = st.lists(WORD, min_size=1, max_size=25).map(" ".join)


def parsed(data: bytes) -> ParsedPatch:
    found = parse(data, "x.patch")
    assert isinstance(found, ParsedPatch), found
    return found


@pytest.mark.parametrize("path", PATCHES, ids=lambda path: path.stem)
def test_every_patch_here_is_canonical(path: Path) -> None:
    patch = parsed(path.read_bytes())
    assert with_diff(patch, b"".join(_diff(patch))) == path.read_bytes()
    assert canonical(patch.header, b"".join(_diff(patch))) == path.read_bytes()


def _diff(patch: ParsedPatch) -> list[bytes]:
    return patch.data.splitlines(keepends=True)[patch.files[0].line - 1 :]


@given(
    TEXT, st.lists(TEXT, max_size=3), st.lists(st.tuples(st.sampled_from(["Area", "Why", "Needs"]), TEXT), max_size=4)
)
def test_what_is_written_is_read_back(subject: str, body: list[str], trailers: list[tuple[str, str]]) -> None:
    header = Header(subject, "A <a@b.c>", "2026-11-02T09:00:00+00:00", "\n\n".join(body), tuple(trailers))
    once = canonical(header, DIFF)
    read = parsed(once).header
    assert read.trailers == header.trailers
    assert canonical(read, DIFF) == once


def test_a_message_cannot_begin_the_diff() -> None:
    body = "---\ndiff --git a/x b/x\n@@ -1 +1 @@\nFrom here on"
    data = canonical(Header("s", None, None, body), DIFF)
    assert [section.new for section in parsed(data).files] == ["b/f.py"]


def test_a_new_file_without_gits_line_belongs_to_the_diff_whole() -> None:
    plain = DIFF[DIFF.index(b"--- ") :]
    for header in (b"Subject: s\n\nBody\n---\n", b""):
        patch = parsed(header + plain)
        assert diff_of(patch) == plain
        assert with_diff(patch, DIFF) == header + DIFF


def test_the_name_of_a_patch_has_no_number_and_no_dots() -> None:
    assert slug("0007: Fix x..y in `z`") == "fix-x-y-in-z"
    assert slug("…") == "patch"

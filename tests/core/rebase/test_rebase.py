"""Verdicts from findings, conditions from words, and the small readers around them: tables."""

from __future__ import annotations

import pytest

from stackctl.core.names import Commit, PatchName, TreeId
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.values import FilePatch, Hunk
from stackctl.core.rebase.merge import Labels, Notice, Stage, TreeMerge, clashes, leftover
from stackctl.core.rebase.moved import homes
from stackctl.core.rebase.needing import needless
from stackctl.core.rebase.retire import conditions, holds
from stackctl.core.rebase.verdict import VERDICTS, Findings, Rebased, Verdict, decide

COMMIT = Commit("1" * 40)
A = (PatchName("a"),)

TABLE: list[tuple[Verdict, Findings]] = [
    ("clean", Findings("changed", fits=True, agrees=True)),
    ("offset", Findings("changed", fits=True, agrees=True, offset=True)),
    ("clean", Findings("impossible", fits=True)),
    ("merged", Findings("changed")),
    ("merged", Findings("changed", fits=True, agrees=False)),  # it fits elsewhere: the merge is believed, and shown
    ("partly", Findings("changed", inside=1, hunks=2)),
    ("moved", Findings("changed", moved=True)),
    ("moved", Findings("conflict", moved=True, deleted=True)),
    ("empty", Findings("same")),
    ("contained", Findings("same", reverses=True)),
    ("contained", Findings("same", identical=True)),
    ("contained", Findings("conflict", reverses=True)),
    ("contained", Findings("impossible", reverses=True)),
    ("upstream", Findings("same", commit=COMMIT)),
    ("upstream", Findings("conflict", reverses=True, commit=COMMIT)),
    ("upstream", Findings("conflict", commit=COMMIT)),  # the base went on from there
    ("clean", Findings("changed", fits=True, agrees=True, commit=COMMIT)),  # taken back by the base
    ("clean", Findings("changed", fits=True, agrees=True, reverses=True)),  # a twin has it, this place has it not
    ("retire", Findings("changed", fits=True, agrees=True, retires=True)),
    ("retire", Findings("conflict", retires=True, lacking=A)),
    ("contained", Findings("same", reverses=True, retires=True)),  # the proof is told, not the promise
    ("blocked", Findings("changed", fits=True, agrees=True, lacking=A)),
    ("contained", Findings("same", identical=True, lacking=A)),
    ("gone", Findings("conflict", deleted=True)),
    ("conflict", Findings("conflict")),
    ("conflict", Findings("conflict", fits=True)),
    ("conflict", Findings("impossible")),
]


@pytest.mark.parametrize(("verdict", "found"), TABLE)
def test_verdict(verdict: Verdict, found: Findings) -> None:
    assert decide(found) == verdict


def test_every_verdict_can_come_out() -> None:
    assert {verdict for verdict, _ in TABLE} == set(VERDICTS)


@pytest.mark.parametrize(
    ("settled", "verdict", "wants", "stays"),
    [
        ("", "conflict", True, False),
        ("by hand", "conflict", False, True),
        ("emptied", "gone", False, False),
        ("left out", "blocked", False, False),
        ("left out", "clean", False, False),
        ("", "retire", False, False),
        ("", "merged", False, True),
    ],
)
def test_what_is_settled_wants_no_hands(settled: str, verdict: Verdict, wants: bool, stays: bool) -> None:
    result = Rebased(PatchName("p"), verdict, settled=settled)  # type: ignore[arg-type]
    assert (result.wants_hands, result.stays) == (wants, stays)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("the base is sglang 0.5.16 or newer, which tests the card in place", True),
        ("the base is sglang 0.5.23 or newer", True),
        ("sglang>=0.5.16", True),
        ("sglang==0.5.16", True),
        ("sglang 0.5.24", False),
        ("v0.5.16 is released", True),
        ("fixed in 0.5.16", True),
        ("0.5.16+", True),
        (">= 0.5.24", False),
        ("> 0.5.22", True),
        ("> 0.5.23", False),
        ("newer than 0.5.23", False),
        ("after 0.5.22", True),
        ("0.5.23rc1 has it", True),
        ("0.5.24rc1 has it", False),
        ("torch 2.9 is there", None),
        ("torch>=2.9", None),
        ("flashinfer reaches 0.6.13", None),
        ("0.6.13 of flashinfer is there", None),
        ("0.5.16 of sglang is there", True),
        ("the fix lands in 0.5.16", True),
        ("sglang 0.5.16 and torch 2.9", None),
        ("not before 0.5.16", None),
        ("unless 0.5.16 breaks it", None),
        ("https://example.com/releases/v0.5.16 is merged", None),
        ("the base bounds it", None),
        ("never", None),
        ("", None),
    ],
)
def test_condition(text: str, answer: bool | None) -> None:
    assert holds(text, "sglang", "0.5.23") is answer


def test_a_base_without_a_release_decides_no_condition() -> None:
    assert conditions(("sglang 0.5.16",), "sglang", None) == (("sglang 0.5.16", None),)


LABELS = Labels("new", "old", "mine")
MARKED = (
    b"a\n<<<<<<< new\nours\n||||||| old\nbase\n=======\ntheirs\n>>>>>>> mine\nz\n<<<<<<< new:b.py\n||||||| old:a.py\n\
x\n=======\nx\ny\n>>>>>>> mine:a.py\n"
)


def test_a_clash_has_all_three_sides_and_its_line() -> None:
    stages = tuple(Stage("a.py", number, "100644", "0" * 40) for number in (1, 2, 3))
    notices = (Notice("CONFLICT (contents)", ("a.py",), "CONFLICT (content): Merge conflict in a.py"),)
    merged = TreeMerge(TreeId("t"), False, stages, notices, {"a.py": MARKED})
    first, second = clashes(merged, LABELS)
    assert (first.line, first.ours, first.base, first.theirs) == (2, ("ours",), ("base",), ("theirs",))
    assert (second.line, second.ours, second.theirs, second.kind) == (10, (), ("x", "y"), "contents")


def test_a_clash_of_whole_files_is_told_by_its_kind() -> None:
    notices = (Notice("CONFLICT (modify/delete)", ("a.py",), "…"),)
    merged = TreeMerge(TreeId("t"), False, (Stage("a.py", 1, "100644", "0" * 40),), notices)
    assert [(clash.kind, clash.line) for clash in clashes(merged, LABELS)] == [("modify/delete", None)]
    assert merged.deleted == ("a.py",)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (MARKED, 2),
        (b"a\n>>>>>>> mine\n", 2),
        (b"Title\n=======\n<<<<<<<\n", None),
        (b"", None),
        (b" <<<<<<< x\n", None),
    ],
)
def test_leftover_markers(data: bytes, line: int | None) -> None:
    assert leftover(data) == line


def _section(*lines: bytes) -> FilePatch:
    return FilePatch("pkg/old.py", "pkg/old.py", (Hunk(1, 1, len(lines), 1, len(lines), lines),))


def test_lines_are_found_in_their_new_home() -> None:
    section = _section(b" def first():\n", b"-    return 1\n", b"+    return 2\n", b" \n", b" # a comment alone\n")
    files = {
        "pkg/new.py": b"import x\n\ndef first():\n    return 1\n",
        "pkg/half.py": b"def first():\n",
        "pkg/old.py": b"def first():\n",
    }
    assert [(home.new, home.found, home.lines) for home in homes(section, files)] == [("pkg/new.py", 2, 2)]


def test_no_other_home_for_lines_that_are_still_at_home() -> None:
    section = _section(b" def first():\n", b"-    return 1\n")
    data = b"def first():\n    return 1\n"
    assert homes(section, {"pkg/old.py": data, "pkg/copy.py": data}) == ()


def test_a_patch_that_reads_nothing_telling_has_no_home() -> None:
    assert homes(_section(b" \n", b"+new line\n", b" }\n"), {"a.py": b"\n}\n"}) == ()


PATCH = b"""Subject: x

Area: tests
Needs: a (its lines
 go below)
Needs: b
Why: It is a test.
---
diff --git a/f b/f
--- a/f
+++ b/f
@@ -1 +1 @@
-Needs: a
+Needs: b
"""


def test_needs_of_what_is_gone_are_taken_out_whole() -> None:
    parsed = parse(PATCH, "x.patch")
    assert isinstance(parsed, ParsedPatch)
    left = needless(PATCH, parsed.header, [PatchName("a")])
    assert left == PATCH.replace(b"Needs: a (its lines\n go below)\n", b"")
    assert needless(PATCH, parsed.header, [PatchName("c")]) == PATCH

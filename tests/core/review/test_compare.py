"""Two queues side by side: what is added, dropped, moved, renamed, changed; and what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.names import Digest, PatchName
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.series import settle
from stackctl.core.patches.values import Header
from stackctl.core.review.compare import Change, Entry, compare, header_notes
from stackctl.core.review.rangediff import range_diff

HUNK = "@@ -{at},3 +{at},3 @@ def f():\n {before}\n-old {what}\n+new {what}\n {after}\n"


def entry(name: str, what: str = "", *, at: int = 10, header: str = "", around: tuple[str, str] = ("a", "b")) -> Entry:
    what = what or name
    text = f"Subject: title of {name}\n\n{header or 'Area: tests'}\n---\n"
    text += "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n"
    text += HUNK.format(at=at, what=what, before=around[0], after=around[1])
    parsed = parse(text.encode(), f"patches/{name}.patch")
    assert isinstance(parsed, ParsedPatch)
    patch = settle(PatchName(name), parsed, 1)
    return Entry(patch.name, patch.sha256, patch)


def told(changes: tuple[Change, ...]) -> list[tuple[str, str]]:
    return [(one.name, one.word) for one in changes]


A, B, C, D = (entry(name) for name in "abcd")


def test_equal_queues_differ_in_nothing() -> None:
    assert compare((A, B, C), (A, B, C)) == ()


def test_added_and_dropped() -> None:
    assert told(compare((A, B), (A, C))) == [("c", "added"), ("b", "dropped")]


def test_only_what_a_person_would_move_is_moved() -> None:
    (one,) = compare((A, B, C, D), (B, C, D, A))
    assert (one.name, one.moved, one.kind, one.old_order, one.new_order) == ("a", True, "same", 1, 4)
    assert one.range_diff == ""


def test_a_patch_that_others_pushed_down_is_not_moved() -> None:
    assert told(compare((B, C), (A, B, C))) == [("a", "added")]


def test_other_line_numbers_and_ids_are_no_change() -> None:
    assert compare((entry("a", at=10),), (entry("a", at=99),)) == ()


def test_another_context_is_told_as_such() -> None:
    (one,) = compare((entry("a"),), (entry("a", around=("a", "z")),))
    assert (one.kind, one.said) == ("context", "it changes the same lines, beside others")
    assert "- b\n+ z\n" in one.range_diff


def test_a_changed_line_shows_with_both_signs() -> None:
    (one,) = compare((entry("a", "one"),), (entry("a", "two"),))
    assert one.kind == "changed"
    assert one.range_diff == (
        "@@ x.py\n  ## x.py ##\n @@ x.py: def f():\n  a\n--old one\n-+new one\n+-old two\n++new two\n  b\n"
    )


def test_a_header_alone_is_told_field_by_field() -> None:
    old = entry("a", header="Area: tests\nUpstream: Pending\nNeeds: x")
    new = entry("a", header="Area: tests\nUpstream: Submitted https://a.b/c\nNeeds: x\nNeeds: y\nRisk: low")
    (one,) = compare((old,), (new,))
    assert one.kind == "header"
    assert one.notes == ("Upstream: Pending -> Submitted https://a.b/c", "Needs: now also y", "Risk: now low")


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        (Header("a", "x", None, ""), Header("b", "x", None, ""), "title: a -> b"),
        (Header("a", "x", None, ""), Header("a", "y", None, ""), "author: x -> y"),
        (Header("a", None, "2026", ""), Header("a", None, None, ""), "date: 2026 -> none"),
        (Header("a", None, None, "one\ntwo"), Header("a", None, None, "three"), "message: reworded"),
        (Header("a", None, None, "", (("Why", "z"),)), Header("a", None, None, ""), "Why: no longer z"),
    ],
)
def test_notes(old: Header, new: Header, note: str) -> None:
    assert list(header_notes(old, new)) == [note]


def test_a_message_that_was_only_wrapped_anew_is_not_reworded() -> None:
    assert list(header_notes(Header("a", None, None, "one two"), Header("a", None, None, "one\ntwo"))) == []


def test_a_patch_is_found_again_under_another_name() -> None:
    renamed = entry("z", "b")
    (one,) = compare((A, B), (A, renamed))
    assert (one.name, one.was, one.word) == ("z", "b", "header only, renamed")
    same = Entry(PatchName("z"), B.sha256, replace(B.patch, name=PatchName("z")) if B.patch else None)
    (one,) = compare((A, B), (A, same))
    assert (one.kind, one.was, one.word) == ("same", "b", "renamed")


def test_two_patches_that_share_little_are_not_one() -> None:
    assert told(compare((A,), (entry("z", "quite other"),))) == [("z", "added"), ("a", "dropped")]


def test_a_patch_whose_old_bytes_are_lost_is_known_to_differ() -> None:
    lost = Entry(PatchName("a"), Digest("0" * 64), None)
    (one,) = compare((lost,), (A,))
    assert (one.kind, one.title) == ("unknown", "title of a")
    (one,) = compare((lost,), ())
    assert (one.kind, one.title) == ("dropped", None)


def test_a_range_diff_of_equal_patches_is_empty() -> None:
    assert A.patch and range_diff(A.patch, A.patch) == ""


NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@given(NAMES, NAMES)
def test_the_changes_lead_from_the_old_queue_to_the_new(old: list[str], new: list[str]) -> None:
    changes = compare([entry(name) for name in old], [entry(name) for name in new])
    kinds = {one.name: one for one in changes}
    assert {name for name, one in kinds.items() if one.kind == "added"} == set(new) - set(old)
    assert {name for name, one in kinds.items() if one.kind == "dropped"} == set(old) - set(new)
    stays = [name for name in new if name in old and not (name in kinds and kinds[name].moved)]
    assert stays == [name for name in old if name in stays]  # what is not moved is in the same order on both sides


@given(NAMES, st.randoms(use_true_random=False))
def test_no_more_is_moved_than_must_be(names: list[str], random: st.DataObject) -> None:
    shuffled = list(names)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    moved = [one for one in compare([entry(n) for n in names], [entry(n) for n in shuffled]) if one.moved]
    assert (not moved) == (names == shuffled)
    assert len(moved) < max(len(names), 1)

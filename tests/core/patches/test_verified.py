"""One trailer in a patch file: written where trailers are, replaced when it says the same, no other byte touched."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.verified import verified
from tests.core.patches.mutations import mutated, patch

DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
LINE = "Verified-on: sglang==0.5.15 2026-03-02 it works\n"


def recorded(text: str, day: str = "2026-03-02", what: str = "it works") -> str:
    parsed = parse(text.encode(), "p.patch")
    assert isinstance(parsed, ParsedPatch)
    return verified(parsed.data, parsed.header, "sglang==0.5.15", day, what).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Subject: x\n\nWhy: It is\n too small.\n", "---\n x | 2 +-\n\n"),
        ("Subject: x\n\nBody: is no trailer here\nas this line shows.\n\nWhy: y\n", "\n---\n"),
        ("Subject: x\n\nWhy: y\n", ""),
    ],
)
def test_after_the_last_trailer(before: str, after: str) -> None:
    assert recorded(before + after + DIFF) == before + LINE + after + DIFF


@pytest.mark.parametrize(
    ("before", "after"), [("Subject: x\n\nBody.\n", "---\n"), ("Subject: x\n", "\n---\n"), ("Subject: x\n", "")]
)
def test_a_message_without_trailers_gets_a_paragraph(before: str, after: str) -> None:
    assert recorded(before + after + DIFF) == before + "\n" + LINE + after + DIFF


def test_the_same_of_another_day_is_replaced_and_all_else_added() -> None:
    first = recorded("Subject: x\n\nWhy: y\n---\n" + DIFF)
    assert recorded(first) == first
    assert recorded(first, "2026-04-01") == first.replace("2026-03-02", "2026-04-01")
    other = recorded(first, "2026-04-01", "c60-toolcalls, 60 streams, on eight cards of the small machine at night")
    assert LINE + "Verified-on: sglang==0.5.15 2026-04-01 c60-toolcalls, 60 streams, on eight\n cards of" in other
    assert recorded(other, "2026-05-01") == other.replace("2026-03-02", "2026-05-01")


def test_a_bare_diff_has_no_place_for_it() -> None:
    with pytest.raises(ValueError, match="no `Subject:`"):
        recorded(DIFF)


@given(st.randoms(use_true_random=False))
def test_nothing_else_of_the_patch_changes(random: Random) -> None:
    before = parse(mutated(random, patch(random)), "p.patch")
    if not isinstance(before, ParsedPatch) or not before.header.subject:
        return
    after = parse(verified(before.data, before.header, "sglang==0.5.15", "2026-03-02", "it works"), "p.patch")
    assert isinstance(after, ParsedPatch)
    assert [(f.old, f.new, [h.lines for h in f.hunks]) for f in after.files] == [
        (f.old, f.new, [h.lines for h in f.hunks]) for f in before.files
    ]
    assert after.header.trailers == (*before.header.trailers, ("Verified-on", LINE.removeprefix("Verified-on: ")[:-1]))
    assert (after.header.subject, after.header.body) == (before.header.subject, before.header.body)

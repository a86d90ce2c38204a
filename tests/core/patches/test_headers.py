"""The lint of patch headers: each finding with its line in the patch file and what to write there."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackctl.core.names import PatchName
from stackctl.core.patches.headers import lint
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.series import settle
from stackctl.errors import Problem

ROOT = Path(__file__).parents[3]
DIFF = f"diff --git a/x b/x\nindex {'0' * 40}..{'1' * 40} 100644\n"
HUNK = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
MAIL = ["From: A <a@b>", "Date: Mon, 2 Mar 2026 09:00:00 +0000", "Subject: [PATCH] Title", ""]
SOUND = ["Area: cache", "Why: It is", " too small.", "Upstream: Pending", "Remove-when: the base is larger"]
KNOWN = [PatchName("t/x"), PatchName("t/other")]


def found(*trailers: str, mail: list[str] = MAIL, diff: str = DIFF) -> tuple[Problem, ...]:
    text = "\n".join([*mail, *trailers, "---", ""]) + diff + HUNK
    parsed = parse(text.encode(), "patches/t/x.patch")
    assert isinstance(parsed, ParsedPatch), parsed
    problems = lint(settle(PatchName("t/x"), parsed, 1), KNOWN)
    assert all(problem.hint and problem.where and problem.where.file == "patches/t/x.patch" for problem in problems)
    return problems


def told(*trailers: str, mail: list[str] = MAIL) -> list[tuple[int | None, str]]:
    return [(p.where.line, p.message) for p in found(*trailers, mail=mail) if p.where]


def test_a_sound_header_and_what_others_write_pass() -> None:
    more = ["Needs: t/other (it calls it)", "Conflicts: t/other", "Toggle: enable-metrics", "Toggle: SGLANG_X=0 (slow)"]
    more += ["Risk: high; the pool", "Verified-on: sglang==0.5.15 2026-03-02 c60-toolcalls", "Source: sglang"]
    more += ["Signed-off-by: A <a@b>", "Co-authored-by: B <b@c>", "Reviewed-by: C <c@d>"]
    assert found(*SOUND, *more) == ()


def test_what_is_missing_is_told_where_it_would_stand() -> None:
    assert told() == [(5, f"HEADER-MISSING: no `{key}:` among the trailers above `---`") for key in
                      ("Area", "Why", "Upstream", "Remove-when")]  # fmt: skip
    assert told(*SOUND[:4]) == [(9, "HEADER-MISSING: no `Remove-when:` among the trailers above `---`")]
    assert told(*SOUND[:3], "Upstream: Inappropriate it is for one machine") == []


def test_a_bare_diff_lacks_all() -> None:
    messages = [message for _, message in told(mail=[])]
    assert messages[:3] == [f"HEADER-MISSING: no `{key}:`" for key in ("Subject", "From", "Date")]
    assert [p.message for p in found(*SOUND, diff="diff --git a/x b/x\n")] == [
        "NO-INDEX-LINE: without ids of blobs there is no 3-way merge"
    ]


@pytest.mark.parametrize(
    ("trailer", "hint"),
    [
        ("Upstream: Submitted http://x/y", "the whole URL"),
        ("Upstream: Submitted", "the whole URL"),
        ("Upstream: Submitted https://x", "the whole URL"),
        ("Upstream: Backport abc123", "all 40 hex digits"),
        ("Upstream: Backport " + "A" * 40, "all 40 hex digits"),
        ("Upstream: Inappropriate", "why upstream will not want it"),
        ("Upstream: Pending soon", "stands alone"),
        ("Upstream: pending", "stands alone"),
        ("Upstream: Submited https://x/y", "Did you mean Submitted? "),
        ("Upstream: no", "Write `Upstream: Pending`"),
        ("Upstream:", "Write `Upstream: Pending`"),
        ("Area: cache, moe", "one area"),
        ("Risk: huge", "`low`, `medium` or `high`"),
        ("Risk: lower", "`low`, `medium` or `high`"),
        ("Risk:", "`low`, `medium` or `high`"),
        ("Toggle: SGLANG_X", "a variable with its value"),
        ("Toggle: a b c", "what switches it off"),
        ("Verified-on: sglang==0.5.15 2026-02-30 x", "a date like"),
        ("Verified-on: 2026-02-03 x", "40 hex digits"),
        ("Needs: a b", "a line for each patch"),
        ("Needs: t/other, t/third", "a line for each patch"),
        ("Conflicts: t/x", "Take the line out."),
        ("Conflicts: t/othr", "Did you mean t/other?"),
    ],
)
def test_values_that_nobody_could_read(trailer: str, hint: str) -> None:
    key = trailer.partition(":")[0]
    lines = [line for line in SOUND if not line.startswith(key)]
    (problem,) = found(*lines, trailer)
    assert problem.where
    assert problem.where.line == len(MAIL) + len(lines) + 1
    assert trailer.split(":")[0] in problem.message
    assert hint in (problem.hint or "")


@pytest.mark.parametrize("key", ["Area", "Why", "Upstream", "Remove-when", "Source", "Risk"])
def test_at_most_one_of(key: str) -> None:
    values = {"Area": "cache", "Upstream": "Pending", "Source": "sglang", "Risk": "low"}
    lines = [line for line in SOUND if not line.startswith((key, " " if key == "Why" else key))]
    line = f"{key}: {values.get(key, 'text')}"
    first, second = len(MAIL) + len(lines) + 1, len(MAIL) + len(lines) + 2
    assert told(*lines, line, key.lower() + line.removeprefix(key)) == [
        (second, f"HEADER-TWICE: `{key}:` stands in line {first} already")
    ]


def test_trailers_that_nobody_reads() -> None:
    above = told("Why: It is here.", "", *SOUND)
    assert above == [(5, "HEADER-MISPLACED: `Why:` is not in the last paragraph above `---`, so it is no trailer")]
    mixed = [
        (at, message.split("`")[1]) for at, message in told(*SOUND, "some prose", "Risk: low") if "PLACED" in message
    ]
    assert mixed == [(5, "Area:"), (6, "Why:"), (8, "Upstream:"), (9, "Remove-when:"), (11, "Risk:")]
    below = told(*SOUND, "---", "Risk: low", "")
    assert below[0] == (11, "HEADER-MISPLACED: `Risk:` is not in the last paragraph above `---`, so it is no trailer")


def test_a_key_that_looks_like_ours() -> None:
    assert told(*SOUND, "Need: t/other", "Reported-by: x") == [
        (10, "HEADER-KEY: `Need:` is a trailer that nobody reads")
    ]
    assert found(*SOUND, "Need: t/other")[0].hint == "Did you mean `Needs:`?"


@pytest.mark.parametrize("file", sorted((ROOT / "patches").rglob("*.patch")), ids=lambda file: file.stem)
def test_the_headers_of_this_repository_are_sound(file: Path) -> None:
    parsed = parse(file.read_bytes(), file.name)
    assert isinstance(parsed, ParsedPatch), parsed
    names = [PatchName(str(path.relative_to(ROOT / "patches"))[: -len(".patch")]) for path in file.parent.glob("*")]
    assert lint(settle(PatchName(file.stem), parsed, 1), names) == ()

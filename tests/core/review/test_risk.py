"""The risk of a patch: only code counts, each reason has its place, and no score leaves 0 to 10."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.names import PatchName
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.series import settle
from stackctl.core.patches.values import Patch
from stackctl.core.review.risk import KINDS, MOST, assess, grouped

SCHEDULER = "python/sglang/srt/managers/scheduler.py"
PLAIN = "python/sglang/srt/entrypoints/openai/protocol.py"


def patch_of(*lines: str, path: str = PLAIN, header: str = "Area: tests\n") -> Patch:
    """A patch of one hunk at line 10 whose lines are these, signs and all."""
    old = sum(line[0] != "+" for line in lines)
    new = sum(line[0] != "-" for line in lines)
    text = f"Subject: t\n\n{header}---\ndiff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    text += f"@@ -10,{old} +10,{new} @@\n" + "".join(f"{line}\n" for line in lines)
    parsed = parse(text.encode(), "p.patch")
    assert isinstance(parsed, ParsedPatch), parsed
    return settle(PatchName("p"), parsed, 1)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("+        seq_lens[batch_idx] = 0", "batched indexing"),
        ("+        out = x.index_select(0, keep)", "batched indexing"),
        ("+        y = logits[: bs]", "batched indexing"),
        ("+        self.kv_buffer.copy_(src)", "buffers"),
        ("+        out = torch.empty(n, dtype=dtype)", "buffers"),
        ("-        torch.cuda.synchronize()", "synchronisation"),
        ("+        await self.done.wait()", "synchronisation"),
        ("+        async with self.lock:", "synchronisation"),
        ("+        self.waiting_queue.append(req)", "scheduling"),
        ("+        batch = self.get_next_batch_to_run()", "scheduling"),
    ],
)
def test_one_line_of_each_kind(line: str, kind: str) -> None:
    risk = assess(patch_of(" def f(self):", line, " pass"))
    assert kind in risk.kinds
    reason = next(reason for reason in risk.reasons if reason.kind == kind)
    assert (reason.file, reason.line, reason.at) == (PLAIN, 11, 10)
    assert reason.text == f"{line[0]} {line[1:].strip()}"


@pytest.mark.parametrize(
    "line",
    [
        "+    # wait for the lock, then synchronize() the buffer",
        '+    logger.info("waiting_queue[idx] buffer lock")',
        "+    limit = total // 2",
        '+    """Take the lock, await the buffer."""',
        "+    name = request.model",
    ],
)
def test_comments_quoted_text_and_plain_lines_do_not_count(line: str) -> None:
    risk = assess(patch_of(" def f(self):", line, " pass"))
    assert (risk.score, risk.level, risk.reasons, risk.weight) == (0.0, "none", (), 1.0)


def test_a_docstring_of_many_lines_is_no_code_and_what_follows_is() -> None:
    lines = [" def f(self):", '+    """Says', "+    self.lock.acquire()", '+    """', "+    self.lock.release()"]
    (reason,) = assess(patch_of(*lines)).reasons
    assert reason.line == 14


def test_a_slash_is_a_comment_in_c_and_a_division_in_python() -> None:
    line = "+  x = y // page_table[idx]"
    assert assess(patch_of(line)).kinds == ("batched indexing",)
    assert assess(patch_of(line, path="python/sglang/csrc/a.cu")).kinds == ()


def test_a_wait_that_is_taken_away_counts_more_than_one_that_moved() -> None:
    gone = assess(patch_of("-event.wait()", " x = 1"))
    moved = assess(patch_of("-event.wait()", " x = 1", "+event.wait()"))
    assert gone.score > moved.score
    assert gone.reasons[0].text == "- event.wait()"
    assert gone.reasons[0].line == 10  # of the old file


def test_a_path_alone_gives_a_little_and_no_kind() -> None:
    risk = assess(patch_of("+x = 1", path=SCHEDULER))
    assert (risk.score, risk.level, risk.kinds) == (1.0, "low", ())
    assert [(reason.kind, reason.line) for reason in risk.reasons] == [("scheduling", None)]


def test_the_header_raises_a_score_and_never_lowers_it() -> None:
    assert assess(patch_of("+x = 1", header="Risk: high; see below\n")).level == "high"
    assert assess(patch_of("+x = 1", header="Risk: medium\n")).level == "medium"
    line = "+self.waiting_queue[idx].buffer.wait()"
    assert assess(patch_of(line, header="Risk: low\n")).score == assess(patch_of(line)).score > 6


def test_documentation_and_tests_have_no_risk() -> None:
    assert assess(patch_of("+torch.cuda.synchronize()", path="python/sglang/test/test_a.py")).score == 0


def test_places_of_a_kind_are_told_in_one_line() -> None:
    lines = [f"+a[{n}, idx] = 0" for n in range(9)]
    (line,) = grouped(assess(patch_of(*lines)).reasons)
    assert line == f"batched indexing: {PLAIN}:10, 11, 12, 13, 14, 15, … (9 lines)"


code = st.sampled_from(["event.wait()", "buf.copy_(x)", "a[idx] = 1", "self.waiting_queue.pop()", "x = 1", "# lock"])
SIGNED = st.lists(st.tuples(st.sampled_from("+- "), code), min_size=1, max_size=30)


@given(SIGNED, st.sampled_from([SCHEDULER, PLAIN, "python/sglang/srt/mem_cache/memory_pool.py"]))
def test_scores_stay_in_range_and_places_are_in_the_patch(lines: list[tuple[str, str]], path: str) -> None:
    patch = patch_of(*[f"{sign}{text}" for sign, text in lines], path=path)
    risk = assess(patch)
    assert 0 <= risk.score <= MOST
    assert 1.0 <= risk.weight <= 4.0
    assert set(risk.kinds) <= set(KINDS)
    written = patch.data.decode().split("\n")
    for reason in risk.reasons:
        if reason.at is not None:
            assert written[reason.at - 1][0] + " " + written[reason.at - 1][1:].strip() == reason.text

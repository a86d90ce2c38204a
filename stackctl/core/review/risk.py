"""How likely a patch is to make answers wrong only under load: a score from its own lines, each reason with its place.

Faults that show at concurrency 60 and not at 1 come from four things: indexing by batch, buffers that are used again,
synchronisation, and scheduling. The score counts where a patch touches them. It is no verdict: it orders what a person
reads first, and it is what a bisect thinks likely before its first run. Comments and text in quotes do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from stackctl.core.patches.values import FilePatch, Hunk, Patch
from stackctl.core.review.areas import harmless

Kind = Literal["batched indexing", "buffers", "synchronisation", "scheduling"]
Level = Literal["none", "low", "medium", "high"]
KINDS: tuple[Kind, ...] = ("batched indexing", "buffers", "synchronisation", "scheduling")
MOST = 10.0  # of a score
FIRST, MORE, MOST_OF_KIND = 2.0, 0.25, 3.0  # points: the first line of a kind, each other one, all of them
PATH = 1.0  # points: no line of the kind, but a file whose business it is
UNSYNCED = 1.0  # points on top: a wait, a lock or a copy of a buffer is taken away
MEDIUM, HIGH = 3.0, 6.0  # scores from which a level is called so; a header's `Risk:` raises a score to these
HEAVIEST = 4.0  # a bisect's weight of the highest score; 1 is the weight of score 0

LINES: dict[Kind, re.Pattern[str]] = {
    "batched indexing": re.compile(
        r"\w\[[^\]]*(?:\b|_)(?:idxs?|ind(?:ex|exes|ices)|mask|locs?|slots?|rows?|perm|order|rids?|rooms?)(?:\b|_)[^\]]*\]"
        r"|\b(?:index_(?:select|copy|fill|put|add)_?|gather|scatter\w*|take_along_dim|masked_\w+|nonzero|argsort|"
        r"searchsorted|repeat_interleave|cumsum)\("
        r"|\b(?:req_pool_ind\w*|out_cache_loc\w*|page_tables?|block_tables?|cu_seqlens\w*|kv_ind\w*|page_ind\w*|"
        r"positions)\b"
        r"|\[\s*:\s*(?:bs|batch_size|num_\w+)\b"
    ),
    "buffers": re.compile(
        r"\b(?:torch|np)\.(?:empty|zeros|full|ones)(?:_like)?\(|\.copy_\(|\.(?:fill|zero|resize|set)_\(|pin_memory"
        r"|\bout=|\.data_ptr\(|\w*(?:buffer|_buf\b|\bbufs?\b|scratch|staging)\w*|\balloc\w*\(|\.free\w*\(|\bshared_memory\b|\bdeque\("
        r"|\bevict\w*\(|\bmemcpy\w*|\bmemoryview\("
    ),
    "synchronisation": re.compile(
        r"synchronize\(|\.wait\w*\(|\bawait\b|\b\w*(?:Lock|Event|Condition|Semaphore|Barrier|Queue|Future)\("
        r"|\.(?:acquire|release|record|notify\w*|set_result|put_nowait|get_nowait)\(|\b(?:\w+_)?lock\b|Stream\("
        r"|\bnon_blocking\b|\b(?:all_reduce|all_gather|broadcast|barrier|reduce_scatter)\w*\(|\bthreading\b"
        r"|\bcreate_task\(|\bwait_(?:event|stream)\(|__sync\w+|\batomic\w*|mbarrier|fence"
    ),
    "scheduling": re.compile(
        r"\b(?:waiting|running|grammar|retracted|transfer|prealloc|bootstrap)_(?:queue|batch|reqs)\b|\bcur_batch\b"
        r"|\blast_batch\b|\bchunked_req\b|\b(?:merge|filter|prepare|retract|get_next|get_new|process|run)_\w*(?:batch|"
        r"decode|extend)\w*\(|\b\w*[Ss]chedul\w+\b|\bpriorit\w+\b|\bpreempt\w*\b|\b\w*overlap\w*\b|\bevent_loop\w*"
        r"|\bmax_(?:running|prefill|total)\w*|\bPrefillAdder\b|\bcall_(?:later|soon)\("
    ),
}
PATHS: dict[Kind, re.Pattern[str]] = {
    "batched indexing": re.compile(r"index|topk|page_table|kv_ind|gather|scatter|sparse"),
    "buffers": re.compile(r"mem_cache|pool|buf|alloc|store|kv_?cache|hicache|cuda_graph|staging"),
    "synchronisation": re.compile(r"disagg|transfer|stream|lock|sync|communicat|distributed|detoken|ipc|batch_overlap"),
    "scheduling": re.compile(r"sched|queue|overlap|polic|multiplex|priorit"),
}
TAKEN_AWAY = re.compile(
    r"synchronize\(|\.wait\w*\(|\block\b|Lock\(|\.clone\(|\.copy_?\(|barrier|fence|__sync|\.record\("
)
STRINGS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
PYTHON_COMMENT = re.compile(r"(?:^|\s)#.*$")
OTHER_COMMENT = re.compile(r"(?:^|\s)//.*$|^\s*(?:/?\*).*$")
QUOTES = re.compile(r"\"\"\"|'''")


@dataclass(frozen=True)
class Reason:
    """Why a patch is risky. `line` counts in the file as the patch states it: the new one for an added line, the old
    one for a removed line; None for the file as a whole. `at`: the line of the patch file."""

    kind: Kind
    text: str
    file: str
    line: int | None = None
    at: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.kind}: {place}: {self.text}"


@dataclass(frozen=True)
class Risk:
    """`score`: 0 to 10. `reasons`: the most telling first. `said`: the header's own `Risk:`."""

    score: float
    reasons: tuple[Reason, ...] = ()
    said: str | None = None

    @property
    def level(self) -> Level:
        if not self.score:
            return "none"
        return "high" if self.score >= HIGH else "medium" if self.score >= MEDIUM else "low"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What its lines touch; a file's name alone is not enough."""
        found = {reason.kind for reason in self.reasons if reason.line is not None}
        return tuple(kind for kind in KINDS if kind in found)

    @property
    def weight(self) -> float:
        """What a bisect multiplies its prior with: 1 for score 0, HEAVIEST for the highest."""
        return round(1.0 + (HEAVIEST - 1.0) * self.score / MOST, 3)


@dataclass(frozen=True)
class _Touched:
    file: str
    side: str
    text: str
    line: int
    at: int


def assess(patch: Patch) -> Risk:
    """The risk of one patch, from its lines, its paths and what its header says."""
    said = next(iter(patch.header.trailer("Risk")), None)
    if harmless(patch):
        return Risk(0.0, (), said)
    touched = [one for section in patch.files for one in _code(section)]
    score, reasons = 0.0, list[Reason]()
    for kind in KINDS:
        points, found = _of_kind(kind, patch, touched)
        score += points
        reasons += found
    word = (said or "").lower()
    least = HIGH if word.startswith("high") else MEDIUM if word.startswith("medium") else 0.0
    return Risk(round(min(max(score, least), MOST), 2), tuple(reasons), said)


def _of_kind(kind: Kind, patch: Patch, touched: Sequence[_Touched]) -> tuple[float, list[Reason]]:
    hits = [one for one in touched if LINES[kind].search(one.text)]
    if not hits:
        files = [section.path for section in patch.files if PATHS[kind].search(section.path)]
        return (PATH if files else 0.0), [Reason(kind, "by its name", file) for file in files[:1]]
    points = min(FIRST + MORE * (len(hits) - 1), MOST_OF_KIND)
    gone = [one for one in hits if one.side == "-" and TAKEN_AWAY.search(one.text) and not _comes_back(one, touched)]
    if gone and kind in ("synchronisation", "buffers"):
        points += UNSYNCED
    order = [*gone, *(one for one in hits if one not in gone)]
    return points, [_reason(kind, one) for one in order]


def _comes_back(gone: _Touched, touched: Sequence[_Touched]) -> bool:
    return any(one.side == "+" and one.text.strip() == gone.text.strip() for one in touched)


def _reason(kind: Kind, one: _Touched) -> Reason:
    text = f"{one.side} {one.text.strip()}"
    return Reason(kind, text if len(text) <= 100 else f"{text[:99]}…", one.file, one.line, one.at)


def _code(section: FilePatch) -> Iterator[_Touched]:
    """Added and removed lines that are code, without comments and quoted text."""
    for hunk in section.hunks:
        yield from _code_of(section.path, hunk)


def _code_of(path: str, hunk: Hunk) -> Iterator[_Touched]:
    old, new = hunk.old_start, hunk.new_start
    comment = PYTHON_COMMENT if path.endswith((".py", ".pyi", ".toml", ".sh", ".yaml")) else OTHER_COMMENT
    quoted = {"+": False, "-": False}  # inside of a docstring, on either side
    numbers = hunk.numbers or tuple(range(hunk.line + 1, hunk.line + 1 + len(hunk.lines)))
    for raw, at in zip(hunk.lines, numbers, strict=True):
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        side, text = line[:1], line[1:]
        sides = "+-" if side not in ("+", "-") else side
        was = quoted[sides[0]]
        for one in sides:
            quoted[one] ^= len(QUOTES.findall(text)) % 2 == 1
        if side in ("+", "-") and not was and not QUOTES.search(text):
            text = comment.sub("", STRINGS.sub('""', text))
            if text.strip():
                yield _Touched(path, side, text, new if side == "+" else old, at)
        old += side != "+"
        new += side != "-"


def grouped(reasons: Sequence[Reason]) -> tuple[str, ...]:
    """One line a kind: `batched indexing: FILE:12, 40, 41; FILE2:7`."""
    lines = []
    for kind, of_kind in groupby(reasons, key=lambda reason: reason.kind):
        files: dict[str, list[str]] = {}
        for reason in of_kind:
            files.setdefault(reason.file, []).extend([str(reason.line)] if reason.line else [])
        places = [
            f"{file}:{', '.join(_few(numbers))}" if numbers else f"{file} (by its name alone)"
            for file, numbers in files.items()
        ]
        lines.append(f"{kind}: {'; '.join(places)}")
    return tuple(lines)


def _few(numbers: Sequence[str]) -> list[str]:
    found = sorted(dict.fromkeys(numbers), key=int)
    return [*found[:6], f"… ({len(found)} lines)"] if len(found) > 7 else found

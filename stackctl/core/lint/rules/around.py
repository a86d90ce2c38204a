"""Rules on what stands around the flags: patch headers, pins of images and models, the interpreter's torch, sources.

`check` sees these where it has the files at hand, not from a Setup: `check` of the rules here finds nothing by itself.
They have ids so that severity in the stack and comments on a line count for them as for all.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.lint.setup import Setup
from stackctl.core.lint.values import Hit, Rule


def _elsewhere(_setup: Setup) -> Iterator[Hit]:
    return iter(())


def _rule(name: str, about: str, why: str) -> Rule:
    return Rule(name, "warning", _elsewhere, about, why, sglang=False)


_IN_THE_QUEUE = "The comment that lets one through stands at the patch's line under `patches:`, not in the patch."

RULES = (
    _rule(
        "IMAGE-UNPINNED",
        "an image by its tag",
        "What a tag means may change between two builds; a digest says which image it is.",
    ),
    _rule(
        "MODEL-UNLOCKED",
        "a manifest of the model that is not there yet",
        "`stackctl lock --model` writes it; a deploy wants it, to compare every host with it.",
    ),
    _rule(
        "TORCH-DIFFERS",
        "an interpreter with another torch than the base asks for",
        "torch is the one package whose build the machine chooses. What a test shows with one build is not shown for "
        "the other. A comment stands at `python: requirements:` of the stack.",
    ),
    _rule(
        "SOURCE-UNUSED",
        "a source that no patch is for",
        "It is fetched and built for nothing, or a patch lacks its `Source:`.",
    ),
    _rule(
        "HEADER-MISSING",
        "a patch that does not say why it exists",
        "Area, Why, Upstream and Remove-when are what the next person needs to keep or drop it. " + _IN_THE_QUEUE,
    ),
    _rule("HEADER-TWICE", "a trailer of a patch that is there twice", "Only one of them is read. " + _IN_THE_QUEUE),
    _rule(
        "HEADER-VALUE",
        "a trailer of a patch whose value cannot be understood",
        "`Upstream: Pending`, `Risk: low; …`, a date: inventory and graph are made of these. " + _IN_THE_QUEUE,
    ),
    _rule(
        "HEADER-NAME",
        "a trailer that names a patch which is not there",
        "A conflict with a patch that is gone may go too. " + _IN_THE_QUEUE,
    ),
    _rule("HEADER-KEY", "a trailer that stackctl does not know", "Most often a misspelled one. " + _IN_THE_QUEUE),
    _rule(
        "NO-INDEX-LINE",
        "a patch without ids of blobs",
        "It applies; a rebase cannot merge it three ways. `git diff --full-index` writes them. " + _IN_THE_QUEUE,
    ),
    _rule(
        "HEADER-MISPLACED",
        "a trailer where none is read",
        "Trailers stand in the last paragraph above `---`. " + _IN_THE_QUEUE,
    ),
)

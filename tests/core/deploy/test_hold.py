from __future__ import annotations

from dataclasses import replace

from stackctl.core.deploy.facts import Holder, parse_holder
from stackctl.core.deploy.hold import SILENT, is_stale, told

HOLDER = Holder("a1", "ops@box", "box", 12, 1_700_000_000.0, "stackctl deploy")


def test_when_a_hold_is_stale() -> None:
    silent = replace(HOLDER, age=SILENT + 1)
    assert not is_stale(HOLDER, cutover=False, client_gone=False)
    assert is_stale(HOLDER, cutover=False, client_gone=True)
    assert is_stale(silent, cutover=False, client_gone=False)
    assert not is_stale(silent, cutover=True, client_gone=True)
    assert not is_stale(replace(silent, hand=True), cutover=False, client_gone=True)


def test_it_is_told_with_all_that_a_waiting_person_needs() -> None:
    words = told(replace(HOLDER, message="why"))
    assert words.startswith("ops@box since ") and words.endswith("(pid 12, stackctl deploy, attempt a1): why")


def test_unknown_fields_of_another_version_are_no_fault() -> None:
    value = {"attempt": "a1", "who": "x", "host": "h", "pid": 1, "since": 1.0, "command": "c", "later": True}
    assert parse_holder(value) == Holder("a1", "x", "h", 1, 1.0, "c")
    assert parse_holder({}) is None and parse_holder(None) is None

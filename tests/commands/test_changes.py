from __future__ import annotations

import pytest

from stackctl.commands.changes import Change, as_diff, change_stack, holder, readers, write_changes
from stackctl.commands.workspace import Chosen
from stackctl.core.stack.edit import add_patch, remove_patch
from stackctl.errors import StackctlError, UsageError
from tests.fakes import MemoryFiles, fake_ports
from tests.workspaces import ports_of

CHAIN = {
    "stacks/base.yaml": "patches:\n  - a   # first\n  - b\n",
    "stacks/top.yaml": "extends: base.yaml\nwithout: [b]\nappend: [c]\n",
    "stacks/other.yaml": "patches: [a]\n",
    "stacks/broken.yaml": "extends: [\n",
}
TOP = Chosen("/ws/stacks/top.yaml", "/ws")


def test_the_file_that_lists_a_patch_is_found_through_extends() -> None:
    ports = ports_of(CHAIN)
    assert holder(ports, TOP, "a") == "/ws/stacks/base.yaml"
    assert holder(ports, TOP, "c") == "/ws/stacks/top.yaml"
    with pytest.raises(UsageError, match="has no patch b"):
        holder(ports, TOP, "b")


def test_who_else_reads_a_file() -> None:
    assert readers(ports_of(CHAIN), "/ws", "/ws/stacks/base.yaml") == ("/ws/stacks/base.yaml", "/ws/stacks/top.yaml")


def test_a_change_is_a_diff_before_it_is_written() -> None:
    ports = ports_of(CHAIN)
    change = change_stack(ports, "/ws/stacks/base.yaml", lambda file: add_patch(file, "x", after="a"))
    assert as_diff([change]).splitlines() == [
        "--- a/stacks/base.yaml", "+++ b/stacks/base.yaml", "@@ -1,3 +1,4 @@",
        " patches:", "   - a   # first", "+  - x", "   - b",
    ]  # fmt: skip
    assert ports.files.read(change.path) == change.before
    write_changes(ports, [change])
    assert ports.files.read(change.path) == change.after


def test_a_diff_says_where_a_line_end_is_missing() -> None:
    made = Change("/ws/p", "p", None, b"one\ntwo\xff")
    assert (
        as_diff([made]) == "--- /dev/null\n+++ b/p\n@@ -0,0 +1,2 @@\n+one\n+two\udcff\n\\ No newline at end of file\n"
    )


def test_what_changed_meanwhile_stops_all() -> None:
    ports = ports_of(CHAIN)
    one = change_stack(ports, "/ws/stacks/other.yaml", lambda file: add_patch(file, "x"))
    two = change_stack(ports, "/ws/stacks/base.yaml", lambda file: remove_patch(file, "a"))
    ports.files.write(two.path, b"patches: [mine]\n")
    with pytest.raises(StackctlError, match=r"changed meanwhile, so nothing is written: stacks/base\.yaml"):
        write_changes(ports, [one, two])
    assert ports.files.read(one.path) == one.before
    assert ports.files.read(two.path) == b"patches: [mine]\n"


class FullDisk(MemoryFiles):
    """Takes no file whose name has `full` in it."""

    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        if "full" in path:
            raise StackctlError(f"cannot write {path}: No space left on device")
        super().write(path, data, mode)


def test_nothing_is_left_half_done() -> None:
    files = FullDisk()
    files.data |= {"/ws/a": b"a", "/ws/gone": b"g"}
    changes = [
        Change("/ws/a", "a", b"a", b"A"),
        Change("/ws/new", "new", None, b"n"),
        Change("/ws/gone", "gone", b"g", None),
        Change("/ws/full", "full", None, b"x"),
    ]
    with pytest.raises(StackctlError, match="No space left"):
        write_changes(fake_ports(files=files), changes)
    assert files.data == {"/ws/a": b"a", "/ws/gone": b"g"}

"""`patches verify --record`: what it writes, and when it writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackctl.commands.queue.look import verify_queue
from stackctl.commands.queue.verified import record
from stackctl.commands.selection import Selection
from stackctl.commands.tree import base_tree
from stackctl.errors import InvalidFile, StackctlError
from stackctl.output.console import Console
from stackctl.output.patches import show_recorded
from tests.commands.composing import Bench
from tests.fakes import LocalFilesAt, Told

ALL = Selection("s")
DAY = "2023-11-14"  # of the clock of tests


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    found = Bench(tmp_path)
    found.edit("t/one", 10, "one")
    found.edit("t/two", 20, "two")
    found.stack_file("t/one", "t/two")
    return found


def texts(bench: Bench) -> dict[str, str]:
    return {path.name: path.read_text() for path in (bench.workspace / "patches").rglob("*.patch")}


def test_each_patch_gets_one_line_and_the_tree_stays(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    before, tree = texts(bench), verify_queue(bench.ports(), ALL).tree
    base = base_tree(bench.ports(), bench.stack())
    result = record(bench.ports(), ALL)
    assert result.recorded == ("patches/t/one.patch", "patches/t/two.patch")
    line = f"Verified-on: {base} {DAY} applies alone\n and in another order\n"
    assert texts(bench) == {
        name: text.replace("Remove-when: never\n", "Remove-when: never\n" + line) for name, text in before.items()
    }
    assert verify_queue(bench.ports(), ALL).tree == tree
    show_recorded(Console(), result)
    assert f"patches/t/two.patch: recorded {DAY}" in capsys.readouterr().out
    again = record(bench.ports(), ALL)
    assert again.recorded == ()
    show_recorded(Console(), again)
    assert "nothing to record" in capsys.readouterr().out


def test_a_dry_run_writes_nothing(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    before = texts(bench)
    result = record(bench.ports(), ALL, dry_run=True)
    assert (len(result.recorded), texts(bench)) == (2, before)
    show_recorded(Console(), result)
    assert f"patches/t/one.patch: would record {DAY}" in capsys.readouterr().out


def test_nothing_is_recorded_unless_all_is_proved(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.edit("t/bad", 5, "x", old="never there")
    bench.stack_file("t/one", "t/two", "t/bad")
    before = texts(bench)
    result = record(bench.ports(), ALL)
    assert (result.recorded, result.exit, texts(bench)) == ((), 3, before)
    show_recorded(Console(), result)
    assert "nothing is recorded: not all is proved" in capsys.readouterr().out


def test_nothing_is_recorded_when_one_has_no_header(bench: Bench) -> None:
    file = bench.workspace / "patches/t/two.patch"
    text = file.read_text()
    file.write_text(text[text.index("diff --git") :])
    before = texts(bench)
    with pytest.raises(InvalidFile, match=r"patches/t/two\.patch:1: nothing can be recorded: it has no `Subject:`"):
        record(bench.ports(), ALL)
    assert texts(bench) == before


def test_a_patch_given_by_hand_is_not_written_into(bench: Bench) -> None:
    bench.edit("extra", 25, "extra")
    extra = bench.folder / "extra.patch"
    (bench.workspace / "patches/extra.patch").rename(extra)
    before = extra.read_text()
    result = record(bench.ports(), Selection("s", with_patches=(str(extra),)))
    assert result.recorded == ("patches/t/one.patch", "patches/t/two.patch")
    assert extra.read_text() == before


class FullDisk(LocalFilesAt):
    def write(self, path: str, data: bytes, mode: int | None = None) -> None:
        if path.endswith("two.patch"):
            raise StackctlError(f"cannot write {path}: No space left on device")
        super().write(path, data, mode)


def test_nothing_is_recorded_when_one_cannot_be_written(bench: Bench) -> None:
    before = texts(bench)
    with pytest.raises(StackctlError, match="No space left"):
        record(bench.ports(files=FullDisk(bench.folder / "home", bench.workspace)), ALL)
    assert texts(bench) == before


class Editor(Told):
    """Somebody who saves another patch while the proof is made."""

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self._bench = bench

    def live(self, text: str) -> None:
        self._bench.edit("t/two", 20, "another")


def test_what_changed_since_it_was_proved_is_not_recorded(bench: Bench) -> None:
    with pytest.raises(StackctlError, match=r"changed meanwhile, so nothing is written: patches/t/two\.patch"):
        record(bench.ports(progress=Editor(bench)), ALL)
    assert not [name for name, text in texts(bench).items() if "Verified-on" in text]

"""The inventory of a real queue, now and then, and the page that it writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackctl.commands.review.diff import Shape
from stackctl.commands.review.inventory import save_page, take_inventory
from stackctl.commands.selection import Selection
from stackctl.errors import StackctlError, UsageError
from tests.commands.composing import Bench
from tests.commands.test_review import NOW, Repository
from tests.fakes import RepositoryTemplates


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.edit("one", 5, "self.waiting_queue[idx] = 1")
    made.edit("two", 15, "two was here", needs="one")
    made.stack_file("one", "two")
    return made


def test_a_queue_with_its_needs_and_risk(bench: Bench) -> None:
    value = take_inventory(bench.ports(), NOW)
    assert [(one.name, one.needs, one.needed_by) for one in value.patches] == [
        ("one", (), ("two",)),
        ("two", ("one",), ()),
    ]
    assert value.touching["scheduling"] == ("one",)
    assert [(area.area, area.patches) for area in value.areas] == [("tests", 2)]


def test_a_variant_has_what_is_left(bench: Bench) -> None:
    value = take_inventory(bench.ports(), Selection("s", ("patch:one",)))
    assert value.patches == ()
    assert value.variant.startswith("without patch:one")


def test_an_area(bench: Bench) -> None:
    assert len(take_inventory(bench.ports(), NOW, Shape(area="other")).patches) == 2  # by path
    assert take_inventory(bench.ports(), NOW, Shape(area="moe")).patches == ()
    with pytest.raises(UsageError, match="there is no area qqq"):
        take_inventory(bench.ports(), NOW, Shape(area="qqq"))


def test_a_conflict_is_told_and_does_not_hide_the_rest(bench: Bench) -> None:
    bench.edit("one", 5, "x", old="not there")
    one, two = take_inventory(bench.ports(), NOW).patches
    assert one.conflict and "does not apply" in one.conflict
    assert two.conflict is None


def test_the_page_is_written_and_written_again(bench: Bench) -> None:
    ports = bench.ports(templates=RepositoryTemplates())
    for _ in range(2):
        saved = save_page(ports, NOW, Shape(), "out/inventory.html")
    assert (saved.file, saved.patches) == ("out/inventory.html", 2)
    text = (bench.workspace / "out" / "inventory.html").read_text()
    assert len(text.encode()) == saved.size
    assert 'href="#patch/one"' in text
    assert "<svg" in text


@pytest.mark.parametrize("file", ["stacks/s.yaml", "stacks"])
def test_no_other_file_is_overwritten(bench: Bench, file: str) -> None:
    before = (bench.workspace / "stacks" / "s.yaml").read_bytes()
    with pytest.raises(StackctlError, match="is there and is no page"):
        save_page(bench.ports(templates=RepositoryTemplates()), NOW, Shape(), file)
    assert (bench.workspace / "stacks" / "s.yaml").read_bytes() == before


def test_the_inventory_of_the_past(tmp_path: Path) -> None:
    repo = Repository(tmp_path)
    ports = repo.ports(templates=RepositoryTemplates())
    assert [one.name for one in take_inventory(ports, Selection("s@HEAD~1")).patches] == ["one", "two", "three"]
    assert [one.name for one in take_inventory(ports, NOW).patches] == ["three", "one", "two"]
    save_page(ports, Selection("s@HEAD~1"), Shape(), "out.html")
    assert "<h1>s@HEAD~1 (" in (repo.workspace / "out.html").read_text()

"""A rebase that writes: the new queue beside the old one, hands where they are needed, and nothing lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stackctl.adapters.git import GitWorkTrees
from stackctl.commands.gather import load
from stackctl.commands.rebase.look import RebaseReport, RebaseRequest
from stackctl.commands.rebase.session import WriteRequest, abort, go_on, leave_out, status, write
from stackctl.commands.selection import Selection
from stackctl.commands.tree import compose
from stackctl.core.names import TreeId
from stackctl.core.rebase.events import LeftOut, Opened, Resolved, Started, line_of, state_of
from stackctl.core.stack.rebased import RebasedStack, name_of, text_of
from stackctl.core.stack.resolved import GitBase, PathBase, PypiBase
from stackctl.core.stack.source import parse
from stackctl.errors import InvalidFile, PatchConflict, StackctlError, UsageError
from stackctl.ports import Ports
from tests.commands.rebase_world import RebaseWorld, lines, repository, text

pytestmark = pytest.mark.slow
TREE = TreeId("1" * 40)
WORK = ".stackctl/rebase/s/tree"


def changed(*edits: tuple[int, str], topic: str = "a") -> str:
    rows = lines(topic)
    for line, new in edits:
        rows[line - 1] = new
    return text(rows)


class Written(RebaseWorld):
    """The new base is a commit, so that versions have a name. The patches: a merged, a needless and a clean one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.base("pkg/a.py", changed(), changed((12, "the base's twelve")))
        self.base("pkg/b.py", changed(topic="b"), changed((10, "my ten"), topic="b"))
        self.base("pkg/c.py", changed(topic="c"), changed((10, "the base's ten"), topic="c"))
        self.edit("t/merged", "pkg/a.py", 10, "my ten")
        self.edit("t/needless", "pkg/b.py", 10, "my ten")
        self.edit("t/clean", "pkg/a.py", 25, "my twenty-five")

    def conflicting(self) -> None:
        self.edit("t/conflict", "pkg/c.py", 10, "my ten")
        self.edit("t/blocked", "pkg/c.py", 12, "my twelve")

    def begin(self, **more: object) -> RebaseReport:
        self.here = self.settle()
        self.commit = repository(self.folder / "repo", self, self.new)
        return write(self.here, self.asked(**more))

    def asked(self, name: str | None = None, dry_run: bool = False, without: tuple[str, ...] = ()) -> WriteRequest:
        selection = Selection("s", without, ())
        return WriteRequest(RebaseRequest(selection, f"{self.folder}/repo@{self.commit}"), name, dry_run)

    @property
    def key(self) -> str:
        return self.commit[:12]

    def all(self) -> dict[str, bytes]:
        files = (path for path in self.workspace.rglob("*") if path.is_file() and ".git" not in path.parts)
        return {path.relative_to(self.workspace).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def world(tmp_path: Path) -> Written:
    return Written(tmp_path)


def composed(ports: Ports, stack: str) -> TreeId:
    return compose(ports, load(ports, Selection(stack)))[1].tree


def test_a_queue_that_needs_no_hands_is_written_beside_the_old_one(world: Written) -> None:
    before = world.settle() and world.all()
    old = composed(world.ports(), "s")
    report = world.begin()
    new = f"stacks/s-{world.key}.yaml"
    assert report.written and report.files == (f"patches/t/merged@{world.key}.patch", new)
    assert set(world.all()) == {*before, *report.files}
    assert all(world.all()[path] == data for path, data in before.items())
    assert composed(world.ports(), "s") == old
    assert composed(world.ports(), f"s-{world.key}") == report.tree
    stack = load(world.ports(), Selection(f"s-{world.key}"))
    assert stack.patches == ("t/merged", "t/clean")
    assert "  - t/needless" in world.read(new) and "# contained: the base has it" in world.read(new)
    assert "the base's twelve" in world.read(f"patches/t/merged@{world.key}.patch")


def test_writing_again_writes_nothing(world: Written) -> None:
    world.begin()
    before = world.all()
    again = write(world.here, world.asked())
    assert again.written and again.files == () and world.all() == before
    assert {patch.name: patch.verdict for patch in again.patches}["t/merged"] == "clean"


def test_a_dry_run_shows_and_changes_nothing(world: Written) -> None:
    before = world.settle() and world.all()
    report = world.begin(dry_run=True)
    assert not report.written and world.all() == before
    assert f"+++ b/stacks/s-{world.key}.yaml" in report.diff and "+stack: s-" in report.diff


def test_a_file_in_the_way_is_not_written_over(world: Written) -> None:
    world.write("stacks/other.yaml", "stack: other\n")
    with pytest.raises(UsageError, match=r"stacks/other\.yaml is there already"):
        world.begin(name="other")
    assert world.read("stacks/other.yaml") == "stack: other\n"
    assert not list((world.workspace / "patches").rglob("*@*"))


@pytest.mark.parametrize("name", ["../x", "a/b", "", "-x", "Upper", "x\ny"])
def test_a_name_that_no_stack_may_have_is_refused_first(world: Written, name: str) -> None:
    world.commit = "1" * 40  # never asked for
    world.here = world.settle()
    before = set(world.folder.rglob("*"))
    with pytest.raises(UsageError, match=r"^--as: .* names no stack"):
        write(world.here, world.asked(name=name))
    assert set(world.folder.rglob("*")) == before


def test_another_stack_on_the_new_base_goes_on_reading_its_files(world: Written) -> None:
    world.begin()
    (world.workspace / f"stacks/s-{world.key}.yaml").unlink()
    (world.workspace / f"patches/t/merged@{world.key}.patch").unlink()
    base = f"{{git: {world.folder}/repo, commit: {world.commit}}}"
    own = world.read("stacks/s.yaml").replace("stack: s", "stack: theirs").replace("{path: ../../old}", base)
    world.write("stacks/theirs.yaml", own)
    with pytest.raises(UsageError, match=r"theirs\.yaml is on this base and would read another file of t/merged"):
        write(world.here, world.asked())


def test_what_is_left_out_by_hand_is_said_in_the_new_stack(world: Written) -> None:
    report = world.begin(without=("patch:t/clean",), name="mine")
    assert report.files[-1] == "stacks/mine.yaml"
    assert "left out by --without" in world.read("stacks/mine.yaml")
    assert load(world.ports(), Selection("mine")).patches == ("t/merged",)


def test_a_folder_has_no_name_for_versions(world: Written) -> None:
    ports = world.settle()
    with pytest.raises(UsageError, match="has no name"):
        write(ports, WriteRequest(RebaseRequest(Selection("s"), "../new")))


# hands


def settle_conflict(world: Written, data: str) -> None:
    world.write(f"{WORK}/pkg/c.py", data)


def test_hands_are_waited_for_and_then_all_is_written(world: Written) -> None:
    world.conflicting()
    report = world.begin()
    assert report.exit == PatchConflict.exit_code and not report.written
    assert report.work == str(world.workspace / WORK)
    shown = world.read(f"{WORK}/pkg/c.py")
    assert f"<<<<<<< {world.folder}/repo@{world.key}" in shown and ">>>>>>> t/conflict" in shown
    assert world.read(f"{WORK}/pkg/a.py") == changed((10, "my ten"), (12, "the base's twelve"), (25, "my twenty-five"))
    settle_conflict(world, changed((10, "both tens"), topic="c"))
    done = go_on(world.here, Selection("s"))
    assert done.written and done.exit == 0
    found = {patch.name: (patch.verdict, patch.settled) for patch in done.patches}
    assert found["t/conflict"] == ("conflict", "by hand")
    assert found["t/blocked"] == ("merged", "")
    assert not (world.workspace / ".stackctl/rebase/s").exists()
    assert composed(world.ports(), f"s-{world.key}") == done.tree
    made = world.store.read(done.tree, ["pkg/c.py"])["pkg/c.py"].decode()
    assert made == changed((10, "both tens"), (12, "my twelve"), topic="c")


def test_nothing_goes_on_while_a_conflict_is_marked(world: Written) -> None:
    world.conflicting()
    world.begin()
    before = world.all()
    with pytest.raises(InvalidFile) as raised:
        go_on(world.here, Selection("s"))
    assert [str(problem) for problem in raised.value.problems] == [
        f"{WORK}/pkg/c.py:10: a conflict is still marked here"
    ]
    assert world.all() == before


def test_git_remembers_a_resolution_for_the_next_time(world: Written) -> None:
    world.conflicting()
    world.begin()
    settle_conflict(world, changed((10, "both tens"), topic="c"))
    done = go_on(world.here, Selection("s"))
    kept = sorted((world.workspace / "stacks/rerere").rglob("*image"))
    assert [path.name for path in kept] == ["postimage", "preimage"]
    for path in (f"stacks/s-{world.key}.yaml", f"patches/t/conflict@{world.key}.patch"):
        (world.workspace / path).unlink()
    again = write(world.here, world.asked())
    assert again.written and again.tree == done.tree
    found = {patch.name: patch for patch in again.patches}["t/conflict"]
    assert (found.verdict, found.settled) == ("conflict", "remembered") and "both tens" in found.range_diff


def test_taking_the_side_of_the_base_empties_the_patch(world: Written) -> None:
    world.conflicting()
    world.begin()
    settle_conflict(world, world.new["pkg/c.py"])
    done = go_on(world.here, Selection("s"))
    found = {patch.name: patch for patch in done.patches}
    assert done.written and found["t/conflict"].settled == "emptied" and found["t/blocked"].stays
    assert "# conflict, emptied" in world.read(f"stacks/s-{world.key}.yaml")


def test_leaving_out_takes_what_needs_it_along(world: Written) -> None:
    world.conflicting()
    assert any("`stackctl patches rebase s --continue`" in hint for hint in world.begin().hints)
    settle_conflict(world, "half done\n")
    done = leave_out(world.here, Selection("s"))
    found = {patch.name: (patch.verdict, patch.settled) for patch in done.patches}
    assert found["t/conflict"] == ("conflict", "left out") and found["t/blocked"] == ("blocked", "left out")
    assert done.written and load(world.ports(), Selection(f"s-{world.key}")).patches == ("t/merged", "t/clean")
    assert done.hints
    kept = done.hints[0].removeprefix("What was edited for t/conflict is in ").removesuffix(".")
    assert kept.startswith(".stackctl/rebase/s-t~conflict.") and "+half done" in world.read(kept)


def test_abort_keeps_what_was_edited(world: Written) -> None:
    world.conflicting()
    before = world.settle() and world.all()
    world.begin()
    settle_conflict(world, "half done\n")
    result = abort(world.here, Selection("s"))
    assert result.diff and "+half done" in world.read(result.diff)
    assert set(world.all()) == {*before, result.diff}
    write(world.here, world.asked())
    settle_conflict(world, "done otherwise\n")
    again = abort(world.here, Selection("s"))
    assert again.diff and set(world.all()) == {*before, result.diff, again.diff}
    assert "+half done" in world.read(result.diff) and "+done otherwise" in world.read(again.diff)
    with pytest.raises(UsageError, match="no rebase of s is open"):
        status(world.here, Selection("s"))


def test_what_no_diff_keeps_stays_with_the_work_tree(world: Written) -> None:
    world.base(".gitignore", "*.log\n", "*.log\n")
    world.conflicting()
    world.begin()
    settle_conflict(world, changed((10, "both tens"), topic="c"))
    world.write(f"{WORK}/run.log", "precious\n")
    before = world.all()
    for verb in (go_on, leave_out, abort):
        with pytest.raises(StackctlError, match=r"holds what no patch has: run\.log"):
            verb(world.here, Selection("s"))
    assert world.all() == before
    (world.workspace / WORK / "run.log").unlink()
    assert go_on(world.here, Selection("s")).written


def test_status_looks_and_changes_nothing(world: Written) -> None:
    world.conflicting()
    world.begin()
    before = world.all()
    report = status(world.here, Selection("s"))
    assert report.work and "t/conflict waits in" in report.hints[0] and report.exit == 3
    assert world.all() == before
    with pytest.raises(UsageError, match="a rebase of s is open"):
        write(world.here, world.asked())


def test_a_queue_that_changed_meanwhile_is_asked_anew(world: Written) -> None:
    """A resolution counts for the tree that it was made on; git's memory answers the same conflict on another."""
    world.conflicting()
    world.edit("t/second", "pkg/c.py", 30, "my thirty")
    world.new["pkg/c.py"] = changed((10, "the base's ten"), (30, "the base's thirty"), topic="c")
    world.begin()
    settle_conflict(world, changed((10, "both tens"), (30, "the base's thirty"), topic="c"))
    waiting = go_on(world.here, Selection("s"))
    assert "t/second waits" in waiting.hints[0]
    stack = world.read("stacks/s.yaml").replace("  - t/clean   # why t/clean\n", "")
    world.write("stacks/s.yaml", stack)
    world.write(f"{WORK}/pkg/c.py", changed((10, "both tens"), (12, "my twelve"), (30, "both thirties"), topic="c"))
    done = go_on(world.here, Selection("s"))
    found = {patch.name: patch.settled for patch in done.patches}
    assert found["t/conflict"] == "remembered" and found["t/second"] == "remembered" and done.written
    assert b"my twenty-five" not in world.store.read(done.tree, ["pkg/a.py"])["pkg/a.py"]


class Typing(GitWorkTrees):
    """Somebody saves a file in the very moment in which the work tree is taken away."""

    def move(self, old: str, new: str) -> None:
        if new.endswith("tree.gone"):
            Path(old, "pkg/c.py").write_text("typed late\n", encoding="utf-8")
        super().move(old, new)


@pytest.mark.parametrize("verb", [go_on, leave_out, abort])
def test_what_is_typed_while_the_work_tree_is_taken_away_is_kept(
    world: Written, verb: Callable[[Ports, Selection], object]
) -> None:
    world.conflicting()
    world.begin()
    settle_conflict(world, changed((10, "both tens"), topic="c"))
    verb(replace(world.here, work_trees=Typing(world.here.files)), Selection("s"))
    kept = [data for path, data in world.all().items() if path.startswith(".stackctl/rebase/s-t~conflict.")]
    assert any(b"+typed late" in data for data in kept)


class Dying(GitWorkTrees):
    """Work trees that end the command, as a kill would, before or after the folder is moved into place."""

    late = False

    def move(self, old: str, new: str) -> None:
        if self.late or not new.endswith("/tree"):
            super().move(old, new)
        if new.endswith("/tree"):
            raise KeyboardInterrupt


@pytest.mark.parametrize("late", [False, True])
def test_a_command_that_was_killed_is_gone_on_with(world: Written, late: bool) -> None:
    world.conflicting()
    world.here = world.settle()
    world.commit = repository(world.folder / "repo", world, world.new)
    dying = Dying(world.files)
    dying.late = late
    with pytest.raises(KeyboardInterrupt):
        write(replace(world.here, work_trees=dying), world.asked())
    if not late:
        with pytest.raises(StackctlError, match="made anew"):
            go_on(world.here, Selection("s"))
    settle_conflict(world, changed((10, "both tens"), topic="c"))
    assert go_on(world.here, Selection("s")).written


def test_a_kill_after_a_resolution_was_kept_loses_nothing(world: Written) -> None:
    world.conflicting()
    world.edit("t/second", "pkg/c.py", 30, "my thirty")
    world.new["pkg/c.py"] = changed((10, "the base's ten"), (30, "the base's thirty"), topic="c")
    world.begin()
    settle_conflict(world, changed((10, "both tens"), (30, "the base's thirty"), topic="c"))
    with pytest.raises(KeyboardInterrupt):
        go_on(replace(world.here, work_trees=Dying(world.files)), Selection("s"))
    with pytest.raises(StackctlError, match="made anew"):
        go_on(world.here, Selection("s"))
    assert "<<<<<<<" in world.read(f"{WORK}/pkg/c.py") and "both tens" in world.read(f"{WORK}/pkg/c.py")
    assert {p.name: p.settled for p in status(world.here, Selection("s")).patches}["t/conflict"] == "by hand"


def test_a_file_that_is_gone_wants_its_change_elsewhere(world: Written) -> None:
    world.base("pkg/gone.py", changed(topic="gone"), None)
    world.edit("t/gone", "pkg/gone.py", 10, "my ten")
    report = world.begin()
    assert {patch.name: patch.verdict for patch in report.patches}["t/gone"] == "gone"
    with pytest.raises(InvalidFile, match="nothing was changed"):
        go_on(world.here, Selection("s"))
    (world.workspace / WORK / "pkg/gone.py").unlink()
    world.write(f"{WORK}/pkg/elsewhere.py", "my ten\n")
    done = go_on(world.here, Selection("s"))
    assert done.written and "pkg/elsewhere.py" in {patch.name: patch for patch in done.patches}["t/gone"].range_diff


def test_what_no_patch_may_do_is_refused_in_a_resolution_too(world: Written) -> None:
    world.conflicting()
    world.begin()
    settle_conflict(world, changed((10, "both tens"), topic="c"))
    (world.workspace / WORK / "link").symlink_to("/etc/passwd")
    with pytest.raises(InvalidFile, match="symlink"):
        go_on(world.here, Selection("s"))


# values


def test_events_say_where_a_rebase_stands() -> None:
    started = Started("sglang==0.5.23", None, (), ("patch:x",), None)
    first, second = (Opened(name, TREE, TREE, None, TREE) for name in ("a", "b"))  # type: ignore[arg-type]
    done = Resolved("a", TREE, "resolved/a.diff")  # type: ignore[arg-type]
    events = [started, first, done, second]
    state = state_of([line_of(event) for event in events])
    assert state is not None
    assert (state.started, state.waiting, dict(state.resolved)) == (started, second, {"a": done})
    state = state_of([line_of(event) for event in (*events, LeftOut("b"))])  # type: ignore[arg-type]
    assert state is not None and state.waiting is None and state.left_out == {"b"}
    assert state_of([]) is None


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"event": "x"}', '{"event": "left-out", "format": 2, "patch": "a"}', '{"event": "left-out"}']
)
def test_an_event_of_another_kind_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        state_of([line])


def test_the_new_stack_inherits_no_key_of_the_old_base() -> None:
    old = GitBase("https://example.com/x", "v1", "1" * 40)  # type: ignore[arg-type]
    new = PypiBase("sglang==0.5.23", "2" * 64)  # type: ignore[arg-type]
    made = text_of(RebasedStack("s-2", "s.yaml", old, new, {"t/x": "retire: a # b\nc"}, ["t/y"]))
    value = parse("s-2.yaml", made.encode()).value
    assert value["base"] == {"pypi": "sglang==0.5.23", "sha256": "2" * 64, "git": None, "ref": None, "commit": None}
    assert value["without"] == ["t/x"] and value["bisect"] == {"elements": {"patches": ["t/y"]}}
    assert text_of(RebasedStack("s", "o.yaml", PathBase("/a"), new, {})).count("null") == 1


@pytest.mark.parametrize(
    ("stack", "old", "made"),
    [("prod", "0.5.15", "prod-0.5.23"), ("prod-0.5.15", "0.5.15", "prod-0.5.23"), ("prod", None, "prod-0.5.23")],
)
def test_the_name_of_the_new_stack(stack: str, old: str | None, made: str) -> None:
    assert name_of(stack, old, "0.5.23") == made

"""Rebase on small real trees: one patch of each verdict, and what the merge and the context of a patch make of it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

from stackctl.adapters.git import GitMerges
from stackctl.commands.rebase.look import RebaseReport, RebaseRequest, rebase
from stackctl.commands.selection import Selection
from stackctl.core.names import Commit
from stackctl.core.rebase.merge import Landable
from stackctl.core.rebase.verdict import VERDICTS, Rebased
from stackctl.core.stack.resolved import PypiBase
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Ports
from tests.commands.rebase_world import RebaseWorld, lines, repository, text
from tests.fakes import Wheels
from tests.wheels import wheel

pytestmark = pytest.mark.slow
ONTO = "../new"


@pytest.fixture
def world(tmp_path: Path) -> RebaseWorld:
    return RebaseWorld(tmp_path)


def run(world: RebaseWorld, onto: str = ONTO, **more: object) -> RebaseReport:
    return rebase(world.settle(), RebaseRequest(Selection("s"), onto, **more))  # type: ignore[arg-type]


def named(report: RebaseReport) -> dict[str, Rebased]:
    return {patch.name: patch for patch in report.patches}


def changed(topic: str, *edits: tuple[int, str]) -> str:
    rows = lines(topic)
    for line, new in edits:
        rows[line - 1] = new
    return text(rows)


def every_verdict(world: RebaseWorld) -> None:
    """One patch of each, in an order in which a broken one comes early."""
    for topic in ("clean", "gone", "conflict", "partly"):
        world.base(f"pkg/{topic}.py", text(lines(topic)), text(lines(topic)))
    del world.new["pkg/gone.py"]
    world.new["pkg/conflict.py"] = changed("conflict", (10, "the base's ten"))
    world.edit("conflict", "pkg/conflict.py", 10, "my ten")
    world.edit("blocked", "pkg/conflict.py", 11, "needs my ten")
    world.edit("clean", "pkg/clean.py", 10, "my ten")
    world.base("pkg/offset.py", text(lines("offset")), text(["new top"] * 5 + lines("offset")))
    world.edit("offset", "pkg/offset.py", 10, "my ten")
    world.base("pkg/merged.py", text(lines("merged")), changed("merged", (12, "the base's twelve")))
    world.edit("merged", "pkg/merged.py", 10, "my ten")
    world.new["pkg/partly.py"] = changed("partly", (5, "my five"))
    world.patch("partly", {"pkg/partly.py": changed("partly", (5, "my five"), (20, "my twenty"))})
    world.base("pkg/was.py", text(lines("was")), None)
    world.base("pkg/sub/is.py", None, changed("was", (30, "the base's thirty")))
    world.edit("moved", "pkg/was.py", 10, "my ten")
    world.base("pkg/contained.py", text(lines("contained")), changed("contained", (10, "my ten"), (20, "and more")))
    world.edit("contained", "pkg/contained.py", 10, "my ten")
    world.base("pkg/empty.py", text(lines("empty")), changed("empty", (8, "the base's eight"), (10, "my ten")))
    world.edit("empty", "pkg/empty.py", 10, "my ten")
    world.edit("gone", "pkg/gone.py", 10, "my ten")


VERDICT_OF = {
    "conflict": "conflict", "blocked": "blocked", "clean": "clean", "offset": "offset", "merged": "merged",
    "partly": "partly", "moved": "moved", "contained": "contained", "empty": "empty", "gone": "gone",
}  # fmt: skip


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> tuple[RebaseWorld, RebaseReport]:
    world = RebaseWorld(tmp_path_factory.mktemp("every"))
    every_verdict(world)
    return world, run(world)


Every = tuple[RebaseWorld, RebaseReport]


def test_one_of_each_that_needs_no_history_and_no_release(every: Every) -> None:
    report = every[1]
    assert {name: patch.verdict for name, patch in named(report).items()} == VERDICT_OF
    assert set(VERDICTS) - set(VERDICT_OF.values()) == {"upstream", "retire"}
    assert report.exit == 3
    stay = [patch.name for patch in report.patches if patch.stays]
    assert stay == ["clean", "offset", "merged", "partly", "moved"]


def test_the_tree_is_that_of_all_patches_that_stay(every: Every) -> None:
    world, report = every
    wanted = {
        **world.new,
        "pkg/clean.py": changed("clean", (10, "my ten")),
        "pkg/offset.py": text(["new top"] * 5) + changed("offset", (10, "my ten")),
        "pkg/merged.py": changed("merged", (10, "my ten"), (12, "the base's twelve")),
        "pkg/partly.py": changed("partly", (5, "my five"), (20, "my twenty")),
        "pkg/sub/is.py": changed("was", (10, "my ten"), (30, "the base's thirty")),
    }
    assert report.tree == world.tree(wanted)


def test_a_conflict_shows_both_sides_and_who_needs_it(every: Every) -> None:
    found = named(every[1])
    clash = found["conflict"].clashes[0]
    assert (clash.ours, clash.base, clash.theirs) == (("the base's ten",), ("conflict line 10",), ("my ten",))
    assert clash.line == 10
    assert found["conflict"].needed_by == ("blocked",)
    assert found["blocked"].lacking == ("conflict",)
    assert found["blocked"].alone == "conflict"


def test_what_a_merge_changed_is_shown(every: Every) -> None:
    found = named(every[1])
    assert "+ the base's twelve" in found["merged"].range_diff
    assert "- merged line 12" in found["merged"].range_diff
    assert "my five" in found["partly"].range_diff
    assert found["partly"].notes == ("in the base already: pkg/partly.py, hunk 1 (1 of 2)",)
    assert found["moved"].moved == {"pkg/was.py": "pkg/sub/is.py"}
    assert "pkg/sub/is.py" in found["moved"].range_diff
    assert not found["clean"].range_diff and found["clean"].data is None
    assert found["offset"].data is None and [each.offset for each in found["offset"].offsets] == [5]


def test_lines_that_went_to_another_file_are_followed_where_they_fit(world: RebaseWorld) -> None:
    world.base("pkg/home.py", text(lines("home")), None)
    world.base("pkg/other.py", None, text(lines("other", 200) + lines("home") + lines("after", 200)))
    world.edit("p", "pkg/home.py", 10, "my ten")
    found = named(run(world))["p"]
    assert (found.verdict, found.moved) == ("moved", {"pkg/home.py": "pkg/other.py"})
    assert found.stays and "my ten" in (found.data or b"").decode()


def test_lines_that_went_elsewhere_and_changed_are_only_pointed_at(world: RebaseWorld) -> None:
    world.base("pkg/home.py", text(lines("home")), None)
    moved = lines("home")
    moved[9] = "the base's ten"
    world.base("pkg/other.py", None, text(lines("other", 200) + moved))
    world.edit("p", "pkg/home.py", 10, "my ten")
    found = named(run(world))["p"]
    assert found.verdict == "gone"
    assert found.notes == ("6 of 7 lines that it reads in pkg/home.py are in pkg/other.py now",)


def test_context_that_fits_a_twin_is_not_believed(world: RebaseWorld) -> None:
    """The base changed the function near the edit, and a copy of it now reads as the original did."""
    block, near, far = (lines("twin", 9) for _ in "abc")
    far[7], near[2] = "not a twin yet", "the base's three"
    rest = lines("rest", 20)
    world.base("pkg/t.py", text([*rest, "one", *block, *rest, "two", *far, *rest]),
               text([*rest, "one", *near, *rest, "two", *block, *rest]))  # fmt: skip
    world.edit("p", "pkg/t.py", 26, "my five")
    found = named(run(world))["p"]
    assert found.verdict == "merged"
    assert found.notes == (
        "by its context alone it would go to pkg/t.py:53, which the three-way merge does not confirm",
    )
    assert "the base's three" in found.range_diff


def test_a_condition_on_a_release_is_undecided_where_the_base_is_none(world: RebaseWorld) -> None:
    world.base("pkg/a.py", text(lines("a")), text(["top", *lines("a")]))
    world.edit("p", "pkg/a.py", 10, "my ten", "Remove-when: sglang 0.5.16 or newer\n")
    found = named(run(world))["p"]
    assert found.verdict == "offset"
    assert found.conditions == (("sglang 0.5.16 or newer", None),)


def test_a_file_that_both_make_is_a_conflict_unless_it_is_the_same(world: RebaseWorld) -> None:
    world.base("pkg/a.py", "a\n", "a\n")
    world.base("pkg/same.py", None, "made\n")
    world.base("pkg/other.py", None, "made by the base\n")
    world.patch("same", {"pkg/same.py": "made\n"})
    world.patch("other", {"pkg/other.py": "made by me\n"})
    world.patch("makes", {"pkg/mine.py": "mine\n"})
    world.patch("takes", {"pkg/a.py": None})
    found = named(run(world))
    verdicts = {name: patch.verdict for name, patch in found.items()}
    assert verdicts == {"same": "contained", "other": "conflict", "makes": "clean", "takes": "clean"}


def test_a_patch_that_its_own_base_refuses_hides_nothing(world: RebaseWorld) -> None:
    world.base("pkg/a.py", text(lines("a")), text(lines("a")) + "end\n")
    world.edit("broken", "pkg/a.py", 10, "my ten")
    world.edit("good", "pkg/a.py", 20, "my twenty")
    broken = world.read("patches/broken.patch").replace(" a line 9", " something else")
    world.write("patches/broken.patch", broken)
    found = named(run(world))
    assert (found["broken"].verdict, found["good"].verdict) == ("conflict", "clean")
    assert "it does not apply to" in found["broken"].notes[0] and "context-mismatch" in found["broken"].notes[0]


def test_a_need_that_the_base_has_is_taken_out_of_the_header(world: RebaseWorld) -> None:
    world.base("pkg/a.py", text(lines("a")), changed("a", (10, "my ten")) + "end\n")
    world.edit("first", "pkg/a.py", 10, "my ten")
    world.edit("second", "pkg/a.py", 12, "my twelve", "Remove-when: never\nNeeds: first (its line)\n")
    found = named(run(world))
    assert (found["first"].verdict, found["second"].verdict) == ("contained", "clean")
    assert found["second"].data is not None and b"Needs:" not in found["second"].data
    assert found["second"].notes == ("it needs first, which leaves the queue (contained)",)
    assert "-    Needs: first (its line)" in found["second"].range_diff


def test_a_version_for_the_new_base_is_used_as_it_is(world: RebaseWorld, tmp_path: Path) -> None:
    """The new base is a commit here, since a folder has no name that a version could bear."""
    commit = repository(tmp_path / "repo", world, {"pkg/a.py": changed("a", (10, "the base's ten"))})
    world.base("pkg/a.py", text(lines("a")), None)
    world.edit("p", "pkg/a.py", 10, "my ten")
    assert named(run(world, f"{tmp_path}/repo@{commit}"))["p"].verdict == "conflict"
    diff = world.store.diff(
        world.tree({"pkg/a.py": changed("a", (10, "the base's ten"))}),
        world.tree({"pkg/a.py": changed("a", (10, "both"))}),
    )
    world.write(f"patches/p@{commit[:12]}.patch", "Subject: p\n\n---\n" + diff)
    found = named(run(world, f"{tmp_path}/repo@{commit}"))["p"]
    assert (found.verdict, found.notes) == ("clean", (f"patches/p@{commit[:12]}.patch is there already",))


@pytest.mark.parametrize("onto", ["nowhere", "x", "1" * 40, "", "-x==1", "../old"])
def test_what_names_no_other_base_is_refused(world: RebaseWorld, onto: str) -> None:
    world.base("pkg/a.py", "a\n", "b\n")
    with pytest.raises(UsageError):
        run(world, onto)


def test_keep_wants_a_patch_of_the_queue(world: RebaseWorld) -> None:
    world.base("pkg/a.py", "a\n", "b\n")
    with pytest.raises(UsageError, match="the queue has no patch nobody"):
        run(world, keep=("nobody",))


def at_commits(world: RebaseWorld, *versions: dict[str, str]) -> str:
    """The stack's base is the first of these commits; the id of the last is given back."""
    commit = repository(world.folder / "repo", world, *versions)
    git = ("git", "-C", str(world.folder / "repo"))
    first = subprocess.run((*git, "rev-list", "--max-parents=0", "HEAD"), check=True, capture_output=True, text=True)
    world.settle()
    base = f"{{git: {world.folder}/repo, commit: {first.stdout.strip()}}}"
    world.write("stacks/s.yaml", world.read("stacks/s.yaml").replace("{path: ../../old}", base))
    return commit


def test_the_history_is_asked_for_the_whole_diff_of_a_new_file(world: RebaseWorld) -> None:
    world.base("pkg/old.py", text(lines("old")), None)
    world.patch("made", {"pkg/made.py": text(lines("made"))})
    header, _, diff = world.read("patches/made.patch").partition("diff --git ")
    diff = diff[diff.index("--- /dev/null") :]
    world.write("patches/made.patch", header + diff)
    commit = at_commits(world, world.old, {"pkg/other.py": "x\n"})
    asked: dict[str, Landable] = {}

    class Asked(GitMerges):
        def landed(self, url: str, old: Commit, new: Commit, queue: Mapping[str, Landable]) -> Mapping[str, Commit]:
            asked.update(queue)
            return super().landed(url, old, new, queue)

    rebase(world.ports(merges=Asked(world.files)), RebaseRequest(Selection("s"), commit))
    assert asked["made"].diff == diff.encode()


def test_a_patch_that_the_base_took_is_named_with_its_commit(world: RebaseWorld) -> None:
    """By the same diff though other lines moved it; and still when the base went on from there, or took it back."""
    for name in ("plain", "further", "reverted"):
        world.base(f"pkg/{name}.py", text(lines(name)), None)
        world.edit(name, f"pkg/{name}.py", 10, "my ten")
    top = text(["top"] * 4)
    plain, further = ({f"pkg/{name}.py": top + changed(name, (10, "my ten"))} for name in ("plain", "further"))
    commit = at_commits(
        world,
        world.old,
        {path: top + world.old[path] for path in (*plain, *further)},
        plain,
        further,
        {"pkg/reverted.py": changed("reverted", (10, "my ten"))},
        {"pkg/reverted.py": text(lines("reverted")), "pkg/further.py": top + changed("further", (10, "our ten"))},
    )
    report = rebase(world.ports(), RebaseRequest(Selection("s"), commit))
    found = named(report)
    assert {name: patch.verdict for name, patch in found.items()} == {
        "plain": "upstream", "further": "upstream", "reverted": "clean",
    }  # fmt: skip
    commits = [found[name].commit or "" for name in ("plain", "further", "reverted")]
    assert [len(each) for each in commits] == [40, 40, 40] and len(set(commits)) == 3


def at_a_release(world: RebaseWorld, tmp_path: Path) -> Ports:
    """The new base is sglang==0.5.23 of an index; nobody has said its sha256."""
    wheel(tmp_path, "sglang", "0.5.23", {"sglang/a.py": text(["top", *lines("a")])})
    world.base("python/sglang/a.py", text(lines("a")), None)
    world.edit("goes", "python/sglang/a.py", 10, "my ten", "Remove-when: the base is sglang 0.5.16 or newer\n")
    world.edit("stays", "python/sglang/a.py", 20, "my twenty", "Remove-when: sglang 0.5.24\n")
    world.settle()
    return world.ports(index=Wheels({None: (tmp_path / "sglang-0.5.23-py3-none-any.whl").read_bytes()}))


def test_a_release_that_a_condition_names_retires_a_patch(world: RebaseWorld, tmp_path: Path) -> None:
    report = rebase(at_a_release(world, tmp_path), RebaseRequest(Selection("s"), "sglang==0.5.23"))
    found = named(report)
    assert (found["goes"].verdict, found["goes"].alone, found["goes"].stays) == ("retire", "offset", False)
    assert (found["stays"].verdict, found["stays"].conditions) == ("offset", (("sglang 0.5.24", False),))
    assert isinstance(report.new, PypiBase)
    assert report.new.sha256 == sha256((tmp_path / "sglang-0.5.23-py3-none-any.whl").read_bytes()).hexdigest()


def test_a_patch_is_kept_where_a_person_says_so(world: RebaseWorld, tmp_path: Path) -> None:
    ports = at_a_release(world, tmp_path)
    found = named(rebase(ports, RebaseRequest(Selection("s"), "sglang==0.5.23", keep=("goes",))))
    assert found["goes"].verdict == "offset" and found["goes"].stays
    assert found["goes"].notes == ("kept as asked, though its Remove-when may hold",)


def test_a_release_is_fetched_once_and_held_to_a_sha256_that_is_known(world: RebaseWorld, tmp_path: Path) -> None:
    ports = at_a_release(world, tmp_path)
    with pytest.raises(StackctlError, match="is not what the stack pins"):
        rebase(ports, RebaseRequest(Selection("s"), "sglang==0.5.23", sha256="0" * 64))
    first = rebase(ports, RebaseRequest(Selection("s"), "sglang==0.5.23"))
    again = rebase(world.ports(index=Wheels({})), RebaseRequest(Selection("s"), "sglang==0.5.23"))
    assert again == first

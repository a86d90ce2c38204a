"""Import of commits, mails and diffs, and export: the same trees, the same bytes, all or nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stackctl.commands.importing import sources
from stackctl.commands.importing.export import ExportRequest, export_patches
from stackctl.commands.importing.ground import Ground, How
from stackctl.commands.selection import Selection
from stackctl.core.importing.decide import Taken
from stackctl.errors import InvalidFile, PatchConflict, StackctlError, UsageError
from stackctl.output.console import jsonable
from stackctl.ports import Ports
from tests import forks
from tests.commands.import_world import World, diff, edit

pytestmark = pytest.mark.slow
ALL = Selection("s")
A, B = "python/pkg/a.py", "python/pkg/b.py"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def three(world: World, extra: dict[str, bytes] | None = None) -> Path:
    """A fork with three commits: an edit, a new file and a mode, an edit of the first edit."""
    fork = world.fork(extra)
    forks.git(fork, "checkout", "-q", "-b", "fork")
    edit(fork / A, 10, "ten")
    forks.commit(fork, "[Fix] Say ten\n\nFrom here on.\n\nArea: tests\nSigned-off-by: x <x@y>", 1)
    (fork / "python/pkg/new.py").write_text("X = 1")
    (fork / B).chmod(0o755)
    forks.commit(fork, "Add new", 2)
    edit(fork / A, 11, "eleven")
    forks.commit(fork, "Say eleven", 3)
    return fork


def test_a_branch_becomes_patches_and_a_branch_again(world: World) -> None:
    fork = three(world)
    report = world.take(sources.fork(str(fork), "main..fork"), add=True)
    assert report.source_tree == report.result_tree == forks.git(fork, "rev-parse", "fork^{tree}")
    names = ["t/fix-say-ten", "t/add-new", "t/say-eleven"]
    assert [patch.name for patch in report.patches] == names
    assert report.patches[0].author == "Jörg Ünlü <joerg@example.org>"
    assert "".join(f"  - {name}\n" for name in names) in world.queue()
    exported = export_patches(world.world(), ExportRequest(ALL, "back", "../fork", "main"))
    for what in ("%an <%ae> %ad %T", "%B"):
        back, there = (forks.git(fork, "log", f"--format={what}", f"main..{name}") for name in ("back", "fork"))
        assert back == there
    assert exported.tip == forks.git(fork, "rev-parse", "back")
    assert forks.git(fork, "log", "--format=%cn", "-1", "back") == "stackctl"
    forks.git(fork, "fsck", "--strict")
    again = world.take(sources.fork("../fork", "main..back"), onto="base", topic="t")
    assert [patch.state for patch in again.patches] == ["same"] * 3
    assert not export_patches(world.world(), ExportRequest(ALL, "back", "../fork", "main")).new


def test_a_mailbox_there_and_back(world: World) -> None:
    world.take(sources.fork(str(three(world)), "main..fork"), add=True)
    files = world.written()
    export_patches(world.world(), ExportRequest(ALL, mbox="q.mbox"))
    data = (world.workspace / "q.mbox").read_bytes()
    report = world.take(sources.files(["q.mbox"]), onto="base", topic="t")
    assert [patch.state for patch in report.patches] == ["same"] * 3
    assert world.written() == files
    export_patches(world.world(), ExportRequest(ALL, mbox="q2.mbox"))
    assert (world.workspace / "q2.mbox").read_bytes() == data
    with pytest.raises(UsageError, match="is not overwritten"):
        export_patches(world.world(), ExportRequest(replace(ALL, without=("patch:t/add-new",)), mbox="q.mbox"))


def test_ids_do_not_depend_on_the_repository_or_the_day(world: World) -> None:
    world.take(sources.fork(str(three(world)), "main..fork"), add=True)
    forks.repository(world.folder / "empty", {"x": ("100644", b"x")})
    tips = [
        export_patches(world.world(), ExportRequest(ALL, "q", repository)).tip for repository in ("../empty", "../fork")
    ]
    assert tips[0] == tips[1] == forks.git(world.folder / "empty", "rev-parse", "q")
    assert forks.git(world.folder / "empty", "log", "--format=%s", "q").splitlines()[-1].startswith("Base of stackctl")


def test_a_dry_run_writes_nothing(world: World) -> None:
    report = world.take(sources.fork(str(three(world)), "main..fork"), add=True, dry_run=True)
    assert (len(report.patches), world.written()) == (3, {})
    assert "+  - t/add-new" in report.diff
    assert "patches: []" in world.queue()
    json.dumps(jsonable(report))


def test_a_fork_of_a_whole_repository(world: World) -> None:
    fork = three(world, {"docs/x.md": b"x\n", "docs/y.bin": b"\0"})
    edit(fork / "docs/x.md", 1, "y")
    (fork / "docs/y.bin").write_bytes(b"\0\1")
    edit(fork / A, 20, "twenty")
    forks.commit(fork, "Both", 4)
    (fork / "docs/x.md").unlink()
    forks.commit(fork, "Only docs", 5)
    with pytest.raises((PatchConflict, InvalidFile)):
        world.take(sources.fork(str(fork), "main..fork"))
    report = world.take(sources.fork(str(fork), "main..fork"), How(only=("python",)))
    assert [patch.title for patch in report.patches][-1] == "Both"
    assert {(note.kind, note.text) for note in report.notes if note.kind != "remark"} == {
        ("left-out", "Both: docs/x.md, docs/y.bin"),
        ("left-out", "Only docs: docs/x.md"),
        ("skipped", "Only docs: changes nothing that is asked for"),
    }


def test_files_outside_of_the_base_are_named(world: World) -> None:
    fork = world.fork({"docs/x.md": b"x\n"})
    edit(fork / "docs/x.md", 1, "y")
    forks.commit(fork, "Docs")
    with pytest.raises(PatchConflict, match=r"1 files lie in no folder of the base: docs/x\.md") as caught:
        world.take(sources.fork(str(fork), "main~1..main"))
    assert "--only python" in (caught.value.hint or "")


def test_a_fork_of_another_base_says_what_it_cannot_prove(world: World) -> None:
    fork = world.fork()
    (fork / A).write_text("# older\n" + (fork / A).read_text())
    base = forks.commit(fork, "as it was")
    edit(fork / A, 21, "twenty")
    edit(fork / B, 5, "five")
    forks.commit(fork, "Edit")
    report = world.take(sources.fork(str(fork), f"{base}..main"))
    assert [(note.kind, note.where) for note in report.notes if note.kind in ("offset", "unproved")] == [
        ("offset", "commit " + forks.git(fork, "rev-parse", "main")[:12]),
        ("unproved", A),
    ]
    assert report.source_tree == report.result_tree


def test_merges_are_refused_by_name(world: World) -> None:
    fork = three(world)
    forks.git(fork, "checkout", "-q", "-b", "side", "main")
    edit(fork / B, 3, "side")
    forks.commit(fork, "Side", 6)
    forks.git(fork, "merge", "-q", "-m", "Merge the fork", "fork")
    with pytest.raises(StackctlError, match=r"1 of the commits are merges: [0-9a-f]{12} Merge the fork"):
        world.take(sources.fork(str(fork), "main..side"))


def test_what_changes_nothing_is_skipped_and_told(world: World) -> None:
    fork = world.fork()
    forks.commit(fork, "Nothing")
    edit(fork / A, 5, "five")
    forks.commit(fork, "Five")
    report = world.take(sources.fork(str(fork), "main~2..main"))
    assert [patch.title for patch in report.patches] == ["Five"]
    assert ("skipped", "Nothing: changes nothing") in [(note.kind, note.text) for note in report.notes]


@pytest.mark.parametrize(
    "range_",
    ["main", "main...fork", "--all..main", "main..--all", "a b..main", "main..no-such", "..main", "main..main"],
)
def test_ranges_that_are_none(world: World, range_: str) -> None:
    fork = three(world)
    with pytest.raises(UsageError) as caught:
        world.take(sources.fork(str(fork), range_))
    assert caught.value.hint


def test_what_is_no_repository(world: World) -> None:
    with pytest.raises(UsageError, match="is no git repository"):
        world.take(sources.fork(str(world.folder), "a..b"))
    with pytest.raises(UsageError, match="is no git repository"):
        world.take(sources.fork("/no/such", "a..b"))


def test_the_users_repository_is_only_read(world: World) -> None:
    fork = three(world)
    hook = fork / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {world.folder}/ran\n")
    hook.chmod(0o755)
    (fork / ".gitattributes").write_text("*.py filter=bad diff=bad\n")
    for key in ("filter.bad.clean", "filter.bad.smudge", "diff.bad.textconv", "diff.external", "core.fsmonitor"):
        forks.git(fork, "config", key, f"touch {world.folder}/ran")
    before = {path: path.stat().st_mtime_ns for path in fork.rglob("*")}
    report = world.take(sources.fork(str(fork), "main..fork"), add=True)
    assert len(report.patches) == 3
    assert {path: path.stat().st_mtime_ns for path in fork.rglob("*")} == before
    export_patches(world.world(), ExportRequest(ALL, "back", str(fork), "main"))
    assert not (world.folder / "ran").exists()


def test_names_are_never_taken_over(world: World) -> None:
    fork = three(world)
    edit(fork / B, 3, "three")
    forks.commit(fork, "Say eleven", 7)
    with pytest.raises(InvalidFile) as caught:
        world.take(sources.fork(str(fork), "main..fork"))
    assert "Say eleven" in str(caught.value)
    assert world.written() == {}
    world.take(sources.fork(str(fork), "main..fork"), names={4: "say-three"})
    assert "t/say-three.patch" in world.written()
    with pytest.raises(UsageError, match=r"not overwritten: patches/t/fix-say-ten\.patch"):
        forks.git(fork, "checkout", "-q", "-b", "other", "main")
        edit(fork / A, 10, "zehn")
        forks.commit(fork, "[Fix] Say ten", 1)
        world.take(sources.fork(str(fork), "main..other"))
    with pytest.raises(UsageError, match="there are 3 patches"):
        world.take(sources.fork(str(fork), "main..fork~1"), names={9: "x"})
    with pytest.raises(UsageError, match="begins with"):
        world.take(sources.fork(str(fork), "main..fork~1"), topic="-x")


def test_patches_before_the_queue_must_let_it_apply(world: World) -> None:
    world.edit("own", 10, "mine")
    world.stack_file("own")
    good = world.put("good.patch", diff(f"a/{B}", 10, "x").replace(f"+++ a/{B}", f"+++ b/{B}"))
    report = world.take(sources.files([str(good)]), onto="base", add=True)
    assert report.onto == "base"
    assert "patches: [t/good, own]" in world.queue()
    bad = world.put("bad.patch", diff(A, 11, "y"))
    with pytest.raises(PatchConflict, match="own"):
        world.take(sources.files([str(bad)]), onto="base", add=True)
    assert set(world.written()) == {"own.patch", "t/good.patch"}


def test_a_folder_wants_its_order(world: World) -> None:
    world.put("q/0002-b.patch", diff(A, 20, "b"))
    world.put("q/0001-a.patch", diff(A, 10, "a"))
    world.put("q/README.md", "no patch")
    folder = str(world.folder / "in/q")
    with pytest.raises(UsageError, match=r"that this is the order: 0001-a\.patch, 0002-b\.patch"):
        world.take(sources.folder(folder, None))
    world.answer = True
    report = world.take(sources.folder(folder, None), dry_run=True)
    assert [patch.name for patch in report.patches] == ["t/a", "t/b"]
    assert report.patches[0].author == "stackctl <stackctl@localhost>"
    report = world.take(sources.folder(folder, "0002-b.patch"), dry_run=True)
    assert ("left-out", "0001-a.patch") in [(note.kind, note.where) for note in report.notes]
    world.put("q/series", "0002-b.patch -p0\n# c\n0001-a.patch\n")
    report = world.take(sources.folder(folder, "series"), dry_run=True)
    assert [patch.origin for patch in report.patches] == ["0002-b.patch", "0001-a.patch"]
    world.put("q/c.patch", diff(A, 15, "c"))
    with pytest.raises(UsageError, match="which order"):
        world.take(sources.folder(folder, None))
    with pytest.raises(UsageError, match="has no x"):
        world.take(sources.folder(folder, "x"))


def test_mails_with_a_cover_letter(world: World) -> None:
    head = "From a@b Thu Jan  1 00:00:00 1970\nFrom: A <a@b>\nDate: Thu, 1 Jan 2026 00:00:00 +0100\n"
    head += "Subject: [PATCH {}/2] {}\n\n"
    texts = [
        head.format(0, "cover") + "two patches\n",
        head.format(1, "one") + "Why.\n---\n x | 1 +\n\n" + diff(A, 5, "x"),
    ]
    texts.append(head.format(2, "two") + "---\n" + diff(B, 5, "x") + "-- \n2.39\n")
    box = world.put("x.mbox", "\n".join(texts))
    report = world.take(sources.files([str(box)]), add=True)
    assert [(patch.title, patch.author) for patch in report.patches] == [("one", "A <a@b>"), ("two", "A <a@b>")]
    assert (report.notes[0].kind, report.notes[0].text) == ("skipped", "a message without a diff is no patch")
    assert (
        b"Date: Thu, 01 Jan 2026 00:00:00 +0100\nSubject: [PATCH] one\n\nWhy.\n\n---\n"
        in world.written()["t/one.patch"]
    )
    broken = world.put("y.mbox", "\n".join([texts[1], head.format(2, "two") + "no diff\n"]))
    with pytest.raises(InvalidFile, match=r"y\.mbox.*holds no diff"):
        world.take(sources.files([str(broken)]))


def test_crs_are_taken_out_when_asked(world: World) -> None:
    file = world.put("x.patch", diff(A, 5, "x").replace("\n", "\r\n"))
    with pytest.raises(InvalidFile) as caught:
        world.take(sources.files([str(file)]))
    assert "--fix-crlf" in (caught.value.problems[0].hint or "")
    assert len(world.take(sources.files([str(file)]), How(fix_crlf=True)).patches) == 1


def test_names_of_an_installation(world: World) -> None:
    place = "/usr/lib/python3/dist-packages"
    file = world.put("x.patch", diff(f"{place}/pkg/a.py", 5, "x"))
    with pytest.raises(InvalidFile, match="absolute-path"):
        world.take(sources.files([str(file)]))
    report = world.take(sources.files([str(file)]), How({place: "python"}))
    assert b"--- a/python/pkg/a.py\n" in world.written()[f"{report.patches[0].name}.patch"]


def test_a_patch_that_does_not_fit_writes_nothing(world: World) -> None:
    good, bad = (
        world.put("a.patch", diff(A, 5, "x")),
        world.put("b.patch", diff(A, 6, "y").replace("line 4", "line four")),
    )
    with pytest.raises(PatchConflict, match=r"b\.patch"):
        world.take(sources.files([str(good), str(bad)]), add=True)
    assert world.written() == {}
    assert "patches: []" in world.queue()


def test_trailers_are_given_to_those_that_lack_them(world: World) -> None:
    file = world.put("x.patch", "Subject: x\n\nArea: mine\n---\n" + diff(A, 5, "x"))
    world.take(sources.files([str(file)]), trailers={"Area": "theirs", "Why": "It is.", "Upstream": ""})
    assert b"\nArea: mine\nWhy: It is.\n---\n" in world.written()["t/x.patch"]


def test_a_branch_that_is_there_is_left_alone(world: World) -> None:
    fork = three(world)
    world.take(sources.fork(str(fork), "main..fork"), add=True)
    before = forks.git(fork, "rev-parse", "main", "fork")
    with pytest.raises(StackctlError, match="has a branch fork already"):
        export_patches(world.world(), ExportRequest(ALL, "fork", "../fork", "main"))
    for name in ("-x", "a..b", "a b", "x.lock"):
        with pytest.raises(UsageError, match="cannot be the name of a branch"):
            export_patches(world.world(), ExportRequest(ALL, name, "../fork"))
    with pytest.raises(UsageError, match="has tree"):
        export_patches(world.world(), ExportRequest(ALL, "x", "../fork", "fork"))
    with pytest.raises(UsageError, match="has no commit"):
        export_patches(world.world(), ExportRequest(ALL, "x", "../fork", "no-such"))
    assert forks.git(fork, "rev-parse", "main", "fork") == before


def test_what_is_there_already_is_said_to_be(world: World) -> None:
    fork = three(world)
    first = world.take(sources.fork(str(fork), "main..fork"))
    again = world.take(sources.fork(str(fork), "main..fork"), add=True)
    assert [patch.state for patch in (*first.patches, *again.patches)] == ["new"] * 3 + ["same"] * 3
    with pytest.raises(PatchConflict):  # behind the queue that has them they do not apply
        edit(fork / B, 1, "one")
        forks.commit(fork, "One", 8)
        world.take(sources.fork(str(fork), "main..fork"))


def test_patches_for_another_source(world: World) -> None:
    lib = world.folder / "flash/lib/x.py"
    lib.parent.mkdir(parents=True)
    lib.write_text("".join(f"line {n}\n" for n in range(1, 31)))
    stack = world.workspace / "stacks/s.yaml"
    stack.write_text(stack.read_text() + "sources: {flash: {path: ../../flash}}\n")
    file = world.put("x.patch", diff("lib/x.py", 5, "x"))
    with pytest.raises(PatchConflict, match="no such file"):
        world.take(sources.files([str(file)]))
    report = world.take(sources.files([str(file)]), source="flash", add=True)
    text = world.written()[f"{report.patches[0].name}.patch"]
    assert b"\nSource: flash\n---\n" in text
    other = world.put("y.patch", text)
    with pytest.raises(PatchConflict, match="says `Source: flash`"):
        world.take(sources.files([str(other)]), onto="base")
    exported = export_patches(world.world(), ExportRequest(ALL, mbox="q.mbox"))
    assert exported.patches == (report.patches[0].name,)
    with pytest.raises(UsageError, match="declares no source nope"):
        world.take(sources.files([str(file)]), source="nope")


def test_odd_names_and_bytes_come_through(world: World) -> None:
    fork = world.fork()
    (fork / "python/pkg/with space.py").write_bytes(b"caf\xe9\r\nno end")
    (fork / 'python/pkg/größe "q".txt').write_bytes(b"-- \n--- a\n+++ b\n")
    forks.commit(fork, "=?utf-8?q?x?= [PATCH 1/2] odd\n\n\xa0\n\nbody\x0cx", 1)
    (fork / "python/pkg/with space.py").write_bytes(b"caf\xe9\r\n")
    forks.commit(fork, "[RFC PATCH v2 3/4] real", 2)
    (fork / 'python/pkg/größe "q".txt').unlink()
    forks.commit(fork, "Gone", 3)
    report = world.take(sources.fork(str(fork), "main~3..main"), add=True)
    assert report.result_tree == forks.git(fork, "rev-parse", "main^{tree}")
    files = world.written()
    export_patches(world.world(), ExportRequest(ALL, "back", str(fork), "main~3"))
    world.take(sources.fork(str(fork), "main~3..back"), onto="base")
    export_patches(world.world(), ExportRequest(ALL, mbox="q.mbox"))
    world.take(sources.files(["q.mbox"]), onto="base")
    assert world.written() == files


def test_a_link_and_a_binary_are_refused_by_the_commit_that_has_them(world: World) -> None:
    fork = world.fork()
    (fork / "python/l").symlink_to("pkg")
    one = forks.commit(fork, "Link", 1)
    (fork / "python/x.bin").write_bytes(b"\0\1")
    two = forks.commit(fork, "Binary", 2)
    with pytest.raises(InvalidFile) as caught:
        world.take(sources.fork(str(fork), "main~2..main"))
    assert [problem.where.file for problem in caught.value.problems if problem.where] == [
        f"commit {one[:12]}", f"commit {two[:12]}",
    ]  # fmt: skip
    assert world.written() == {}


def test_a_full_disk_leaves_nothing(world: World) -> None:
    fork = three(world)
    (world.workspace / "patches").mkdir(exist_ok=True)
    (world.workspace / "patches/t").write_text("a file where a folder is meant")
    with pytest.raises(StackctlError, match="cannot"):
        world.take(sources.fork(str(fork), "main..fork"), add=True)
    assert world.written() == {}
    assert "patches: []" in world.queue()


def test_ids_that_depend_on_the_place_are_no_difference(world: World) -> None:
    report = world.take(sources.fork(str(three(world)), "main..fork"))
    file = world.workspace / report.patches[0].file
    stale = file.read_bytes().replace(b"\nindex ", b"\nindex " + b"0" * 40 + b"..").replace(b".." + b".", b"..")
    stale = b"\n".join(line[:88] + b" 100644" if line.startswith(b"index ") else line for line in stale.split(b"\n"))
    file.write_bytes(stale)
    again = world.take(sources.fork(str(world.folder / "fork"), "main..fork"))
    assert [patch.state for patch in again.patches] == ["same"] * 3
    assert file.read_bytes() == stale


def test_repositories_of_any_kind(world: World) -> None:
    fork = three(world)
    odd = world.folder / 'odd: "name"'
    forks.git(fork, "worktree", "add", "-q", "--detach", str(odd / "tree"), "fork")
    forks.git(world.folder, "clone", "-q", "--bare", "fork", str(odd / "bare.git"))
    forks.git(world.folder, "clone", "-q", "--shared", "fork", str(odd / "lent"), "-b", "fork")
    for repository, head in ((odd / "tree", "HEAD"), (odd / "bare.git", "fork"), (odd / "lent", "fork")):
        report = world.take(sources.fork(str(repository), f"{head}~3..{head}"))
        assert len(report.patches) == 3
        world.put("x", "")
    world.take(sources.fork(str(fork), "main..fork"), add=True)
    for repository in (odd / "tree", odd / "bare.git"):
        export_patches(world.world(), ExportRequest(ALL, f"q{repository.name[0]}", str(repository), "fork~3"))
    assert forks.git(fork, "rev-parse", "qt") == forks.git(odd / "bare.git", "rev-parse", "qb")


def test_what_others_read_too_is_told(world: World) -> None:
    (world.workspace / "stacks/other.yaml").write_text("extends: s.yaml\n")
    file = world.put("x.patch", diff(A, 5, "x"))
    report = world.take(sources.files([str(file)]), add=True)
    assert ("it is the queue of stacks/other.yaml too", "stacks/s.yaml") in [(n.text, n.where) for n in report.notes]


def other_stack(world: World, name: str, text: str) -> None:
    (world.workspace / f"stacks/{name}.yaml").write_text(text)


def test_a_stack_that_extends_the_file_must_stand_too(world: World) -> None:
    world.edit("own", 12, "mine")
    other_stack(world, "child", "extends: s.yaml\nappend: [own]\n")
    before = world.queue()
    bad = world.put("bad.patch", diff(A, 11, "eleven"))
    with pytest.raises(PatchConflict, match=r"the stack child reads the same file and would break: .*own"):
        world.take(sources.files([str(bad)]), add=True)
    assert world.queue() == before
    assert set(world.written()) == {"own.patch"}
    good = world.put("good.patch", diff(A, 25, "25"))
    world.take(sources.files([str(good)]), add=True)
    assert "- t/good\n" in world.queue()


def test_a_stack_on_another_base_is_told_as_not_proved(world: World) -> None:
    other_stack(world, "far", "extends: s.yaml\nbase: {path: ../../elsewhere}\n")
    file = world.put("x.patch", diff(A, 5, "x"))
    report = world.take(sources.files([str(file)]), add=True)
    text = "it reads the same file and has another base: `stackctl patches verify far`"
    assert [(note.text, note.where) for note in report.notes if note.kind == "unproved"] == [(text, "far")]


def test_a_workspace_that_changes_meanwhile_is_not_written_to(world: World) -> None:
    world.edit("own", 20, "mine")
    world.stack_file("own")
    file = world.put("x.patch", diff(A, 5, "x"))
    take = sources.files([str(file)])

    def busy(ports: Ports, ground: Ground) -> Taken:
        taken = take(ports, ground)
        world.edit("own", 20, "other")
        return taken

    with pytest.raises(StackctlError, match=r"changed meanwhile, so nothing is written: patches/own\.patch"):
        world.take(busy)
    assert set(world.written()) == {"own.patch"}

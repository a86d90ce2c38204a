"""new, edit and refresh on the real git: what a maintainer does with a patch, and what must never happen to it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stackctl.adapters.git import GitWorkTrees
from stackctl.cli import main
from stackctl.commands.authoring.begin import NewRequest, abort, edit_patch, new_patch, open_edits
from stackctl.commands.authoring.message import Words
from stackctl.commands.authoring.refresh import Refreshed, RefreshRequest, refresh
from stackctl.commands.queue.look import list_patches
from stackctl.commands.selection import Selection
from stackctl.errors import InvalidFile, PatchConflict, StackctlError, UsageError
from stackctl.ports import Ports
from tests.commands.composing import NUMBERS, Bench
from tests.fakes import LocalFilesAt

pytestmark = pytest.mark.slow
WORDS = Words("Do it better\n\nBecause.", {"Area": "tests", "Why": "It is a test.", "Remove-when": "never"})
TITLE = Words("Title")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    found = Bench(tmp_path)
    found.edit("t/one", 5, "one")
    found.edit("t/two", 15, "two")
    found.edit("t/three", 25, "three")
    found.stack_file("t/one", "t/two", "t/three")
    return found


def git(folder: Path | str, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *args], capture_output=True, check=True)
    return done.stdout.decode()


def opened(bench: Bench, name: str, ports: Ports | None = None) -> Path:
    return Path(edit_patch(ports or bench.ports(), name, "s").folder)


def began(bench: Bench, name: str, ports: Ports | None = None, **where: str) -> Path:
    return Path(new_patch(ports or bench.ports(), NewRequest(name, "s", **where)).folder)


def change(folder: Path, old: str, new: str, file: str = "a.py") -> None:
    path = folder / "python/pkg" / file
    data = path.read_bytes()
    assert old.encode() in data
    path.write_bytes(data.replace(old.encode(), new.encode(), 1))


def folded(bench: Bench, ports: Ports | None = None, **request: object) -> Refreshed:
    return refresh(ports or bench.ports(), RefreshRequest(**request))  # type: ignore[arg-type]


def queue(bench: Bench) -> dict[str, bytes]:
    """All that a maintainer keeps under git."""
    kept = [path for path in bench.workspace.rglob("*") if path.is_file() and ".stackctl" not in path.parts]
    return {path.relative_to(bench.workspace).as_posix(): path.read_bytes() for path in kept}


def names(bench: Bench) -> list[str]:
    return [row.name for row in list_patches(bench.ports(), Selection("s")).rows]


def test_an_edit_shows_the_change_on_top_of_what_comes_before(bench: Bench) -> None:
    result = edit_patch(bench.ports(), "t/two", "s")
    folder = Path(result.folder)
    assert folder == bench.workspace / ".stackctl/edit/s/t+two"
    assert (result.behind, result.files, result.resumed) == (("t/one",), ("python/pkg/a.py",), False)
    text = (folder / "python/pkg/a.py").read_text()
    assert "\none\n" in text and "\ntwo\n" in text and "three" not in text
    assert git(folder, "status", "--short") == " M python/pkg/a.py\n"
    assert "-line 15\n+two\n" in git(folder, "diff")
    assert "\none\n" in git(folder, "show", "HEAD:python/pkg/a.py")
    assert git(folder, "symbolic-ref", "--short", "HEAD") == "t/two\n"


def test_a_refresh_without_a_change_keeps_every_byte(bench: Bench) -> None:
    before = queue(bench)
    opened(bench, "t/two")
    result = folded(bench)
    assert (result.changed, result.written, result.open, result.exit) == (False, (), None, 0)
    assert queue(bench) == before
    assert open_edits(bench.ports()) == ()
    assert not (bench.workspace / ".stackctl/edit/s/t+two").exists()


def test_a_refresh_keeps_the_header_and_proves_what_is_above(bench: Bench) -> None:
    before = queue(bench)
    folder = opened(bench, "t/two")
    change(folder, "two\n", "two\nand more\n")
    result = folded(bench)
    assert (result.changed, result.written, result.exit) == (True, ("patches/t/two.patch",), 0)
    assert [(each.name, each.verdict) for each in result.verdicts] == [("t/three", "offset")]
    after = queue(bench)
    assert {name for name in after if after[name] != before[name]} == {"patches/t/two.patch"}
    old, new = before["patches/t/two.patch"], after["patches/t/two.patch"]
    assert new.startswith(old[: old.index(b"diff --git")])
    assert b"+two\n+and more\n" in new
    assert b"index " in new  # full ids, which the old one lacked


def test_a_refresh_writes_the_version_that_this_base_takes(bench: Bench) -> None:
    engine = bench.folder / "engine"
    git(engine.parent, "init", "-q", str(engine))
    git(engine, "add", "-A")
    git(engine, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "-m", "base")
    commit = git(engine, "rev-parse", "HEAD").strip()
    stack = bench.workspace / "stacks/s.yaml"
    pinned = f"base: {{git: file://{engine}, ref: HEAD, commit: {commit}}}"
    stack.write_text(stack.read_text().replace("base: {path: ../../engine}", pinned))
    ours = bench.workspace / f"patches/t/two@{commit[:12]}.patch"
    ours.write_bytes((bench.workspace / "patches/t/two.patch").read_bytes())
    before = queue(bench)
    change(opened(bench, "t/two"), "two\n", "two\nand more\n")
    assert folded(bench).written == (f"patches/t/two@{commit[:12]}.patch",)
    after = queue(bench)
    assert {name for name in after if after[name] != before[name]} == {f"patches/t/{ours.name}"}


def test_a_new_patch_gets_its_file_and_its_line(bench: Bench) -> None:
    stack = bench.workspace / "stacks/s.yaml"
    lines = "patches:  # the queue\n  - t/one   # first\n  - t/two\n\n  - t/three\n"
    stack.write_text(stack.read_text().replace("patches: [t/one, t/two, t/three]\n", lines))
    before = queue(bench)
    folder = began(bench, "t/new", after="t/one")
    assert "two" not in (folder / "python/pkg/a.py").read_text()
    change(folder, "line 20\n", "line twenty\n", "b.py")
    result = folded(bench, words=WORDS)
    assert result.written == ("patches/t/new.patch", "stacks/s.yaml")
    after = queue(bench)
    expected = before["stacks/s.yaml"].replace(b"  - t/one   # first\n", b"  - t/one   # first\n  - t/new\n")
    assert after["stacks/s.yaml"] == expected
    assert names(bench) == ["t/one", "t/new", "t/two", "t/three"]
    head = after["patches/t/new.patch"].decode().partition("\n---\n")[0].split("\n")
    assert head[0].startswith("From 0000")
    assert head[3:] == [
        "Subject: [PATCH] Do it better", "", "Because.", "",
        "Area: tests", "Why: It is a test.", "Upstream: Pending", "Remove-when: never",
    ]  # fmt: skip


def test_new_files_and_deleted_ones_are_part_of_a_patch_and_bytecode_is_not(bench: Bench) -> None:
    folder = began(bench, "t/new")
    pkg = folder / "python/pkg"
    (pkg / "b.py").unlink()
    (pkg / "new file.py").write_text("x = 1\n")
    (pkg / "__pycache__").mkdir()
    for name in ("__pycache__/a.pyc", "a.py~", ".a.py.swp", "a.py.orig"):
        (pkg / name).write_bytes(b"\0")
    assert open_edits(bench.ports())[0].files == ("python/pkg/b.py", "python/pkg/new file.py")
    result = folded(bench, words=TITLE)
    assert (result.files, result.open) == (("python/pkg/b.py", "python/pkg/new file.py"), None)
    text = queue(bench)["patches/t/new.patch"].decode()
    assert "deleted file mode 100644" in text and "+++ b/python/pkg/new file.py" in text


@pytest.mark.parametrize("data", [NUMBERS.replace("\n", "\r\n").encode(), NUMBERS.rstrip("\n").encode(), b"caf\xe9\n"])
def test_bytes_come_back_as_they_are(bench: Bench, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever line ends the user's own git would like, and whatever attributes the base has."""
    home = bench.folder / "user"
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\n\tautocrlf = true\n")
    monkeypatch.setenv("HOME", str(home))
    (bench.folder / "engine/python/pkg/c.py").write_bytes(data)
    (bench.folder / "engine/.gitattributes").write_text("* text=auto eol=crlf\n*.py ident\n")
    folder = began(bench, "t/new")
    assert (folder / "python/pkg/c.py").read_bytes() == data
    assert git(folder, "status", "--short") == ""
    (folder / "python/pkg/c.py").write_bytes(data + b"more")
    folded(bench, words=TITLE)
    again = opened(bench, "t/new")
    assert (again / "python/pkg/c.py").read_bytes() == data + b"more"
    assert folded(bench).changed is False


def test_a_conflict_above_is_told_by_patch_and_nothing_is_written(bench: Bench) -> None:
    bench.edit("t/four", 15, "four", old="two")
    bench.stack_file("t/one", "t/two", "t/three", "t/four")
    before = queue(bench)
    change(opened(bench, "t/two"), "two\n", "TWO\n")
    result = folded(bench)
    assert (result.exit, result.written) == (3, ())
    assert [(each.name, each.verdict) for each in result.verdicts] == [("t/three", "clean"), ("t/four", "conflict")]
    assert "context-mismatch" in (result.verdicts[1].reason or "")
    assert queue(bench) == before
    assert open_edits(bench.ports())[0].files == ("python/pkg/a.py",)
    forced = folded(bench, keep_going=True)
    assert (forced.exit, forced.written, forced.open) == (3, ("patches/t/two.patch",), None)


def test_a_patch_that_does_not_apply_any_more_opens_with_markers(bench: Bench) -> None:
    bench.edit("t/four", 15, "four", old="two")
    bench.stack_file("t/one", "t/two", "t/three", "t/four")
    opened(bench, "t/four")
    folder = opened(bench, "t/four")
    change(folder, "four", "4")
    folded(bench, name="t/four")  # with full ids, so that git can merge three-way
    change(opened(bench, "t/two"), "two\n", "TWO\n")
    folded(bench, keep_going=True)
    result = edit_patch(bench.ports(), "t/four", "s")
    assert [(each.path, each.outcome) for each in result.merged] == [("python/pkg/a.py", "conflict")]
    file = Path(result.folder) / "python/pkg/a.py"
    assert "<<<<<<< " in file.read_text()
    with pytest.raises(InvalidFile, match="conflict markers"):
        folded(bench)
    text = file.read_text()
    start, end = text.index("<<<<<<< "), text.index(">>>>>>> ")
    file.write_text(text[:start] + "4\n" + text[text.index("\n", end) + 1 :])
    with pytest.raises(InvalidFile, match="is in conflict"):
        folded(bench)
    git(result.folder, "add", "-A")
    assert folded(bench).exit == 0
    assert list_patches(bench.ports(), Selection("s")).rows[3].conflict is None


def test_without_ids_the_hunks_that_fit_are_put_in_and_the_others_lie_beside(bench: Bench) -> None:
    hunks = "@@ -9,3 +9,3 @@\n line 9\n-line 10\n+ten\n line 11\n@@ -19,3 +19,3 @@\n line 19\n-gone\n+20\n line 21\n"
    head = "diff --git a/python/pkg/a.py b/python/pkg/a.py\n--- a/python/pkg/a.py\n+++ b/python/pkg/a.py\n"
    bench.patch("t/half", "Subject: half\n\n---\n" + head + hunks)
    bench.stack_file("t/half")
    result = edit_patch(bench.ports(), "t/half", "s")
    folder = Path(result.folder)
    assert [each.outcome for each in result.merged] == ["parts"]
    assert "\nten\n" in (folder / "python/pkg/a.py").read_text()
    with pytest.raises(InvalidFile, match="hunks that are in no file"):
        folded(bench)
    (folder / "python/pkg/a.py.rej").unlink()
    change(folder, "line 20\n", "20\n")
    assert folded(bench).written == ("patches/t/half.patch",)


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda pkg: (pkg / "link").symlink_to("a.py"), "symbolic link"),
        (lambda pkg: (pkg / "a.py").chmod(0o755), "mode changed from 100644 to 100755"),
        (lambda pkg: (pkg / "blob").write_bytes(b"\0\1"), "binary file"),
        (lambda pkg: (pkg / "tab\t.py").write_text("x\n"), "bad-path"),
        (lambda pkg: (pkg / "git~1").write_text("x\n"), "invalid path 'python/pkg/git~1'"),
        (lambda pkg: git(pkg, "init", "-q", "inner"), "cannot read the work tree"),
    ],
)
def test_what_no_patch_may_hold_is_refused_before_anything_is_written(
    bench: Bench, spoil: object, message: str
) -> None:
    before = queue(bench)
    folder = opened(bench, "t/two")
    change(folder, "two\n", "TWO\n")
    spoil(folder / "python/pkg")  # type: ignore[operator]
    with pytest.raises(StackctlError, match=message):
        folded(bench)
    assert queue(bench) == before
    assert "TWO" in (folder / "python/pkg/a.py").read_text()


def test_an_edit_is_opened_again_as_it_was_left(bench: Bench) -> None:
    folder = opened(bench, "t/two")
    change(folder, "two\n", "mine\n")
    again = edit_patch(bench.ports(), "t/two", "s")
    assert again.resumed and Path(again.folder) == folder
    assert "\nmine\n" in (folder / "python/pkg/a.py").read_text()
    other = began(bench, "t/new")
    (other / "python/pkg/n.py").write_text("n\n")
    assert new_patch(bench.ports(), NewRequest("t/new", "s")).resumed
    assert [(each.name, each.new) for each in open_edits(bench.ports())] == [("t/new", True), ("t/two", False)]


def test_two_edits_are_kept_apart(bench: Bench) -> None:
    change(opened(bench, "t/one"), "one\n", "ONE\n")
    change(opened(bench, "t/three"), "three\n", "THREE\n")
    with pytest.raises(UsageError, match=r"which edit\? Open are t/one of s, t/three of s"):
        folded(bench)
    assert folded(bench, name="t/three").written == ("patches/t/three.patch",)
    assert b"ONE" not in queue(bench)["patches/t/three.patch"]
    assert folded(bench).written == ("patches/t/one.patch",)  # the only one left
    assert queue(bench)["patches/t/one.patch"].count(b"\n+") == 2


def test_a_queue_that_moved_below_is_refused_and_update_puts_the_edit_onto_it(bench: Bench) -> None:
    folder = opened(bench, "t/three")
    change(folder, "three\n", "THREE\n")
    change(opened(bench, "t/one"), "one\n", "ONE\n")
    folded(bench, name="t/one")
    before = queue(bench)
    with pytest.raises(StackctlError, match="the queue below t/three was changed") as refused:
        folded(bench)
    assert refused.value.hint == "`stackctl patches edit t/three s --update` puts the edit onto it."
    assert queue(bench) == before
    result = edit_patch(bench.ports(), "t/three", "s", update=True)
    text = (folder / "python/pkg/a.py").read_text()
    assert result.merged == () and "\nONE\n" in text and "\nTHREE\n" in text
    assert folded(bench).written == ("patches/t/three.patch",)
    kept = list((bench.workspace / ".stackctl/edit/s").glob("t+three.*.diff"))
    assert len(kept) == 1 and b"+THREE\n" in kept[0].read_bytes()


def test_a_diff_that_somebody_else_changed_is_not_written_over(bench: Bench) -> None:
    change(opened(bench, "t/two"), "two\n", "mine\n")
    file = bench.workspace / "patches/t/two.patch"
    file.write_text(file.read_text().replace("+two", "+theirs"))
    before = queue(bench)
    with pytest.raises(StackctlError, match="was changed since the edit was opened"):
        folded(bench)
    assert queue(bench) == before
    assert folded(bench, overwrite=True).written == ("patches/t/two.patch",)


def test_a_header_may_be_edited_meanwhile(bench: Bench) -> None:
    change(opened(bench, "t/two"), "two\n", "mine\n")
    file = bench.workspace / "patches/t/two.patch"
    file.write_text(file.read_text().replace("Area: tests", "Area: other"))
    folded(bench)
    assert "Area: other" in file.read_text() and "+mine" in file.read_text()


def test_a_patch_that_left_the_queue_meanwhile_is_not_put_back(bench: Bench) -> None:
    change(opened(bench, "t/two"), "two\n", "mine\n")
    bench.stack_file("t/one", "t/three")
    before = queue(bench)
    with pytest.raises(StackctlError, match="t/two is no longer in the queue"):
        folded(bench)
    assert queue(bench) == before


def test_a_name_that_somebody_else_took_meanwhile_is_refused(bench: Bench) -> None:
    folder = began(bench, "t/new")
    change(folder, "line 20\n", "mine\n")
    bench.edit("t/new", 10, "theirs")
    before = queue(bench)
    with pytest.raises(StackctlError, match=r"patches/t/new.patch was made since"):
        folded(bench, words=TITLE)
    assert queue(bench) == before


@pytest.mark.parametrize(
    "request_, message",
    [
        (NewRequest("t/two", "s"), "the queue has a patch t/two"),
        (NewRequest("t/new", "s", after="t/no"), "has no patch t/no"),
        (NewRequest("t/new", "s", source="flashinfer"), "declares no source flashinfer"),
        (NewRequest("t/loose", "s"), "is there, but not in the queue"),
    ],
)
def test_a_new_patch_that_cannot_be(bench: Bench, request_: NewRequest, message: str) -> None:
    bench.edit("t/loose", 9, "loose")
    with pytest.raises(UsageError, match=message):
        new_patch(bench.ports(), request_)
    assert open_edits(bench.ports()) == ()


@pytest.mark.parametrize("name", ["../x", "t/.x", "-x", "t/a b", "t//x", "t/x..y", "/x"])
def test_a_name_that_no_patch_may_have(bench: Bench, name: str) -> None:
    with pytest.raises(StackctlError):
        new_patch(bench.ports(), NewRequest(name, "s"))
    assert not (bench.workspace / ".stackctl").exists()


def test_an_edit_without_a_change_is_no_patch(bench: Bench) -> None:
    began(bench, "t/new")
    with pytest.raises(UsageError, match="has no change"):
        folded(bench, words=TITLE)


def test_a_patch_of_nothing_is_not_written(bench: Bench) -> None:
    folder = opened(bench, "t/two")
    git(folder, "checkout", "-q", ".")
    with pytest.raises(UsageError, match="has no change") as refused:
        folded(bench)
    assert "patches drop t/two" in (refused.value.hint or "")


def test_an_abort_keeps_the_diff(bench: Bench) -> None:
    before = queue(bench)
    change(opened(bench, "t/two"), "two\n", "mine\n")
    result = abort(bench.ports(), "t/two", None)
    assert result.diff and b"+mine\n" in (bench.workspace / result.diff).read_bytes()
    assert queue(bench) == before and open_edits(bench.ports()) == ()


def test_a_look_at_what_is_open_moves_nothing_of_a_running_command(bench: Bench) -> None:
    change(opened(bench, "t/two"), "two\n", "mine\n")
    above = bench.workspace / ".stackctl/edit/s"
    for name in (".making-t+two", ".gone-t+three"):
        (above / name).mkdir()
        (above / name / "half").write_text("made\n")
    there = sorted(above.rglob("half"))
    assert [each.name for each in open_edits(bench.ports())] == ["t/two"]
    assert sorted(above.rglob("half")) == there and len(there) == 2
    (above / "t+two").rename(above / ".gone-t+two")
    found = open_edits(bench.ports())
    assert [(each.folder, each.files) for each in found] == [(str(above / ".gone-t+two"), ("python/pkg/a.py",))]
    assert not (above / "t+two").exists()
    assert folded(bench).open is None
    assert not [path for path in above.iterdir() if path.is_dir()]


def test_what_is_typed_while_an_edit_is_taken_away_is_not_lost(bench: Bench) -> None:
    """Neither by giving it up nor by putting it onto the queue as it is now."""
    folder = opened(bench, "t/two")
    change(folder, "two\n", "mine\n")

    class Typing(GitWorkTrees):
        def move(self, old: str, new: str) -> None:
            super().move(old, new)
            if Path(new).name.startswith(".gone-"):
                change(Path(new), "mine", "later: mine")

    typing = bench.ports(work_trees=Typing(LocalFilesAt(bench.folder / "home", bench.workspace)))
    with pytest.raises(StackctlError, match="were changed while it was given up"):
        abort(typing, "t/two", None)
    with pytest.raises(StackctlError, match="were changed while it was put onto the queue"):
        edit_patch(typing, "t/two", "s", update=True)
    assert "later: later: mine" in (folder / "python/pkg/a.py").read_text()
    assert folded(bench).open is None


def test_ignored_files_and_a_stash_keep_the_work_tree(bench: Bench) -> None:
    (bench.folder / "engine/.gitignore").write_text("*.log\n")
    folder = opened(bench, "t/two")
    change(folder, "two\n", "mine\n")
    git(folder, "-c", "user.name=x", "-c", "user.email=x", "stash")
    git(folder, "stash", "apply")
    (folder / "run.log").write_text("precious\n")
    result = folded(bench)
    assert result.written and result.open == "it holds what no patch has: run.log, refs/stash"
    with pytest.raises(UsageError, match=r"holds what no diff keeps: run.log, refs/stash"):
        abort(bench.ports(), None, None)
    assert (folder / "run.log").exists()
    abort(bench.ports(), None, None, yes=True)
    assert not folder.exists()


def test_commits_in_the_work_tree_are_folded_as_they_end(bench: Bench) -> None:
    folder = opened(bench, "t/two")
    change(folder, "two\n", "mine\n")
    git(folder, "-c", "user.name=x", "-c", "user.email=x", "commit", "-qam", "wip")
    assert folded(bench).written == ("patches/t/two.patch",)
    assert b"+mine" in queue(bench)["patches/t/two.patch"]


def test_a_file_that_is_added_by_force_is_taken_in(bench: Bench) -> None:
    folder = began(bench, "t/new")
    (folder / "python/pkg/keep.orig").write_text("x\n")
    git(folder, "add", "-f", "python/pkg/keep.orig")
    assert folded(bench, words=TITLE).files == ("python/pkg/keep.orig",)


def test_keep_leaves_the_edit_open(bench: Bench) -> None:
    folder = began(bench, "t/new")
    change(folder, "line 20\n", "mine\n")
    assert folded(bench, words=TITLE, keep_open=True).open == "--keep"
    change(folder, "mine\n", "mine too\n")
    result = folded(bench)
    assert (result.new, result.written, result.open) == (False, ("patches/t/new.patch",), None)
    assert names(bench)[-1] == "t/new"


def test_a_dry_run_changes_nothing_and_shows_all(bench: Bench) -> None:
    before = queue(bench)
    change(began(bench, "t/new"), "line 20\n", "mine\n")
    result = folded(bench, dry_run=True)
    assert queue(bench) == before
    assert result.written == ("patches/t/new.patch", "stacks/s.yaml")
    assert "++mine\n" in result.diff and "t/new" in result.diff
    assert len(open_edits(bench.ports())) == 1


def test_an_editor_is_asked_once_and_its_words_are_kept(bench: Bench) -> None:
    folder = began(bench, "t/new")
    change(folder, "line 5\n", "mine\n", "b.py")
    seen: list[str] = []

    def ask(file: str) -> None:
        seen.append(Path(file).read_text())
        if len(seen) == 1:
            Path(file).write_text("\n" + seen[0].replace("Why:", "Why: words"))  # and no title yet
        else:
            Path(file).write_text("A title" + seen[1])

    with pytest.raises(UsageError, match="needs a title"):
        folded(bench, words=Words(ask=ask))
    assert seen[0].startswith("\n\nArea:\nWhy:\nUpstream: Pending\nRemove-when:\n")
    assert "\n# t/new, for s\n# python/pkg/b.py\n" in seen[0]
    folded(bench, words=Words(ask=ask))
    text = queue(bench)["patches/t/new.patch"].decode()
    assert "Subject: [PATCH] A title\n\nWhy: words\nUpstream: Pending\n---\n" in text


def test_a_header_that_is_there_is_not_said_anew(bench: Bench) -> None:
    change(opened(bench, "t/two"), "two\n", "mine\n")
    with pytest.raises(UsageError, match="t/two has a header already"):
        folded(bench, words=TITLE)


def test_other_stacks_that_carry_the_patch_are_proved_too(bench: Bench) -> None:
    stack = bench.workspace / "stacks/s.yaml"
    bench.edit("t/four", 15, "four", old="two")
    (bench.workspace / "stacks/other.yaml").write_text("extends: s.yaml\nappend: [t/four]\n")
    bench.base("python/pkg/old.py", "x\n")
    (bench.workspace / "stacks/far.yaml").write_text(stack.read_text().replace("../../engine", "../../elsewhere"))
    change(opened(bench, "t/two"), "two\n", "TWO\n")
    result = folded(bench)
    told = [(each.name, each.stack, each.verdict) for each in result.verdicts]
    assert told == [
        ("t/three", None, "clean"), ("t/two", "far", "not proved"), ("t/four", "other", "conflict"),
    ]  # fmt: skip
    assert (result.exit, result.written) == (3, ())


def test_a_work_tree_without_its_record_is_not_touched(bench: Bench) -> None:
    folder = bench.workspace / ".stackctl/edit/s/t+two"
    folder.mkdir(parents=True)
    (folder / "mine").write_text("precious\n")
    with pytest.raises(StackctlError, match="is no work tree of an edit"):
        opened(bench, "t/two")
    assert (folder / "mine").exists()


def test_a_store_that_was_deleted_is_made_again(bench: Bench) -> None:
    folder = opened(bench, "t/two")
    change(folder, "two\n", "mine\n")
    (bench.folder / "home").rename(bench.folder / "away")
    assert opened(bench, "t/two") == folder
    assert git(folder, "status", "--short") == " M python/pkg/a.py\n"
    (bench.folder / "home").rename(bench.folder / "away too")
    result = folded(bench)
    assert result.written == ("patches/t/two.patch",)


def test_a_tree_that_the_store_has_lost_for_good_is_told(bench: Bench) -> None:
    folder = opened(bench, "t/two")
    change(folder, "two\n", "mine\n")
    (bench.folder / "home").rename(bench.folder / "away")
    bench.edit("t/one", 5, "another")
    with pytest.raises(StackctlError, match="the store has lost the tree"):
        edit_patch(bench.ports(), "t/two", "s")
    with pytest.raises(StackctlError, match="the queue below t/two was changed"):
        folded(bench)
    assert "mine" in (folder / "python/pkg/a.py").read_text()


def test_a_patch_for_another_source_is_positioned_in_its_tree(bench: Bench) -> None:
    other = bench.folder / "kernels"
    other.mkdir()
    (other / "k.py").write_text(NUMBERS)
    stack = bench.workspace / "stacks/s.yaml"
    stack.write_text(stack.read_text() + "sources: {kernels: {path: ../../kernels}}\n")
    folder = began(bench, "t/new", source="kernels")
    assert [path.name for path in folder.iterdir() if path.name != ".git"] == ["k.py"]
    (folder / "k.py").write_text(NUMBERS.replace("line 9\n", "nine\n"))
    assert folded(bench, words=TITLE).exit == 0
    assert b"\nSource: kernels\n" in queue(bench)["patches/t/new.patch"]
    assert "\nnine\n" in (opened(bench, "t/new") / "k.py").read_text()
    assert folded(bench).changed is False


def test_a_name_that_is_no_utf8_is_carried(bench: Bench) -> None:
    folder = began(bench, "t/new")
    name = b"caf\xe9.py".decode("utf-8", "surrogateescape")
    (folder / name).write_text("x\n")
    folded(bench, words=TITLE)
    assert (opened(bench, "t/new") / name).read_text() == "x\n"


def test_a_queue_that_is_broken_below_cannot_be_built_upon(bench: Bench) -> None:
    bench.base("python/pkg/a.py", NUMBERS.replace("line 5\n", "another\n"))
    with pytest.raises(PatchConflict, match="context-mismatch"):
        opened(bench, "t/two")
    assert open_edits(bench.ports()) == ()


def test_the_command_line_goes_from_new_to_refresh(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STACKCTL_HOME", str(bench.folder / "home"))
    monkeypatch.chdir(bench.workspace)
    assert main(["patches", "new", "t/new", "s", "--after", "t/two", "--json"]) == 2
    assert main(["patches", "new", "t/new", "s", "--after", "t/two"]) == 0
    said = capfd.readouterr()
    folder = Path(said.out.removesuffix("\n"))  # nothing else goes to stdout
    assert said.err.endswith("then: stackctl patches refresh t/new s\n")
    change(folder, "line 20\n", "mine\n", "b.py")
    monkeypatch.chdir(folder / "python")
    assert main(["patches", "refresh", "-m", "Title", "-m", "Body", "--area", "x", "-n"]) == 0
    assert main(["patches", "edit"]) == 0
    assert "changes python/pkg/b.py" in capfd.readouterr().out
    assert (
        main(["patches", "refresh", "-m", "Title", "-m", "Body", "--remove-when", "never", "--author", "A <a@b>"]) == 0
    )
    text = queue(bench)["patches/t/new.patch"].decode()
    assert "From: A <a@b>\n" in text and "Subject: [PATCH] Title\n\nBody\n\nUpstream: Pending\n" in text
    assert "Remove-when: never\n---\n" in text
    monkeypatch.chdir(bench.workspace)
    assert main(["patches", "edit", "t/new", "s", "--json", "--yes"]) == 0
    assert '"files": [\n    "python/pkg/b.py"\n  ]' in capfd.readouterr().out
    assert main(["patches", "refresh", "--abort"]) == 0
    assert main(["patches", "refresh"]) == 2

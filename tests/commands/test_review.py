"""Comparing queues over a real repository: revisions, locks, variants; nothing in the repository is touched."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackctl.adapters.git import GitRevisions
from stackctl.commands.lock import lock
from stackctl.commands.review.diff import Shape, against_base, diff_base, diff_queues
from stackctl.commands.review.revision import ports_at
from stackctl.commands.review.sides import split
from stackctl.commands.selection import Selection
from stackctl.errors import InvalidFile, StackctlError, UsageError
from stackctl.ports import Ports
from tests.commands.composing import STACK, Bench

pytestmark = pytest.mark.slow
NOW = Selection("s")


class Repository(Bench):
    """A bench whose workspace lies in a folder of a git repository with two commits, and edits after them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.git("init", "-q", "-b", "main")
        (self.folder / ".gitignore").write_text("home\n")
        for name, number in (("one", 5), ("two", 15), ("three", 25)):
            self.edit(name, number, f"{name} was here")
        self.stack_file("one", "two", "three")
        self.commit("first")
        self.edit("two", 15, "two was here again")
        self.stack_file("three", "one", "two")
        self.commit("second")

    def git(self, *args: str) -> str:
        env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        env |= {f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        said = subprocess.run(["git", "-C", str(self.folder), *args], env=env, check=True, capture_output=True)
        return said.stdout.decode()

    def commit(self, title: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", title)

    def ports(self, *_: object, **given: object) -> Ports:
        made = super().ports(**given)
        return super().ports(**{"revisions": GitRevisions(made.files), **given})


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    yield Repository(tmp_path)


def test_what_changed_since_a_revision(repo: Repository) -> None:
    result = diff_queues(repo.ports(), "s@HEAD~1", NOW, Shape(exit_code=True))
    assert [(one.name, one.word) for one in result.changes] == [("three", "moved"), ("two", "changed")]
    assert result.equal == 1
    assert "-+two was here\n++two was here again\n" in result.changes[1].range_diff
    (file,) = result.files
    assert (file.path, file.added, file.removed) == ("python/pkg/a.py", 1, 1)
    assert result.facts == ()
    assert result.exit == 7


def test_equal_sides_have_no_difference(repo: Repository) -> None:
    result = diff_queues(repo.ports(), "s@HEAD", NOW, Shape(exit_code=True))
    assert (result.changes, result.facts, result.files, result.equal, result.exit) == ((), (), (), 3, 0)


def test_the_past_is_read_whole_with_extends_flags_and_base(repo: Repository) -> None:
    basic = "serve: {flags: {tp-size: 2}, env: {A: x}}\n"
    (repo.workspace / "stacks" / "basic.yaml").write_text(basic)
    own = repo.workspace / "stacks" / "s.yaml"
    own.write_text("extends: basic.yaml\n" + own.read_text())
    repo.commit("third")
    (repo.workspace / "stacks" / "basic.yaml").write_text(basic.replace("2", "4").replace("A: x", "B: y"))
    repo.base("python/pkg/a.py", "something else\n")
    own.write_text(own.read_text().replace("three, one, two", ""))
    result = diff_queues(repo.ports(), "s@HEAD", NOW)
    assert result.facts == ("flag tp-size: 2 -> 4", "env A: x -> not set", "env B: not set -> y")
    assert [one.word for one in result.changes] == ["dropped", "dropped", "dropped"]
    assert [file.path for file in result.files] == ["python/pkg/a.py"]


def test_with_other_bases_only_the_files_of_patches_are_shown(repo: Repository) -> None:
    stack = (repo.workspace / "stacks" / "s.yaml").read_text()
    commit = repo.git("rev-parse", "HEAD").strip()
    based = stack.replace("{path: ../../engine}", f"{{path: ../.., commit: {commit}}}")
    (repo.workspace / "stacks" / "s.yaml").write_text(based.replace("three, one, two", ""))
    repo.commit("base is a commit")
    repo.base("python/pkg/new.py", "x\n")
    repo.commit("more")
    later = repo.git("rev-parse", "HEAD").strip()
    (repo.workspace / "stacks" / "s.yaml").write_text(based.replace("three, one, two", "").replace(commit, later))
    result = diff_queues(repo.ports(), "s@HEAD", NOW)
    assert result.facts == (f"base: {repo.folder} at {commit[:12]} -> {repo.folder} at {later[:12]}",)
    assert (result.files, result.elsewhere > 0) == ((), True)


def test_a_variant_is_a_side_too(repo: Repository) -> None:
    result = diff_queues(repo.ports(), "s", Selection("s", ("patch:two",)))
    assert [(one.name, one.word) for one in result.changes] == [("two", "dropped")]
    assert result.new == "s without patch:two"


def test_a_lock_knows_patches_by_their_bytes_wherever_those_are(repo: Repository) -> None:
    lock(repo.ports(), NOW)
    repo.edit("one", 5, "one is new")
    result = diff_queues(repo.ports(), "s.lock", NOW)
    (one,) = result.changes
    assert (one.name, one.kind) == ("one", "changed")  # the old bytes are in the history
    assert "-+one was here\n" in one.range_diff
    assert [file.path for file in result.files] == ["python/pkg/a.py"]


def test_a_lock_whose_bytes_are_nowhere_is_told_so(repo: Repository) -> None:
    repo.edit("one", 5, "never committed")
    lock(repo.ports(), NOW)
    repo.edit("one", 5, "one is new")
    (one,) = diff_queues(repo.ports(), "s.lock", NOW).changes
    assert (one.kind, one.range_diff) == ("unknown", "")


def test_a_lock_of_the_past(repo: Repository) -> None:
    lock(repo.ports(), NOW)
    repo.commit("locked")
    (repo.workspace / "stacks" / "s.lock").unlink()
    repo.edit("one", 5, "one is new")
    assert [one.name for one in diff_queues(repo.ports(), "s.lock@HEAD", NOW).changes] == ["one"]


def test_what_is_no_lock_is_refused_with_its_place(repo: Repository) -> None:
    (repo.workspace / "stacks" / "s.lock").write_text('{"format": 9}')
    with pytest.raises(InvalidFile, match=r"stacks/s\.lock: not a lock file: format 9"):
        diff_queues(repo.ports(), "s.lock", NOW)


def test_a_new_stack_is_all_new_and_a_mistyped_one_is_refused(repo: Repository) -> None:
    (repo.workspace / "stacks" / "t.yaml").write_text(STACK.replace("PATCHES", "one"))
    result = diff_queues(repo.ports(), "t@HEAD", Selection("t"))
    assert (result.facts, [one.word for one in result.changes]) == (("stack t: new",), ["added"])
    assert [file.path for file in result.files] == ["python/pkg/a.py"]
    with pytest.raises(UsageError, match=r"at HEAD .*: no stack is called `x`"):
        diff_queues(repo.ports(), "x@HEAD", Selection("t"))


def test_a_stack_that_is_gone_is_told(repo: Repository) -> None:
    (repo.workspace / "stacks" / "s.yaml").unlink()
    result = diff_queues(repo.ports(), "s@HEAD~1", Selection("s@HEAD"))
    assert [one.word for one in result.changes] == ["moved", "changed"]
    with pytest.raises(UsageError, match="no stack is called `s`"):
        diff_queues(repo.ports(), "s@HEAD", NOW)


def test_a_queue_that_does_not_compose_is_compared_all_the_same(repo: Repository) -> None:
    repo.edit("one", 5, "one is new", old="not what is there")
    result = diff_queues(repo.ports(), "s@HEAD", NOW)
    assert [one.name for one in result.changes] == ["one"]
    assert result.files == ()
    assert result.notes[0].startswith("s does not compose: ")


def test_an_area_narrows_patches_and_files(repo: Repository) -> None:
    result = diff_queues(repo.ports(), "s@HEAD~1", NOW, Shape(area="Tests"))
    assert [one.name for one in result.changes] == ["three", "two"]
    assert diff_queues(repo.ports(), "s@HEAD~1", NOW, Shape(area="moe")).changes == ()
    with pytest.raises(UsageError, match="no area testz") as caught:
        diff_queues(repo.ports(), "s@HEAD~1", NOW, Shape(area="testz"))
    assert caught.value.hint == "Did you mean tests?"


def test_against_the_base_now_and_then(repo: Repository) -> None:
    assert "+two was here again\n" in diff_base(repo.ports(), NOW).text
    assert "+two was here\n" in diff_base(repo.ports(), Selection("s@HEAD~1")).text
    assert diff_base(repo.ports(), NOW, Shape(area="moe", exit_code=True)).exit == 0
    result = against_base(repo.ports(), NOW, Shape(exit_code=True))
    assert ([one.word for one in result.changes], result.exit) == (["added", "added", "added"], 7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("prod", ("prod", None)),
        ("prod@HEAD~3", ("prod", "HEAD~3")),
        ("prod@main:", ("prod", "main")),
        ("prod@origin/a@b", ("prod", "origin/a@b")),
        ("@v1", ("", "v1")),
        ("a@b/stacks/prod.yaml@HEAD@{1}", ("a@b/stacks/prod.yaml", "HEAD@{1}")),
        ("prod.lock@HEAD", ("prod.lock", "HEAD")),
        ("stacks/prod.yaml", ("stacks/prod.yaml", None)),
    ],
)
def test_sides_are_taken_apart(text: str, expected: tuple[str, str | None]) -> None:
    assert split(text) == expected


@pytest.mark.parametrize("revision", ["nope", "--output=/tmp/x", "HEAD~99", "HEAD:ws", ""])
def test_what_is_no_commit_is_refused(repo: Repository, revision: str) -> None:
    with pytest.raises(UsageError, match="has no commit"):
        GitRevisions(repo.ports().files).commit(str(repo.workspace), revision)


def test_outside_of_a_repository_there_are_no_revisions(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.edit("one", 5, "x")
    bench.stack_file("one")
    ports = bench.ports()
    ports = bench.ports(revisions=GitRevisions(ports.files))
    with pytest.raises(UsageError, match="is in no git repository"):
        diff_queues(ports, "s@HEAD", NOW)


def test_a_mistake_of_the_past_is_told_with_its_revision(repo: Repository) -> None:
    file = repo.workspace / "stacks" / "s.yaml"
    good = file.read_text()
    file.write_text(good + "nonsense: 1\n")
    repo.commit("bad")
    file.write_text(good)
    with pytest.raises(InvalidFile, match=r"HEAD:stacks/s\.yaml:\d+"):
        diff_queues(repo.ports(), "s@HEAD", NOW)


def test_old_files_are_read_as_they_were_and_never_written(repo: Repository) -> None:
    (repo.workspace / "link").symlink_to("patches")
    repo.commit("link")
    (repo.workspace / "patches" / "one.patch").write_text("new")
    files = ports_at(repo.ports(), str(repo.workspace), "HEAD~1")[0].files
    one = str(repo.workspace / "patches" / "one.patch")
    assert b"one was here" in files.read(one)
    assert files.list(str(repo.workspace)) == ("patches", "stacks")
    assert files.walk(str(repo.workspace / "patches")) == ("one.patch", "three.patch", "two.patch")
    assert (files.exists(f"{one}x"), files.is_dir(str(repo.workspace / "patches"))) == (False, True)
    assert "link" in ports_at(repo.ports(), str(repo.workspace), "HEAD")[0].files.list(str(repo.workspace))
    for act in (lambda: files.write(one, b""), lambda: files.remove(one), lambda: files.append_line(one, "x")):
        with pytest.raises(StackctlError, match="nothing is written there"):
            act()


def test_the_repository_is_not_touched(repo: Repository) -> None:
    hook = repo.folder / ".git" / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {repo.folder}/hooked\n")
    hook.chmod(0o755)
    repo.git("config", "core.fsmonitor", f"{repo.folder}/monitor")
    (repo.workspace / "patches" / "one.patch").touch()  # a stale index would be refreshed by a careless git

    def state() -> dict[str, tuple[int, int]]:
        files = [path for path in (repo.folder / ".git").rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in files}

    before = state()
    diff_queues(repo.ports(), "s@HEAD~1", NOW)
    assert state() == before
    assert not (repo.folder / "hooked").exists()


def test_the_past_knows_links_and_modes(repo: Repository) -> None:
    stack = repo.workspace / "stacks/s.yaml"
    (repo.workspace / "stacks/link.yaml").symlink_to("s.yaml")
    stack.chmod(0o755)
    repo.commit("third")
    stack.chmod(0o600)
    (repo.workspace / "stacks/link.yaml").unlink()
    files = ports_at(repo.ports(), str(repo.workspace), "HEAD")[0].files
    assert [files.is_link(f"{stack.parent}/{name}") for name in ("link.yaml", "s.yaml")] == [True, False]
    assert files.mode(str(stack)) == 0o755
    with pytest.raises(StackctlError, match="there is no such file at HEAD"):
        files.mode(f"{stack.parent}/none.yaml")

"""Finding the stack that is meant, and files that cannot be read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.errors import InvalidFile, StackctlError, UsageError
from stackctl.ports import Ports
from tests.fakes import MemoryFiles
from tests.workspaces import MAIN, SMALL, ports_of

TWO = {"stacks/main.yaml": SMALL, "stacks/other.yaml": SMALL + "default: true\n"}


class Locked(MemoryFiles):
    """Some files are there but may not be read."""

    def __init__(self, files: MemoryFiles, *paths: str) -> None:
        super().__init__(cwd=files.cwd())
        self.data, self._locked = files.data, paths

    def read(self, path: str) -> bytes:
        if path in self._locked:
            raise StackctlError(f"cannot read {path}: Permission denied") from PermissionError(13, "Permission denied")
        return super().read(path)


def name_of(ports: Ports, stack: str | None = None) -> str:
    return load(ports, Selection(stack)).name


def test_a_name_a_path_the_variable_and_the_default() -> None:
    ports = ports_of(TWO)
    assert name_of(ports, "main") == "main"
    assert name_of(ports, "stacks/main.yaml") == "main"
    assert name_of(ports, "/ws/stacks/main.yaml") == "main"
    assert name_of(ports) == "other"
    assert name_of(ports_of(TWO, STACKCTL_STACK="main")) == "main"
    assert name_of(ports_of(TWO, STACKCTL_STACK="main"), "other") == "other"


def test_the_workspace_is_found_from_below() -> None:
    ports = ports_of({f"../{name}": text for name, text in TWO.items()}, folder="/ws/deep/down")
    below = MemoryFiles(cwd="/ws/deep/down")
    below.data = {"/ws/stacks/main.yaml": SMALL.encode()}
    stack = load(replace(ports, files=below), MAIN)
    assert (stack.workspace, stack.file) == ("/ws", "/ws/stacks/main.yaml")


def test_the_workspace_of_a_path_is_above_its_stacks() -> None:
    ports = ports_of({"stacks/main.yaml": SMALL, "elsewhere/stacks/x.yaml": SMALL, "lone/y.yaml": SMALL})
    assert load(ports, Selection("elsewhere/stacks/x.yaml")).workspace == "/ws/elsewhere"
    assert load(ports, Selection("lone/y.yaml")).workspace == "/ws"


@pytest.mark.parametrize(
    ("stack", "said", "hint"),
    [
        ("mian", "no stack is called `mian`", "did you mean `main`?"),
        ("zzz", "no stack is called `zzz`", "stacks here: main"),
        ("no/such.yaml", "there is no stack file no/such.yaml", "path"),
        ("stacks/", "there is no stack file stacks", "path"),
        ("main.yaml", "there is no stack file main.yaml", "did you mean `main`?"),
        ("", "the STACK given is empty", "variable"),
        (None, "None says `default: true`", "give one of main"),
    ],
)
def test_a_stack_that_is_not_there_is_refused_with_a_hint(stack: str | None, said: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        name_of(ports_of({"stacks/main.yaml": SMALL}), stack)
    assert said in str(caught.value)
    assert hint in str(caught.value.hint)


def test_outside_of_a_workspace() -> None:
    with pytest.raises(UsageError, match="no folder named stacks/"):
        name_of(ports_of({"a.txt": ""}))


def test_two_defaults_are_refused_with_both_places() -> None:
    with pytest.raises(InvalidFile) as caught:
        name_of(ports_of({**TWO, "stacks/main.yaml": SMALL + "default: true\n"}))
    assert [str(problem.where) for problem in caught.value.problems] == [
        "stacks/main.yaml:10:1",
        "stacks/other.yaml:10:1",
    ]


def test_a_broken_neighbour_does_not_hide_the_default() -> None:
    assert name_of(ports_of({**TWO, "stacks/broken.yaml": "a: [\n"})) == "other"


def test_files_that_may_not_be_read_are_told_where_they_are_named() -> None:
    ports = ports_of({"stacks/main.yaml": SMALL + "patches: [t/a]\n", "patches/t/a.patch": "x"})
    files = ports.files
    assert isinstance(files, MemoryFiles)
    with pytest.raises(
        InvalidFile, match=r"main.yaml:10:11: patches.0: patch patches/t/a.patch: cannot be read: Permission denied"
    ):
        load(replace(ports, files=Locked(files, "/ws/patches/t/a.patch")), MAIN)
    with pytest.raises(InvalidFile, match=r"stacks/main.yaml: cannot be read: Permission denied"):
        load(replace(ports, files=Locked(files, "/ws/stacks/main.yaml")), MAIN)


@pytest.mark.parametrize("file", ["no.patch", "stacks"])
def test_an_added_patch_must_be_a_file(file: str) -> None:
    with pytest.raises(UsageError, match="there is no patch file"):
        load(ports_of({"stacks/main.yaml": SMALL}), Selection("main", (), (file,)))


def test_an_added_patch_needs_a_name_that_can_be_one() -> None:
    with pytest.raises(UsageError, match="cannot name a patch"):
        load(ports_of({"stacks/main.yaml": SMALL, "a b.patch": "x"}), Selection("main", (), ("a b.patch",)))


@pytest.mark.parametrize("stack", ["main", None])
def test_a_workspace_without_a_stack_says_so(stack: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        name_of(ports_of({"stacks/README": ""}), stack)
    assert caught.value.hint == "the folder holds no stack file yet"


def test_extends_takes_a_file_and_not_a_name() -> None:
    with pytest.raises(InvalidFile) as caught:
        name_of(ports_of({"stacks/main.yaml": "extends: base\n", "stacks/base.yaml": SMALL}), "main")
    assert "did you mean `base.yaml`?" in str(caught.value.problems[0].hint)


def test_a_patch_that_may_not_be_read_is_not_a_misspelled_one() -> None:
    """The folder may not be listed either, which must not hide where the patch is named."""
    ports = ports_of({"stacks/main.yaml": SMALL + "patches: [a/one]\n", "patches/a/one.patch": "x"})

    class Sealed(Locked):
        def walk(self, path: str) -> tuple[str, ...]:
            raise StackctlError(f"cannot list {path}: Permission denied")

    assert isinstance(ports.files, MemoryFiles)
    with pytest.raises(InvalidFile) as caught:
        load(replace(ports, files=Sealed(ports.files, "/ws/patches/a/one.patch")), MAIN)
    (problem,) = caught.value.problems
    assert (problem.key, problem.hint) == ("patches.0", None) and "patch patches/a/one.patch:" in problem.message


def test_an_element_that_is_not_there_and_like_none_has_a_hint() -> None:
    with pytest.raises(InvalidFile) as caught:
        load(ports_of(TWO), Selection("main", without=("env:ZZZZZZ",)))
    assert caught.value.problems[0].hint == "`stackctl config main` shows what it has"

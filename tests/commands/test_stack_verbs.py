"""check, config, lock and render with a composition in memory: what they say, write and refuse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest

from stackctl.commands.check import CheckRequest, CheckResult, Parts, check
from stackctl.commands.config import config
from stackctl.commands.gather import load
from stackctl.commands.linting.stack import Heard
from stackctl.commands.lock import lock
from stackctl.commands.release import path_files, release_of
from stackctl.commands.render import RenderRequest, RenderResult, render
from stackctl.commands.selection import Selection
from stackctl.core.deploy.values import Release
from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.values import Header, Need, PatchedTree
from stackctl.core.stack.resolved import PythonSpec, ResolvedStack
from stackctl.core.stack.unsupported import refusals
from stackctl.errors import InvalidFile, StackctlError, UsageError
from stackctl.ports import Git, Ports
from tests.workspaces import MAIN, SMALL, Composer, ports_of

FILES = {
    "stacks/main.yaml": SMALL + "patches: [t/a, t/b]\nimage: {from: 'x:y'}\nsecrets: [ROUTER_API_KEY]\n",
    "patches/t/a.patch": "a",
    "patches/t/b.patch": "b",
    "more/c.patch": "c",
}
COMPOSER = Composer((Need(PatchName("t/b"), PatchName("t/a"), "content"),))


def no_lint(ports: Ports, stack: ResolvedStack, tree: PatchedTree) -> Heard:
    return Heard()


PARTS = Parts(COMPOSER.compose_queue, COMPOSER.after, no_lint)
WITHOUT_A = Selection("main", ("patch:t/a",))


class Contents:
    """`ports.Git` of one tree: its files by path."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def read(self, tree: TreeId, paths: Sequence[str]) -> dict[str, bytes]:
        return {path: self._files[path] for path in paths if path in self._files}


def checked(ports: Ports, selection: Selection = MAIN, *, locked: bool = False) -> CheckResult:
    return check(ports, CheckRequest(selection, locked), PARTS)


def rendered(ports: Ports, selection: Selection = MAIN) -> RenderResult:
    def make(ports: Ports, selection: Selection) -> Release:
        return release_of(ports, *COMPOSER.compose(ports, load(ports, selection)))

    return render(ports, RenderRequest(selection, "out"), make)


def test_check_says_what_needs_what_and_what_is_not_done_yet() -> None:
    result = checked(ports_of(FILES))
    assert [(line.name, line.needs, line.carries) for line in result.patches] == [
        ("t/a", (), ("t/b",)),
        ("t/b", ("t/a",), ()),
    ]
    assert result.unsupported == {"image": "build"}
    assert [(one.rule, one.severity) for one in result.findings] == [("IMAGE-UNPINNED", "warning")]


@pytest.mark.parametrize(
    ("pinned", "base", "warned"),
    [
        ("2.13.0", "torch==2.11.0", ["the lock has torch 2.13.0, the base asks for torch==2.11.0"]),
        ("2.11.0", "torch==2.11.0", []),
        ("2.13.0", "numpy==2", []),
    ],
)
def test_check_warns_of_a_torch_that_the_base_does_not_ask_for(pinned: str, base: str, warned: list[str]) -> None:
    files = {
        "stacks/main.yaml": SMALL + "python: {requirements: lock.txt}\n",
        "stacks/lock.txt": f"torch=={pinned} --hash=sha256:{'a' * 64}\n",
    }
    project = {"python/pyproject.toml": f'[project]\ndependencies = ["{base}"]\n'.encode()}
    result = checked(replace(ports_of(files), git=cast(Git, Contents(project))))
    assert [str(one) for one in result.findings] == [
        f"stacks/lock.txt: python.requirements: TORCH-DIFFERS: {one}" for one in warned
    ]


def test_check_of_a_variant_says_what_fell() -> None:
    result = checked(ports_of(FILES), WITHOUT_A)
    assert "and patch:t/b" in result.variant
    assert result.release != checked(ports_of(FILES)).release


def test_check_writes_nothing() -> None:
    ports = ports_of(FILES)
    before = dict(ports.files.data)  # type: ignore[attr-defined]
    checked(ports)
    assert ports.files.data == before  # type: ignore[attr-defined]


def test_a_locked_stack_passes_until_it_changes() -> None:
    ports = ports_of(FILES)
    assert lock(ports, MAIN, COMPOSER.compose, COMPOSER.after).changed
    assert checked(ports, locked=True).locked
    ports.files.write("/ws/stacks/main.yaml", FILES["stacks/main.yaml"].replace("[t/a, t/b]", "[t/a]").encode())
    with pytest.raises(StackctlError) as caught:
        checked(ports, locked=True)
    assert "patches.1: locked t/b, now nothing" in str(caught.value)
    assert caught.value.exit_code == 1


def test_locking_twice_changes_nothing() -> None:
    ports = ports_of(FILES)
    lock(ports, MAIN, COMPOSER.compose, COMPOSER.after)
    first = ports.files.read("/ws/stacks/main.lock")
    assert not lock(ports, MAIN, COMPOSER.compose, COMPOSER.after).changed
    assert ports.files.read("/ws/stacks/main.lock") == first


@pytest.mark.parametrize(
    ("content", "said"), [(None, "is not locked"), ("{", "not a lock file"), ("[]", "not a lock file")]
)
def test_a_lock_that_is_missing_or_broken_is_told(content: str | None, said: str) -> None:
    files = FILES if content is None else {**FILES, "stacks/main.lock": content}
    with pytest.raises(StackctlError, match=said):
        checked(ports_of(files), locked=True)


def test_a_variant_has_no_lock() -> None:
    with pytest.raises(UsageError):
        checked(ports_of(FILES), WITHOUT_A, locked=True)
    with pytest.raises(UsageError):
        lock(ports_of(FILES), Selection("main", (), ("more/c.patch",)), COMPOSER.compose, COMPOSER.after)


def test_config_reads_back_and_holds_no_value_of_a_secret() -> None:
    result = config(ports_of(FILES, ROUTER_API_KEY="hush"), MAIN, COMPOSER.compose)
    again = config(ports_of({**FILES, "stacks/main.yaml": result.text}), MAIN, COMPOSER.compose)
    assert again.text == result.text
    assert "hush" not in result.text
    assert "ROUTER_API_KEY" in result.text


def test_config_of_a_variant_lacks_what_fell() -> None:
    result = config(ports_of(FILES), WITHOUT_A, COMPOSER.compose)
    assert "t/b" not in result.text
    assert "patches" not in result.content


def test_render_writes_one_script_an_instance_and_again_the_same() -> None:
    ports = ports_of(FILES)
    result = rendered(ports)
    assert result.written == ("serve-prefill-0.sh", "serve-decode-0.sh", "serve-router-0.sh")
    first = {name: ports.files.read(f"/ws/out/{name}") for name in result.written}
    assert rendered(ports) == result
    assert first == {name: ports.files.read(f"/ws/out/{name}") for name in result.written}
    assert result.release.encode() in first["serve-decode-0.sh"]


def test_render_into_no_folder_is_refused() -> None:
    with pytest.raises(UsageError, match="--out is empty"):
        render(ports_of(FILES), RenderRequest(MAIN, ""))


def test_render_leaves_a_foreign_file_alone_and_writes_nothing() -> None:
    ports = ports_of({**FILES, "out/serve-decode-0.sh": "#!/bin/sh\nmine\n"})
    with pytest.raises(StackctlError, match=r"did not write: serve-decode-0\.sh"):
        rendered(ports)
    assert ports.files.list("/ws/out") == ("serve-decode-0.sh",)


def test_render_takes_away_its_own_script_of_an_instance_that_is_gone() -> None:
    ports = ports_of(
        {**FILES, "out/serve-single-0.sh": "#!/bin/sh\n# Rendered by stackctl 0\n", "out/serve-x.sh": "mine"}
    )
    assert rendered(ports).removed == ("serve-single-0.sh",)
    assert ports.files.exists("/ws/out/serve-x.sh")


def test_a_verb_that_needs_an_unsupported_key_is_refused_by_name() -> None:
    stack = load(ports_of(FILES), MAIN)
    assert refusals(stack, "deploy") == ()
    assert str(next(iter(refusals(stack, "build")))) == "stacks/main.yaml: image: `build` cannot do this yet"


def test_a_module_on_the_path_must_be_text() -> None:
    ports = ports_of({"x/a.py": "ok", "x/b.py": ""})
    ports.files.write("/ws/x/b.py", b"\xff")
    stack = replace(load(ports_of(FILES), MAIN), python=PythonSpec(paths=("/ws/x",)))
    with pytest.raises(StackctlError, match=r"/ws/x/b\.py: not UTF-8 text"):
        path_files(ports, stack)


def test_check_tells_what_a_header_lacks_and_strict_refuses_it() -> None:
    bare = Composer()
    header = Header("Title", "A <a@b>", "2026-03-02T09:00:00+00:00", "", (("Conflicts", "t/c"),), (7,), (), 8)

    def compose(ports: Ports, stack: ResolvedStack) -> tuple[ResolvedStack, PatchedTree, tuple[Need, ...]]:
        taken, tree = bare.compose(ports, stack)
        return taken, replace(tree, patches=tuple(replace(patch, header=header) for patch in tree.patches[:1])), ()

    files = {**FILES, "stacks/main.yaml": SMALL + "patches: [t/a]\n"}
    parts = Parts(compose, bare.after, no_lint)
    result = check(ports_of(files), CheckRequest(MAIN), parts)
    assert [str(one) for one in result.findings] == [
        "t/a.patch:7: patches.0: HEADER-NAME: `Conflicts: t/c`: patches/ has no such patch",
        *(
            f"t/a.patch:8: patches.0: HEADER-MISSING: no `{key}:` among the trailers above `---`"
            for key in ("Area", "Why", "Upstream", "Remove-when")
        ),
    ]
    assert result.exit == 0
    strict = check(ports_of(files), CheckRequest(MAIN, strict=True), parts)
    assert (strict.findings, strict.exit) == (result.findings, 2)
    whole = Parts(bare.compose_queue, bare.after, no_lint)
    sound = check(ports_of(files), CheckRequest(MAIN, strict=True), whole)
    assert (sound.findings, sound.exit) == ((), 0)
    reason = "patches: [t/a]  # stackctl: ignore HEADER-MISSING, HEADER-NAME because it is an example"
    ignored = check(ports_of({**files, "stacks/main.yaml": SMALL + reason}), CheckRequest(MAIN, strict=True), parts)
    assert (ignored.findings, ignored.exit, len(ignored.ignored)) == ((), 0, 5)


def test_check_warns_of_a_source_that_no_patch_is_for() -> None:
    files = {"stacks/main.yaml": SMALL + "sources: {flash: {path: flash}}\n"}
    (found,) = checked(ports_of(files)).findings
    assert re.fullmatch(
        r"stacks/main\.yaml:\d+:11: sources\.flash: SOURCE-UNUSED: no patch is for flash", str(found)
    ), str(found)


@pytest.mark.parametrize(
    ("more", "left"),
    [
        ("image: {from: 'x:y'}", "warning IMAGE-UNPINNED"),
        ("image: {from: 'x:y'}  # stackctl: ignore IMAGE-UNPINNED because it is built here", ""),
        ("# stackctl: ignore IMAGE-UNPINNED because it is built here\nimage:\n  from: 'x:y'", "unused"),
        ("image:\n  # stackctl: ignore IMAGE-UNPINNED because it is built here\n  from: 'x:y'", ""),
        ("image: {from: 'x:y'}\nlint: {severity: {IMAGE-UNPINNED: off}}", ""),
        ("image: {from: 'x:y'}\nlint: {severity: {IMAGE-UNPINNED: error}}", "error IMAGE-UNPINNED"),
    ],
)
def test_what_stands_around_the_flags_obeys_comments_and_severities(more: str, left: str) -> None:
    result = check(ports_of({"stacks/main.yaml": f"{SMALL}{more}\n"}), CheckRequest(MAIN, strict=True), PARTS)
    told = [f"{one.severity} {one.rule}" for one in result.findings]
    assert told == (["warning IGNORE-UNUSED", "warning IMAGE-UNPINNED"] if left == "unused" else [left][: bool(left)])
    assert result.exit == (2 if left else 0)


def test_the_base_is_no_other_source() -> None:
    with pytest.raises(InvalidFile, match=r"sources\.sglang: `sglang` is the source that `base` pins"):
        load(ports_of({"stacks/main.yaml": SMALL + "sources: {sglang: {path: flash}}\n"}), MAIN)

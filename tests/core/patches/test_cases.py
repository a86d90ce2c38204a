"""Every run of tests/cases/patches against the parser, the walk and the real git: trees, faults, places, needs."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stackctl.adapters.files import LocalFiles
from stackctl.adapters.git import GitStore
from stackctl.core.importing import mailbox
from stackctl.core.importing.decide import same_names
from stackctl.core.importing.roots import renamer, rewritten, taken_off
from stackctl.core.names import PatchName
from stackctl.core.patches.canonical import slug
from stackctl.core.patches.depend import closure
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.gitlog import misplaced
from stackctl.core.patches.parse import ParsedPatch, parse
from stackctl.core.patches.series import duplicate_names, names_at_all_levels, renumbered
from stackctl.core.patches.state import Base
from stackctl.core.patches.walk import Walk, walk_series, walk_subset
from stackctl.ports import TreeFile

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests" / "cases" / "patches"
GIVEN = ROOT.parent / "shared" / "cases" / "patches"  # where these came from, on machines that have it
CORRECTED = {("25-needs-fuzz", 1): {"file_line": 9}}


def runs() -> list[Any]:
    found = []
    for file in sorted(CASES.glob("*/expect.json")):
        for run in json.loads(file.read_bytes())["runs"]:
            key = (file.parent.name, run["run"])
            found.append(pytest.param(file.parent, run, id=f"{key[0]}-{key[1]}"))
    return found


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> GitStore:
    class Files(LocalFiles):
        def home(self) -> str:
            return str(tmp_path_factory.getbasetemp() / "home")

    return GitStore(Files())


def tree_files(case: Path) -> list[TreeFile]:
    found = []
    for path, facts in json.loads((case / "expect.json").read_bytes())["base"].items():
        link = facts["mode"] == "120000"
        data = facts["target"].encode() if link else (case / "base" / path).read_bytes()
        if not link:
            assert hashlib.sha256(data).hexdigest() == facts["sha256"], f"{path}: a checkout has changed the case"
        found.append(TreeFile(path, data, facts["mode"]))
    return found


def read_series(case: Path, run: dict[str, Any], files: list[TreeFile]) -> tuple[Base, Walk] | Fault:
    names = [PatchName(name) for name in run["series"]]
    twice = duplicate_names(names, list(names))
    if twice:
        return twice[0]
    twice = same_names([PatchName(slug(Path(name).stem)) for name in names], names)  # as an import would call them
    if twice:
        return twice[0]
    parsed: list[tuple[PatchName, ParsedPatch]] = []
    for name in names:
        messages = mailbox.split((case / name).read_bytes(), name)
        assert not isinstance(messages, Fault)
        for number, message in enumerate(messages, 1):
            result = read(message.data, name, run.get("options", {}))
            if isinstance(result, Fault):
                return result
            parsed.append((PatchName(f"{name}:{number}") if len(messages) > 1 else name, result))
    contents = {file.path: file.data for file in files}
    touched = set().union(*(names_at_all_levels(patch) for _, patch in parsed)) & contents.keys()
    base = Base({file.path: file.mode for file in files}, {path: contents[path] for path in touched})
    return base, walk_series(base, parsed)


def read(data: bytes, name: str, options: dict[str, Any]) -> ParsedPatch | Fault:
    """One patch; with a map of installation folders it is written anew in names of the tree, as an import does."""
    roots = options.get("roots", {})
    result = parse(data, name, options.get("allow", ()), renamer(roots))
    if isinstance(result, Fault) or not roots:
        return result
    return parse(rewritten(result, 1), name, options.get("allow", ()))


def chosen(run: dict[str, Any], walk: Walk) -> list[PatchName]:
    selected = [PatchName(name) for name in run["select"]] if "select" in run else [each.name for each in walk.patches]
    if run.get("options", {}).get("closure", True):
        selected = [patch.name for patch in walk.patches if patch.name in closure(walk.needs, selected)]
    return selected


@pytest.mark.parametrize(("case", "run"), runs())
def test_case(case: Path, run: dict[str, Any], store: GitStore) -> None:
    files = tree_files(case)
    tree = store.write_tree(files)
    assert tree == json.loads((case / "expect.json").read_bytes())["base_tree_id"]
    read = read_series(case, run, files)
    if isinstance(read, Fault):
        assert run["result"] == "refused", read
        check_fault(case, run, read)
        return
    base, whole = read
    check_needs(run, whole)
    names = chosen(run, whole)
    assert names == run.get("closure", names)
    patches = [patch for patch in whole.patches if patch.name in names]
    walk = whole if len(patches) == len(whole.patches) else walk_subset(base, patches, whole.windows, whole.needs)
    if run["result"] == "refused":
        assert walk.faults, "applied, but should be refused"
        check_fault(case, run, next(iter(walk.faults.values())))
        return
    assert not walk.faults
    check_applied(case, run, walk, store, tree)


def check_applied(case: Path, run: dict[str, Any], walk: Walk, store: GitStore, tree: str) -> None:
    work = []
    for patch in walk.patches:
        astray = {x.line: x.at for x in walk.landings if x.patch == patch.name and x.at != x.git_at}
        work.append((renumbered(patch, astray) if astray else patch.data, patch.strip))
    applied = store.apply(tree, work)
    assert applied.tree == run["tree_id"], applied.output
    assert misplaced(applied.output, walk.patches, walk.landings) is None
    placed = [
        {"patch": x.patch, "file": x.file, "hunk": x.hunk, "at": x.at, "offset": x.offset}
        for x in walk.landings
        if x.offset
    ]
    assert placed == run.get("placed", [])
    for name, level in run.get("strip", {}).items():
        roots = run.get("options", {}).get("roots")
        found = next(patch.strip for patch in walk.patches if patch.name == name)
        assert (taken_off(names_in(case / name)[0], roots) if roots else found) == level
    check_texts(walk, store, run["tree_id"])
    for patch, facts in zip(walk.patches, run.get("patches", ()), strict=False):
        assert [section.path for section in patch.files] == facts["files"]
        assert (patch.header.subject, patch.header.author, patch.header.date) == (
            facts["subject"],
            facts["author"],
            facts["date"],
        )
        assert dict(patch.header.trailers) == facts.get("trailers", {})
    if "warnings" in run:
        assert sorted(walk.patches[0].warnings) == sorted(run["warnings"])


def names_in(file: Path) -> list[str]:
    return [line.split()[1] for line in file.read_text().splitlines() if line.startswith("--- ")]


def check_texts(walk: Walk, store: GitStore, tree: str) -> None:
    """Both engines agree: what the walk holds is what git wrote."""
    listed = {entry.path: entry.mode for entry in store.list(tree)}  # type: ignore[arg-type]
    read = store.read(tree, list(walk.state.texts))  # type: ignore[arg-type]
    for path, text in walk.state.texts.items():
        assert (text is None) == (path not in listed)
        if text is not None:
            assert (text.data(), text.mode) == (read[path], listed[path])


def check_needs(run: dict[str, Any], walk: Walk) -> None:
    if "edges" in run:
        found = [{"patch": n.patch, "needs": n.needs, "file": n.file, "reason": n.reason} for n in walk.needs]
        assert found == run["edges"]


def check_fault(case: Path, run: dict[str, Any], fault: Fault) -> None:
    error = run["error"] | CORRECTED.get((case.name, run["run"]), {})
    assert (fault.kind, fault.patch) == (error["kind"], error["patch"]), fault
    if "line" in error:
        assert fault.line == error["line"], fault
        text = (case / error["patch"]).read_bytes().split(b"\n")[error["line"] - 1]
        assert text.decode("utf-8", "replace").rstrip("\r") == error["line_text"]
    for key in (
        "declared",
        "counted",
        "candidates",
        "stale_line",
        "stale_text",
        "file_has",
        "file_line",
        "needs",
        "file",
    ):
        if key in error:
            assert fault.facts[key] == error[key], (key, fault)
    if "entries" in error:
        assert fault.facts["entries"] == error["entries"]
    assert fault.message
    assert fault.hint


def test_what_is_corrected_is_shown_by_the_case_itself() -> None:
    case = CASES / "25-needs-fuzz"
    error = json.loads((case / "expect.json").read_bytes())["runs"][0]["error"]
    lines = (case / "base" / "src" / "queue.py").read_text().split("\n")
    assert lines[CORRECTED["25-needs-fuzz", 1]["file_line"] - 1] == error["file_has"]
    assert lines[error["file_line"] - 1] != error["file_has"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.skipif(not GIVEN.is_dir(), reason="this machine has no other copy of the cases")
def test_the_cases_are_those_that_were_given_byte_for_byte() -> None:
    assert contents(CASES) == contents(GIVEN)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git work tree: an archive was unpacked as it is")
def test_no_checkout_changes_a_byte_of_a_case() -> None:
    files = [f"tests/cases/patches/{name}" for name in contents(CASES) if name != "README.md"]
    argv = ["git", "-C", str(ROOT), "check-attr", "-z", "--stdin", "text"]
    done = subprocess.run(argv, input="\0".join(files).encode(), capture_output=True, check=True)
    said = done.stdout.decode().split("\0")
    assert dict(zip(said[::3], said[2::3], strict=False)) == dict.fromkeys(files, "unset")

"""The strict parser and the walk against git: whatever they take, git makes the very same tree of it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from stackctl.adapters.git import GitStore
from stackctl.core.names import PatchName, TreeId
from stackctl.core.patches.agree import Listing, disagreement
from stackctl.core.patches.faults import Fault
from stackctl.core.patches.gitlog import misplaced
from stackctl.core.patches.parse import parse
from stackctl.core.patches.series import names_at_all_levels, renumbered
from stackctl.core.patches.state import Base
from stackctl.core.patches.walk import Walk, walk_series
from stackctl.ports import TreeFile
from tests.core.patches.mutations import FILES, mutated, patch
from tests.fakes import LocalFilesAt

NAME = PatchName("p")
MODES = {path: mode for path, (mode, _) in FILES.items()}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> GitStore:
    folder = tmp_path_factory.mktemp("home")
    return GitStore(LocalFilesAt(folder, folder))


@pytest.fixture(scope="module")
def tree(store: GitStore) -> TreeId:
    return store.write_tree([TreeFile(path, data, mode) for path, (mode, data) in FILES.items()])


@pytest.fixture(scope="module")
def before(store: GitStore, tree: TreeId) -> Listing:
    return listed(store, tree)


def listed(store: GitStore, tree: TreeId) -> Listing:
    return {entry.path: (entry.mode, entry.blob) for entry in store.list(tree)}


def walked(data: bytes) -> Walk | Fault:
    """What the parser and the walk say of a patch over FILES, without git. Whatever they refuse, they explain."""
    parsed = parse(data, "p.patch")
    if isinstance(parsed, Fault):
        return parsed
    touched = names_at_all_levels(parsed) & FILES.keys()
    walk = walk_series(Base(MODES, {path: FILES[path][1] for path in touched}), [(NAME, parsed)])
    return walk.faults.get(NAME, walk)


def explained(data: bytes, fault: Fault) -> None:
    assert fault.message
    assert fault.hint
    assert fault.line is None or 1 <= fault.line <= data.count(b"\n") + 1


@settings(max_examples=400, deadline=None)
@given(st.randoms(use_true_random=False))
def test_what_is_refused_is_explained_and_nothing_crashes(random: Random) -> None:
    data = mutated(random, patch(random))
    found = walked(data)
    if isinstance(found, Fault):
        explained(data, found)


@settings(max_examples=300)
@given(st.binary(max_size=400))
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    found = walked(data)
    assert isinstance(found, Fault)
    explained(data, found)


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_git_makes_the_same_tree_of_what_is_taken(
    store: GitStore, tree: TreeId, before: Listing, random: Random
) -> None:
    data = mutated(random, patch(random))
    walk = walked(data)
    if isinstance(walk, Fault):
        event(walk.kind)
        return
    event("taken")
    (taken,) = walk.patches
    astray = {landing.line: landing.at for landing in walk.landings if landing.git_at != landing.at}
    applied = store.apply(tree, [(renumbered(taken, astray) if astray else taken.data, taken.strip)])
    assert applied.tree is not None, (data, applied.output)
    assert misplaced(applied.output, walk.patches, walk.landings) is None, data
    assert disagreement(before, listed(store, applied.tree), walk.state) is None, data

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.core.names import PatchName
from stackctl.core.patches.values import Need
from stackctl.core.stack import elements
from stackctl.core.stack.resolved import Element, ResolvedStack, Variant
from stackctl.core.stack.variant import fallen, leave_out
from stackctl.errors import StackctlError
from tests.workspaces import SMALL, ports_of

PATCHES = {f"patches/t/{name}.patch": name for name in "abc"}
FILES = {"stacks/main.yaml": SMALL + "patches: [t/a, t/b, t/c]\n", **PATCHES}


def stack(*without: str, added: tuple[str, ...] = ()) -> ResolvedStack:
    return load(ports_of({**FILES, "new.patch": "n", "other/new.patch": "o"}), Selection("main", without, added))


def need(patch: str, needs: str) -> Need:
    return Need(PatchName(patch), PatchName(needs), "declared")


def test_every_element_of_a_stack_once() -> None:
    names = [str(element) for element in elements.all_of(stack())]
    assert names == ["patch:t/a", "patch:t/b", "patch:t/c", "flag:enable-hierarchical-cache", "flag:tp-size", "env:A"]


def test_a_patch_takes_along_what_needs_it_over_several_steps() -> None:
    taken = leave_out(stack("patch:t/a"), [need("t/b", "t/a"), need("t/c", "t/b")])
    assert taken.patches == ()
    assert [str(element) for element in taken.variant.dropped] == ["patch:t/b", "patch:t/c"]
    assert str(taken.variant).startswith("without patch:t/a (and patch:t/b, patch:t/c")


def test_a_flag_leaves_every_role_or_one() -> None:
    everywhere = leave_out(stack("flag:tp-size"), [])
    assert all("tp-size" not in engine.flags for engine in everywhere.engines)
    decode = leave_out(stack("flag:decode/tp-size"), [])
    assert [("tp-size" in engine.flags) for engine in decode.engines] == [True, False]


def test_a_variable_leaves_but_the_machine_keeps_its_own() -> None:
    taken = leave_out(stack("env:A"), [])
    assert all(not engine.env for engine in taken.engines)
    assert taken.hosts["a"].env == {"MACHINE": "1"}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("patch:t/x", "has no element `patch:t/x`"),
        ("flag:tp-sise", "has no element `flag:tp-sise`"),
        ("flag:router/tp-size", "has no element"),
        ("env:MACHINE", "belongs to host a"),
        ("tp-size", "is no element"),
        ("patch:", "is no element"),
        ("thing:x", "is no element"),
    ],
)
def test_what_is_no_element_is_refused_with_a_hint(word: str, said: str) -> None:
    with pytest.raises(StackctlError) as caught:
        stack(word)
    assert said in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_name_without_its_kind_is_understood_in_the_hint() -> None:
    with pytest.raises(StackctlError) as caught:
        stack("tp-size")
    assert caught.value.problems[0].hint == "did you mean `flag:tp-size`?"  # type: ignore[attr-defined]


def test_all_wrong_elements_are_told_at_once() -> None:
    with pytest.raises(StackctlError) as caught:
        stack("patch:x", "flag:y", "env:A")
    assert len(caught.value.problems) == 2  # type: ignore[attr-defined]


def test_an_added_patch_comes_last_under_its_file_s_name() -> None:
    made = stack(added=("new.patch",))
    assert made.patches[-1] == "with/new"
    assert made.patch_files[PatchName("with/new")] == "/ws/new.patch"
    assert str(leave_out(made, []).variant) == "with patch:with/new"


def test_two_added_patches_of_one_name_are_refused() -> None:
    with pytest.raises(StackctlError, match="two patches are called with/new"):
        stack(added=("new.patch", "other/new.patch"))


def test_an_added_patch_that_needs_what_is_left_out_is_refused() -> None:
    with pytest.raises(StackctlError, match="with/new needs t/a, which is left out"):
        leave_out(stack("patch:t/a", added=("new.patch",)), [need("with/new", "t/a")])


names = st.sampled_from([PatchName(name) for name in "abcdef"])
# a patch can need only an earlier one
all_needs = st.sets(st.tuples(names, names).filter(lambda pair: pair[0] > pair[1]))


@given(all_needs, st.sets(names))
def test_what_stays_needs_nothing_that_fell(pairs: set[tuple[str, str]], out: set[PatchName]) -> None:
    needs = [need(*pair) for pair in pairs]
    gone = fallen(out, needs)
    assert out <= gone
    assert all(one.needs not in gone for one in needs if one.patch not in gone)
    assert fallen(gone, needs) == gone


@given(all_needs, st.sets(names))
def test_leaving_out_twice_is_leaving_out_once(pairs: set[tuple[str, str]], out: set[PatchName]) -> None:
    needs = [need(*pair) for pair in pairs]
    patches = tuple(PatchName(name) for name in "abcdef")
    variant = Variant(without=tuple(Element("patch", name) for name in sorted(out)))
    once = leave_out(replace(BASE, patches=patches, variant=variant), needs)
    assert leave_out(once, needs).patches == once.patches


BASE = stack()

"""Which tree a new one is made from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stackctl.core.deploy.delta import MOST_APART, Delta, nearest
from stackctl.core.names import TreeId
from stackctl.ports import TreeEntry

ONE, TWO = TreeId("1" * 40), TreeId("2" * 40)


def entries(files: dict[str, str], mode: str = "100644") -> list[TreeEntry]:
    return [TreeEntry(path, mode, blob, 1) for path, blob in files.items()]


def test_the_one_with_the_fewest_differences() -> None:
    wanted = entries({"a": "1", "b": "2", "c": "3", "d": "4"})
    far = entries({"a": "1", "b": "2", "c": "9", "x": "5"})
    near = entries({"a": "1", "b": "2", "c": "9", "d": "4"})
    assert nearest(wanted, {ONE: far, TWO: near}) == Delta(TWO, ("c",), ("c",))
    assert nearest(wanted, {ONE: far}) == Delta(ONE, ("c", "d"), ("c", "x"))
    assert nearest(wanted, {}) is None


def test_none_that_shares_too_little() -> None:
    wanted = entries({"a": "1", "b": "2", "c": "3"})
    assert nearest(wanted, {ONE: entries({"a": "1"})}) is None
    assert nearest(wanted, {ONE: entries({"a": "1", "b": "2", "c": "3"}, "100755")}) is None
    more = entries({"a": "1", "b": "2", "c": "3", **{f"x{n}": "0" for n in range(MOST_APART + 1)}})
    assert nearest(wanted, {ONE: more}) is None


names = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("123"), min_size=1)


@given(names, names)
def test_what_is_shared_and_what_is_sent_make_the_tree(wanted: dict[str, str], there: dict[str, str]) -> None:
    delta = nearest(entries(wanted), {ONE: entries(there)})
    if delta is not None:
        shared = {path: blob for path, blob in there.items() if path not in delta.apart}
        assert shared | {path: wanted[path] for path in delta.sends} == wanted
        assert not set(shared) & set(delta.sends)

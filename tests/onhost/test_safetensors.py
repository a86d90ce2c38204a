"""Heads of safetensors files: whole ones are read, anything else is refused in words, whatever bytes it has."""

from __future__ import annotations

import io
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.onhost import safetensors
from stackctl.onhost.safetensors import Bad, Tensor
from tests.models import shard

TENSORS = {"a": ("F8_E4M3", [2, 3]), "b": ("BF16", [5]), "c": ("F32", [])}


def read(data: bytes, size: int | None = None) -> dict[str, Tensor]:
    size = len(data) if size is None else size
    head = safetensors.header(io.BytesIO(data), size)
    found = safetensors.tensors(head)
    safetensors.whole(found, size - len(head))
    return found


def made(text: str | bytes, data: int = 0) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw + bytes(data)


def entry(**changed: object) -> str:
    return json.dumps({"t": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4], **changed}})


def test_a_whole_file_says_where_each_tensor_lies() -> None:
    assert read(shard(TENSORS)) == {
        "a": Tensor("F8_E4M3", 0, 6),
        "b": Tensor("BF16", 6, 16),
        "c": Tensor("F32", 16, 20),
    }


def test_a_file_without_tensors_is_whole() -> None:
    assert read(made("{}")) == {}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "too short"),
        (b"\0" * 7, "too short"),
        (struct.pack("<Q", 1 << 63), "more than 100000000 is refused"),
        (struct.pack("<Q", 100_000_001) + b"{}", "is refused"),
        (struct.pack("<Q", 3) + b"{}", "cut off in its header"),
        (made(""), "does not begin with {"),
        (made("[]"), "does not begin with {"),
        (made(" {}"), "does not begin with {"),
        (made("{"), "no JSON"),
        (made(b'{"\xff": 1}'), "no JSON"),
        (made('{"a":' * 100_000), "nested too deeply"),
        (made('{"t": 1}'), "does not describe the tensor t"),
        (made('{"t": {"dtype": "U8"}}'), "does not describe"),
        (made(entry(shape="4"), 4), "does not describe"),
        (made(entry(shape=[1] * 65), 4), "does not describe"),
        (made(entry(shape=[-4]), 4), "does not describe"),
        (made(entry(shape=[True]), 4), "does not describe"),
        (made(entry(dtype=None), 4), "does not describe"),
        (made(entry(data_offsets=[0, 1 << 70]), 4), "does not describe"),
        (made(entry(data_offsets=[0, 4, 8]), 4), "does not describe"),
        (made(entry(data_offsets=[4, 0]), 4), "are no U8 of shape [4]"),
        (made(entry(shape=[5]), 4), "4 bytes are no U8 of shape [5]"),
        (made(entry(data_offsets=[1, 5]), 5), "no tensor has its bytes at 0"),
        (made(entry(), 3), "is cut off: its tensors have 4 bytes, it holds 3"),
        (made(entry(), 5), "has 1 bytes that no tensor has"),
        (made(f'{{"t": {entry()[6:-1]}, "t": {entry()[6:-1]}}}', 4), "names a tensor twice"),
        (made(f'{{"t": {entry()[6:-1]}, "u": {entry()[6:-1]}}}', 4), "two tensors share its bytes at 0"),
    ],
)
def test_what_is_no_whole_file_is_refused_in_words(data: bytes, words: str) -> None:
    with pytest.raises(Bad) as caught:
        read(data)
    assert words in str(caught.value)


def test_a_type_that_nobody_knows_is_taken_as_it_says() -> None:
    assert read(made(entry(dtype="F2_NEW"), 4)) == {"t": Tensor("F2_NEW", 0, 4)}


def test_no_more_than_the_head_is_read() -> None:
    data = shard(TENSORS)
    file = io.BytesIO(data + bytes(1000))
    head = safetensors.header(file, len(data) + 1000)
    assert file.tell() == len(head)


@given(st.binary(max_size=200))
def test_any_bytes_are_whole_or_refused(data: bytes) -> None:
    try:
        found = read(data)
    except Bad as error:
        assert str(error)
    else:
        assert found == {}  # hypothesis does not guess a whole tensor


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)
PARTS = {
    "dtype": st.sampled_from(["U8", "BF16", "F4", "?"]) | JSON,
    "shape": st.lists(st.integers(-1, 9), max_size=3) | JSON,
    "data_offsets": st.lists(st.integers(-1, 99), max_size=3) | JSON,
}
ABOUT = st.fixed_dictionaries({}, optional=PARTS)


@given(st.dictionaries(st.text(max_size=8), ABOUT | JSON, max_size=4), st.integers(0, 100))
def test_any_header_is_whole_or_refused(said: dict[str, object], data: int) -> None:
    try:
        found = read(made(json.dumps(said), data))
    except Bad:
        return
    assert sum(one.end - one.begin for one in found.values()) == data


@given(st.dictionaries(st.text(min_size=1, max_size=8).filter(lambda name: name != "__metadata__"),
                       st.tuples(st.sampled_from(["U8", "BF16", "F32"]), st.lists(st.integers(0, 5), max_size=3)),
                       max_size=6))  # fmt: skip
def test_what_was_written_is_read_and_a_byte_less_is_not(tensors: dict[str, tuple[str, list[int]]]) -> None:
    data = shard(tensors)
    assert {name: one.dtype for name, one in read(data).items()} == {
        name: dtype for name, (dtype, _) in tensors.items()
    }
    with pytest.raises(Bad):
        read(data[:-1])

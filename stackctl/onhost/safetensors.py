"""Reads the head of a safetensors file: 8 bytes of length, then JSON that says where each tensor lies.

A file may be cut off, replaced or hostile, so every number is checked before it is used, and the weights themselves
are never read. What is refused here the format's own library refuses too.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any, BinaryIO, NamedTuple

LIMIT = 100_000_000  # bytes of a header, as in the format's own library
DIMENSIONS = 64  # of a tensor
BITS = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
}
# as sglang finds a routed expert's weight
EXPERT = re.compile(r"\.experts\.\d+\.(?:w[123]|down_proj|up_proj|gate_proj)\.weight$")
SCALE = re.compile(r"\.experts\.\d+\.(?:w[123]|down_proj|up_proj|gate_proj)\.(?:weight_)?scale(?:_inv)?$")
EXPERTS = re.compile(r"\.experts\.")
DRAFT = re.compile(r"^(?:model\.)?mtp\.")


class Tensor(NamedTuple):
    """`begin`, `end`: bytes, from the end of the header."""

    dtype: str
    begin: int
    end: int


class Bad(ValueError):
    """Why a file is no whole safetensors file."""


def header(file: BinaryIO, size: int) -> bytes:
    """The length and the JSON behind it, as they are in the file. Raises Bad."""
    if size < 8:
        raise Bad(f"{size} bytes: too short for a length")
    head = file.read(8)
    length = int.from_bytes(head, "little")
    if length > LIMIT:
        raise Bad(f"says that its header has {length} bytes; more than {LIMIT} is refused")
    if length > size - 8:
        raise Bad(f"is cut off in its header: that has {length} bytes, the file {size}")
    text = file.read(length)
    if len(text) != length:
        raise Bad(f"is cut off in its header: {len(text)} of {length} bytes could be read")
    return head + text


def tensors(head: bytes) -> dict[str, Tensor]:
    """What the header says, each tensor checked by itself. Raises Bad."""
    if head[8:9] != b"{":
        raise Bad("its header does not begin with {")
    try:
        said = json.loads(head[8:].decode("utf-8"), object_pairs_hook=_once)
    except RecursionError:
        raise Bad("its header is nested too deeply") from None
    except Bad:
        raise
    except ValueError as error:  # of UTF-8 too
        raise Bad(f"its header is no JSON: {error}") from None
    return {name: _tensor(name, about) for name, about in said.items() if name != "__metadata__"}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Bad("its header names a tensor twice")
    return found


def _tensor(name: str, about: Any) -> Tensor:
    shown = name[:100]
    try:
        dtype, shape, (begin, end) = about["dtype"], about["shape"], about["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise Bad(f"its header does not describe the tensor {shown}") from None
    numbers = [begin, end, *(shape if isinstance(shape, list) and len(shape) <= DIMENSIONS else [None])]
    if not isinstance(dtype, str) or any(type(one) is not int or not 0 <= one < 1 << 63 for one in numbers):
        raise Bad(f"its header does not describe the tensor {shown}")
    bits = BITS.get(dtype)
    if end < begin or (bits is not None and math.prod(shape) * bits != (end - begin) * 8):
        raise Bad(f"tensor {shown}: {end - begin} bytes are no {dtype} of shape {shape[:8]}")
    return Tensor(dtype, begin, end)


def whole(found: dict[str, Tensor], data: int) -> None:
    """Raises Bad unless the tensors fill these bytes, one after the other."""
    at = 0
    for begin, end in sorted((one.begin, one.end) for one in found.values()):
        if begin != at:
            raise Bad(f"{'two tensors share' if begin < at else 'no tensor has'} its bytes at {min(begin, at)}")
        at = end
    if at > data:
        raise Bad(f"is cut off: its tensors have {at} bytes, it holds {data}")
    if at < data:
        raise Bad(f"has {data - at} bytes that no tensor has")


def tally(found: dict[str, Tensor]) -> dict[str, Any]:
    """Bytes by kind, and how experts and their scales are stored: dtype -> number of tensors."""
    answer: dict[str, Any] = {
        "bytes": {"experts": 0, "draft": 0, "other": 0},
        "experts": {},
        "scales": {},
        "draft_experts": {},
    }
    for name, one in found.items():
        draft = DRAFT.match(name) is not None
        kind = "draft" if draft else "experts" if EXPERTS.search(name) else "other"
        answer["bytes"][kind] += one.end - one.begin
        if kind == "other":
            continue
        if EXPERT.search(name):
            _count(answer["draft_experts" if draft else "experts"], one.dtype)
        elif not draft and SCALE.search(name):
            _count(answer["scales"], one.dtype)
    return answer


def _count(table: dict[str, int], dtype: str) -> None:
    table[dtype] = table.get(dtype, 0) + 1


def digest(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()

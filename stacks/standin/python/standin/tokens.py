"""Text as tokens: four bytes of UTF-8 are one token, and each layer of the store holds one byte of it.

So a page that was read too early shows in the text as exactly the bytes of that page and layer. Nothing
here repairs text: a broken character comes out as U+FFFD, as from a real detokenizer.
"""

from __future__ import annotations

import codecs
import hashlib

LAYERS = 4
PAD = b"\0"
MARK = "｜DSML｜"  # one special token of DeepSeek-V4: never cut


def encode(text: str) -> bytes:
    """UTF-8, filled up to whole tokens."""
    data = text.encode()
    return data + PAD * (-len(data) % LAYERS)


def layer_of(data: bytes, layer: int) -> bytes:
    """What one layer holds of `data`: one byte of every token."""
    return data[layer::LAYERS]


def seed_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def step_size(seed: str, step: int) -> int:
    """Tokens that one decode step yields: 1 to 4, irregular and the same at every run."""
    return 1 + hashlib.sha256(f"{seed}:{step}".encode()).digest()[0] % 4


class Detokenizer:
    """Bytes in, text out; a special token is kept back until it is whole."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""

    def feed(self, data: bytes, final: bool = False) -> str:
        if final:
            data = data.rstrip(PAD)
        text = self._held + self._decoder.decode(data, final)
        cut = len(text) if final else len(text) - _begun(text)
        self._held = text[cut:]
        return text[:cut]


def _begun(text: str) -> int:
    """How many characters at the end of `text` may be the beginning of the special token."""
    if text.endswith(MARK):
        return 0  # its last character could begin another one
    for length in range(len(MARK) - 1, 0, -1):
        if text.endswith(MARK[:length]):
            return length
    return 0

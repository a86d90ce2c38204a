"""Nonces: short strings that no other request has, so that a foreign one in an answer proves a mix-up.

`N-`, nine characters of 31 that nobody confuses (2^44 values), two check characters. Derived from a seed and a
counter, so that a run is repeated from its record and an old run's nonces need not be stored one by one.
"""

from __future__ import annotations

import hashlib
import re

ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
LENGTH = 11  # without `N-`
_NOISE = re.compile(r"[\s\-_.]+")


WEIGHTS = ((1,) * 9, tuple(range(1, 10)))


def number(seed: str, counter: int, purpose: str = "") -> int:
    """A pseudo-random number of 256 bits: the only source of chance here."""
    return int.from_bytes(hashlib.sha256(f"{seed}\0{counter}\0{purpose}".encode()).digest(), "big")


def _letters(value: int, count: int) -> str:
    letters = []
    for _ in range(count):
        value, digit = divmod(value, len(ALPHABET))
        letters.append(ALPHABET[digit])
    return "".join(letters)


def _check(body: str) -> str:
    """A plain and a weighted sum modulo 31, a prime: one wrong letter, or two exchanged ones, always show."""
    digits = [ALPHABET.find(letter) for letter in body]
    return "".join(ALPHABET[sum(w * d for w, d in zip(weights, digits, strict=True)) % 31] for weights in WEIGHTS)


def nonce(seed: str, counter: int) -> str:
    """The nonce of request `counter` of a run."""
    body = _letters(number(seed, counter, "nonce"), 9)
    return f"N-{body}{_check(body)}"


def is_nonce(text: str) -> bool:
    """Whether the check characters fit."""
    key = normal(text.removeprefix("N-"))
    return len(key) == LENGTH and key[9:] == _check(key[:9])


def normal(text: str) -> str:
    """For comparing: case, blanks and `-` `_` `.` do not count."""
    return _NOISE.sub("", text.casefold())


def key(value: str) -> str:
    """A nonce as it is looked up in normal text: without its `N-`."""
    return normal(value.removeprefix("N-"))


def foreign(text: str, keys: frozenset[str], own: str | None) -> str | None:
    """The first of `keys` that the text holds, other than the request's own."""
    plain = normal(text)
    windows = (plain[i : i + LENGTH] for i in range(len(plain) - LENGTH + 1))
    return next((window for window in windows if window in keys and window != own), None)


def place(text: str, key: str) -> tuple[int, int]:
    """Where a key stands in a text that is not in normal form."""
    match = re.search(r"[\s\-_.]*".join(map(re.escape, key)), text, re.IGNORECASE)
    return match.span() if match else (0, len(text))

"""Keeps secrets from leaving a host: values of a stack's secrets file, and what a command line says of a key.

A key is known by the name before it only (`--api-key X`, `HF_TOKEN=X`, `"password": "X"`), so a secret in a place of
its own choice is not found.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

SHORTEST = 4  # characters of a secret that is hidden: a shorter one would blacken every number
HIDDEN = "***"
# a whole part of a name: --tokenizer-path, --max-total-tokens and --ssl-keyfile tell no secret
WORDS = "api_?keys?|keys?|token|secrets?|password|passwd|passphrase|pwd|credentials?|auth|authorization|bearer|cookie"
NAME = re.compile(rf"(?:^|.*[^a-z])(?:{WORDS})", re.I)
ASSIGNED = re.compile(r"(-{0,2}[A-Za-z_][A-Za-z0-9_.-]*)=(.+)", re.S)
USER = re.compile(r"(://)[^/@\s]+@")  # of a URL
JSON = re.compile(r"""(["']([A-Za-z0-9_.-]+)["']\s*:\s*["'])([^"']*)""")
# in a text of several words, as what a shell is told by -c: NAME=value, and --name value
PLACED = re.compile(
    r"(?<![\w.-])(?:(-{0,2}[A-Za-z_][\w.-]*)(=)|(--[A-Za-z_][\w.-]*)([ \t]+)(?!--))"
    r"""("[^"\n]*"|'[^'\n]*'|[^\s"'&;|<>]+)"""
)
PLAIN = re.compile(r"\b(?:(?:sk|hf|ghp|gho|github_pat|glpat|xox[bp])[-_][A-Za-z0-9_-]{8,}|Bearer\s+\S+)")


def hider(path: Path) -> Callable[[str], str]:
    """Blackens the values of the secrets file, as they are and as JSON or a shell would write them."""
    try:
        lines = path.read_text(errors="replace").splitlines() if path.is_file() else []  # a pipe is not waited for
    except OSError:
        lines = []
    words = set()
    for line in lines:
        quoted = line.partition("=")[2]
        try:
            value = "".join(shlex.split(quoted))
        except ValueError:
            value = quoted
        words |= {form for form in (value, quoted, json.dumps(value)[1:-1]) if len(form) >= SHORTEST}
    if not words:
        return lambda text: text
    pattern = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))
    return lambda text: pattern.sub("***", text)


def hidden(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {key: hidden(item, hide) for key, item in value.items()}
    return [hidden(item, hide) for item in value] if isinstance(value, list) else value


def masked(argv: Sequence[str]) -> list[str]:
    """A command line without what names of its options call a key, a token or a password."""
    return list(_masked(argv))


def _masked(argv: Sequence[str]) -> Iterator[str]:
    after = False  # the option before takes a secret
    for word in argv:
        if after and not (word.startswith("--") and len(word) > 2):
            after = False
            yield HIDDEN
            continue
        after = word.startswith("-") and "=" not in word and tells_secret(word)
        assigned = ASSIGNED.fullmatch(word)
        yield f"{assigned[1]}={HIDDEN}" if assigned and tells_secret(assigned[1]) else text(word)


def tells_secret(name: str) -> bool:
    """Whether something of this name holds a secret: --admin-api-key, HF_TOKEN, "password"."""
    return NAME.fullmatch(name) is not None


def text(words: str) -> str:
    """Any text without the secrets that can be known by their form or by the name before them."""
    words = USER.sub(rf"\1{HIDDEN}@", words)
    words = JSON.sub(lambda found: found[1] + HIDDEN if tells_secret(found[2]) else found[0], words)
    return PLAIN.sub(HIDDEN, PLACED.sub(_placed, words))


def _placed(found: re.Match[str]) -> str:
    name, between = found[1] or found[3], found[2] or found[4]
    return f"{name}{between}{HIDDEN}" if tells_secret(name) else found[0]

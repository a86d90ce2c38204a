"""Reads a hash-locked requirements file: every package pinned with `==`, every pin with its hashes.

What is not locked is refused, all of it at once, with file and line. It resolves nothing and fetches nothing. torch
may list hashes of several builds (its CPU and CUDA wheels share a version): any of those is accepted.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from stackctl.errors import InvalidFile, Problem, Where

HASH = re.compile(r"\s--hash=(\S+)")
SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
FREE = "torch"  # the one package whose build the machine chooses: its Linux wheel on PyPI is gigabytes of CUDA


@dataclass(frozen=True)
class Pin:
    name: str  # canonical
    version: str
    hashes: tuple[str, ...]  # "sha256:…"; any of them may be installed
    marker: str = ""

    @property
    def line(self) -> str:
        words = [f"{self.name}=={self.version}" + (f" ; {self.marker}" if self.marker else "")]
        return " ".join([*words, *(f"--hash={value}" for value in self.hashes)])


@dataclass(frozen=True)
class EnvironmentSpec:
    """What an environment is made of. `key` names it: same content, same environment, on every machine of a kind."""

    python: str  # "3.11"
    pins: tuple[Pin, ...]  # sorted by name

    @property
    def key(self) -> str:
        content = {"format": 1, "python": self.python, "pins": [pin.line for pin in self.pins]}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def locked(self) -> str:
        """Requirements of all packages but torch, as text for an installer."""
        return "".join(pin.line + "\n" for pin in self.pins if pin.name != FREE)

    @property
    def free(self) -> str:
        return "".join(pin.line + "\n" for pin in self.pins if pin.name == FREE)

    def version_of(self, name: str) -> str | None:
        return next((pin.version for pin in self.pins if pin.name == canonicalize_name(name)), None)


def parse_lock(text: str, file: str) -> tuple[Pin, ...]:
    """All pins, sorted by name. Raises InvalidFile with every line that is not one."""
    pins: dict[str, Pin] = {}
    problems: list[Problem] = []
    for number, line in _joined(text):
        found = _pin(line)
        if isinstance(found, Pin) and found.name in pins:
            found = f"{found.name} is pinned twice"
        if isinstance(found, Pin):
            pins[found.name] = found
        else:
            problems.append(
                Problem(found, Where(file, number), hint="`uv pip compile --generate-hashes` writes such a file")
            )
    if problems:
        raise InvalidFile(problems)
    return tuple(pins[name] for name in sorted(pins))


def _joined(text: str) -> list[tuple[int, str]]:
    """Logical lines with their first number: continuations joined, comments and blank lines gone."""
    found: list[tuple[int, str]] = []
    begun: tuple[int, str] | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*$", "", raw).rstrip()
        more = line.endswith("\\")
        start, before = begun or (number, "")
        joined = f"{before} {line.removesuffix(chr(92)).strip()}".strip()
        begun = (start, joined) if more else None
        if not more and joined:
            found.append((start, joined))
    return [*found, begun] if begun else found


def _pin(line: str) -> Pin | str:
    """A pin, or what is wrong with the line."""
    if line.startswith("-"):
        return f"an option is no part of a lock: {line.split()[0]}"
    hashes = tuple(HASH.findall(line))
    try:
        wanted = Requirement(HASH.sub("", line).strip())
    except InvalidRequirement as error:
        return f"not a requirement: {error}"
    exact = [spec.version for spec in wanted.specifier if spec.operator == "==" and not spec.version.endswith(".*")]
    if len(exact) != 1 or len(wanted.specifier) != 1:
        return f"{wanted.name} is not pinned: expected {wanted.name}==VERSION"
    if not hashes or not all(SHA256.fullmatch(value) for value in hashes):
        return f"{wanted.name} has no --hash=sha256:… of 64 hex digits"
    marker = str(wanted.marker) if wanted.marker else ""
    return Pin(canonicalize_name(wanted.name), exact[0], tuple(sorted(set(hashes))), marker)

"""What a base's own source says it understands: flags, environment variables, names of parsers and backends.

These are read from a patched tree without importing anything of it. What cannot be read statically is listed as
unknown and is never guessed: a rule that needs it stays silent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

Generation = Literal["argparse", "annotated", "namespaces", "none"]
EnvKind = Literal["bool", "int", "float", "str", "tuple", "json", "unknown"]


@dataclass(frozen=True)
class Flag:
    """One argument of the engine's command line, as its parser would have it.

    `names`: option strings, the canonical one first. `nargs`: None for one value, 0 for none, else argparse's own.
    `choices`: None when any value does. `default`: str() of it. `type`: `int`, `float`, `str`, `bool`, or None for a
    converter of its own. `use`: what upstream says to write instead. `unknown`: fields above that could not be read.
    """

    names: tuple[str, ...]
    dest: str
    nargs: int | str | None = None
    choices: tuple[str, ...] | None = None
    default: str = "None"
    required: bool = False
    deprecated: bool = False
    use: str | None = None
    type: str | None = "str"
    action: str = "store"
    unknown: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.names[0]


@dataclass(frozen=True)
class EnvVar:
    """A variable that the engine reads. `use`: for a deprecated one, the variable or `--flag` that took over.

    `registered`: the registry has it (a deprecated one may still be there). `indirect`: it is only read through
    functions of the tree's own, whose names speak of the environment.
    """

    name: str
    source: Literal["registry", "ad hoc", "deprecated"]
    kind: EnvKind = "unknown"
    default: str | None = None
    use: str | None = None
    registered: bool = False
    indirect: bool = False


@dataclass(frozen=True)
class Upstream:
    """All of one tree. `engine`: `sglang`, or the module that is served instead. `version`: None when it says none."""

    engine: str
    version: str | None
    generation: Generation
    flags: tuple[Flag, ...] = ()
    env: Mapping[str, EnvVar] = field(default_factory=dict)
    registries: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # "tool-call-parser" -> names
    unknown: tuple[str, ...] = ()  # sentences: what could not be read statically, and where
    abbreviations: bool = True  # whether its parser takes `--tp` for `--tp-size`

    @cached_property
    def by_name(self) -> dict[str, Flag]:
        """Every option string -> its flag."""
        return {name: flag for flag in self.flags for name in flag.names}

    @property
    def is_sglang(self) -> bool:
        return self.engine == "sglang"


@dataclass(frozen=True)
class Span:
    """Releases that have something: from `first` on, `gone` is the first one without it (None: still there)."""

    first: str
    gone: str | None = None


@dataclass(frozen=True)
class Replacement:
    """What to write for a flag that went away. `use` is empty when it is simply dropped; `see` is related only."""

    gone: str  # the release
    use: str = ""
    see: str = ""


@dataclass(frozen=True)
class History:
    """Which release knew what, of all releases that were read. Names of flags are option strings."""

    versions: tuple[str, ...]  # ascending
    flags: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    env: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    choices: Mapping[str, Mapping[str, tuple[Span, ...]]] = field(default_factory=dict)  # flag -> value -> spans
    replacements: Mapping[str, Replacement] = field(default_factory=dict)  # flags and variables

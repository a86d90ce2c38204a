"""What rules look at: every process as its parser would read it, the model, the cards, the patches. Values only.

The same Setup is made of a stack (role by role, after `extends`) and of a raw launch command. What is not known is
None: a rule that would need it says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.upstream.values import Flag, History, Upstream

Match = Literal["exact", "prefix", "ambiguous", "unknown", "untabled"]  # untabled: of a program without a table
ProcessRole = Literal["prefill", "decode", "single", "router"]


@dataclass(frozen=True)
class Option:
    """One option as it stands in a command. `word`: what was typed, with dashes, without `=value`.

    `fault`: what the parser would say of it, if it refuses. `position`: index of the word in the argv.
    """

    word: str
    values: tuple[str, ...] = ()
    flag: Flag | None = None
    match: Match = "exact"
    candidates: tuple[str, ...] = ()  # of an ambiguous one
    joined: bool = False  # --flag=value
    fault: str | None = None
    position: int = 0

    @property
    def name(self) -> str:
        """As a Place has it."""
        return self.word.lstrip("-")


@dataclass(frozen=True)
class Card:
    """The kind of card of a host. `arch`: `sm_120`; memory in bytes of one card."""

    arch: str | None = None
    count: int | None = None
    memory: int | None = None

    @property
    def is_sm120(self) -> bool:
        return (self.arch or "").rstrip("af") in ("sm_120", "sm_121")


@dataclass(frozen=True)
class ModelView:
    """What is known of the model, from its folder, the stack's keys, or its name (`source` says which).

    `family`: `deepseek-v4`, `deepseek-v4.1`, `deepseek-v3.2`, `deepseek-v3`, `glm-dsa`, … `experts`: how routed experts
    are stored: `mxfp4`, `nvfp4`, `fp8`, `bf16`.
    """

    path: str = ""
    family: str | None = None
    experts: str | None = None
    quantization: str | None = None  # as the stack says it
    architecture: str | None = None
    has_chat_template: bool | None = None
    source: Literal["folder", "stack", "name", "unknown"] = "unknown"

    @property
    def is_v4(self) -> bool:
        """V4 or V4.1."""
        return self.family in ("deepseek-v4", "deepseek-v4.1")


@dataclass(frozen=True)
class Process:
    """One engine or the router. `options`: as parsed, in order; `left`: words that no option took.

    `env`: all that is set for it. `made`: names (without dashes) of options that stackctl itself writes. `container`:
    options of the container it runs in, by their long names without dashes (`shm-size`, `ipc`, `ulimit`: several with
    spaces between; `pod`: it is one of Kubernetes; `open`: it may have more options than these); None when it runs in
    none, or that is not known.
    """

    id: str
    role: ProcessRole
    module: str
    argv: tuple[str, ...]  # after the module
    options: tuple[Option, ...] = ()
    left: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    host: str | None = None
    gpus: tuple[int, ...] = ()
    card: Card | None = None
    made: frozenset[str] = frozenset()
    table: Upstream | None = None  # None: of the router
    container: Mapping[str, str] | None = None

    def all(self, name: str) -> tuple[Option, ...]:
        """Every occurrence of a flag, by any of its option strings without dashes; of the router by the word."""
        wanted = self._flag(name)
        if wanted is None:
            return tuple(one for one in self.options if one.word == f"--{name}")
        return tuple(one for one in self.options if one.flag is not None and one.flag.dest == wanted.dest)

    def given(self, name: str) -> Option | None:
        """The occurrence that counts, which is the last; None when it is not on the command line."""
        found = self.all(name)
        return found[-1] if found else None

    def text(self, name: str) -> str | None:
        """The value that holds: the given one, else the table's default; None when there is none (or no such flag)."""
        option = self.given(name)
        if option is not None:
            return option.values[0] if option.values else None
        flag = self._flag(name)
        return None if flag is None or flag.default == "None" or "default" in flag.unknown else flag.default

    def number(self, name: str) -> float | None:
        """`text` as a number; None when it is none."""
        try:
            return float(self.text(name) or "")
        except ValueError:
            return None

    def on(self, name: str) -> bool:
        """Whether a switch is set."""
        return self.given(name) is not None

    def has(self, name: str) -> bool:
        """Whether the base knows this flag at all."""
        return self._flag(name) is not None

    def _flag(self, name: str) -> Flag | None:
        return None if self.table is None else self.table.by_name.get(f"--{name}")


@dataclass(frozen=True)
class Setup:
    """`stack`: None for a raw command. `complete`: all roles of the deployment are here, so pairs can be compared."""

    upstream: Upstream
    history: History
    processes: tuple[Process, ...]
    model: ModelView = ModelView()
    patches: frozenset[str] = frozenset()
    stack: ResolvedStack | None = None
    complete: bool = True

    @property
    def version(self) -> Version | None:
        return Version(self.upstream.version) if self.upstream.version else None

    def at(self, versions: str) -> bool:
        """Whether the base's version is among these (PEP 440 specifiers); False when it is not known.

        0.5.13.post1 counts as 0.5.13: the tables of a post release are those of its release.
        """
        if self.version is None:
            return False
        return SpecifierSet(versions).contains(self.version.base_version, prereleases=True)

    @property
    def engines(self) -> tuple[Process, ...]:
        return tuple(one for one in self.processes if one.role != "router")

    @property
    def router(self) -> Process | None:
        return next((one for one in self.processes if one.role == "router"), None)

    def of_role(self, role: ProcessRole) -> tuple[Process, ...]:
        return tuple(one for one in self.processes if one.role == role)

    @property
    def on_sm120(self) -> tuple[Process, ...]:
        """Engines that run on the card: compute capability 12.x."""
        return tuple(one for one in self.engines if one.card is not None and one.card.is_sm120)

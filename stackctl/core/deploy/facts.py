"""What a host said about itself (onhost/look.py, onhost/prepare.py), as values that decisions read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from stackctl.core.deploy.record import Record, from_json
from stackctl.core.names import ReleaseId, TreeId

State = Literal["running", "committed", "restored", "failed", "broken", "stopped", "untouched"]


@dataclass(frozen=True)
class Step:
    name: str
    phase: str  # done or fail
    seconds: float


@dataclass(frozen=True)
class Status:
    """The last words of a cut-over (status.json). `old`: the release that it would bring back, or empty."""

    attempt: str
    kind: str
    release: str
    old: str
    state: State
    step: str
    message: str
    since: float
    pid: int
    start: int
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Holder:
    """Who holds a stack on a host. `age`: seconds since its last sign of life; `hand`: taken by `stackctl hold`."""

    attempt: str
    who: str
    host: str  # of the client
    pid: int
    since: float
    command: str
    message: str = ""
    hand: bool = False
    age: float = 0.0


@dataclass(frozen=True)
class Seen:
    """One instance that was started, of any release."""

    release: str
    instance: str
    pid: int
    alive: bool
    exit: int | None


@dataclass(frozen=True)
class HostFacts:
    """`processes`: all pids of this stack there. `cutover`: is the script of `status` at work?"""

    root: str
    python: str
    host: str
    free: int  # bytes
    current: ReleaseId | None = None
    previous: ReleaseId | None = None
    status: Status | None = None
    cutover: bool = False
    hold: Holder | None = None
    releases: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    records: Mapping[str, Record] = field(default_factory=dict)
    deployed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    instances: tuple[Seen, ...] = ()
    processes: tuple[int, ...] = ()
    health: Mapping[str, str] = field(default_factory=dict)

    @property
    def unfinished(self) -> Status | None:
        """A cut-over that was killed half-way."""
        return self.status if self.status and self.status.state == "running" and not self.cutover else None

    @property
    def served(self) -> ReleaseId | None:
        """The release that should serve here, and that a failed deploy brings back; None after a stop."""
        status = self.status
        if self.current is None or status is None or status.state in ("stopped", "failed", "broken"):
            return None
        return None if status.state == "running" and status.kind == "stop" else self.current

    def is_up(self, release: str) -> bool:
        """All its instances run."""
        record = self.records.get(release)
        alive = {seen.instance for seen in self.instances if seen.alive and seen.release == release}
        return record is not None and {launch.instance for launch in record.launches} <= alive

    def has_tree(self, tree: TreeId) -> bool:
        return tree in self.trees


@dataclass(frozen=True)
class Prepared:
    """What could refuse a start. `tree`: None when it is not there, else what is wrong with it."""

    versions: Mapping[str, str | None]
    listeners: tuple[Mapping[str, Any], ...]
    cards: Mapping[str, Any] | None
    secrets: tuple[str, ...]
    tree: tuple[str, ...] | None
    imports: Mapping[str, str]
    origin: str = ""  # where the served module would come from, when that is not the tree
    scripts: tuple[str, ...] = ()  # what the shell there cannot read
    environment: tuple[str, ...] = ()  # what is not as stackctl installed it, in an environment that it made
    sources: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)  # trees of other sources, as `tree`
    strays: tuple[tuple[str, str, str], ...] = ()  # package, the tree that has it, where it would come from instead
    model: tuple[str, ...] = ()  # what of the model's folder is not as its manifest says


def parse_facts(said: Mapping[str, Any]) -> HostFacts:
    """Raises KeyError or TypeError when another version of stackctl wrote what the host has."""
    return HostFacts(
        root=said["root"],
        python=said["python"],
        host=said["host"],
        free=said["free"],
        current=said["current"],
        previous=said["previous"],
        status=parse_status(said["status"]),
        cutover=said["cutover"],
        hold=parse_holder(said["hold"]),
        releases=tuple(said["releases"]),
        trees=tuple(said["trees"]),
        records={name: record for name, value in said["records"].items() if (record := from_json(value))},
        deployed={name: value for name, value in said["deployed"].items() if value},
        instances=tuple(
            Seen(item["release"], item["instance"], item["pid"], item["alive"], item["exit"])
            for item in said["instances"]
        ),
        processes=tuple(said["processes"]),
        health=said["health"],
    )


def parse_status(said: Any) -> Status | None:
    """None when there is none, or only half of one."""
    if not isinstance(said, Mapping):
        return None
    try:
        steps = tuple(Step(item["name"], item["phase"], float(item["seconds"])) for item in said["steps"])
        words = {name: str(said[name]) for name in ("attempt", "kind", "release", "old", "step", "message")}
        return Status(
            state=said["state"], since=said["since"], pid=said["pid"], start=said["start"], steps=steps, **words
        )
    except (KeyError, TypeError, ValueError):
        return None


def parse_holder(said: Any) -> Holder | None:
    if not isinstance(said, Mapping) or "attempt" not in said:
        return None
    known = {name: said[name] for name in Holder.__dataclass_fields__ if name in said}
    return Holder(**known)


def parse_prepared(said: Mapping[str, Any]) -> Prepared:
    tree = said["tree"]
    return Prepared(
        said["versions"],
        tuple(said["listeners"]),
        said["cards"],
        tuple(said["secrets"]),
        None if tree is None else tuple(tree),
        said["imports"],
        said["origin"],
        tuple(said.get("scripts", ())),  # a plan writes none
        sources={name: None if faults is None else tuple(faults) for name, faults in said["sources"].items()},
        strays=tuple((package, where, place) for package, where, place in said["strays"]),
    )

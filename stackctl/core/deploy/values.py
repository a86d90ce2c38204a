"""What a deployment is, as values: a rendered release, the answer of a deploy, and what `status` sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from stackctl.core.names import ReleaseId, TreeId
from stackctl.core.patches.values import PatchedTree
from stackctl.core.stack.resolved import ResolvedStack


@dataclass(frozen=True)
class Launch:
    """How one instance starts. `argv` has no --weight-version; `env` no secret values."""

    instance: str  # "prefill-0"
    role: str
    host: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    url: str  # as other instances and the client reach it
    port: int


@dataclass(frozen=True)
class Release:
    """A stack composed and rendered. `scripts`: file name -> text (serve-prefill-0.sh ...), carrying the id."""

    id: ReleaseId
    stack: ResolvedStack
    tree: PatchedTree
    launches: tuple[Launch, ...]  # in start order
    scripts: Mapping[str, str]

    @property
    def url(self) -> str:
        """Where clients talk to: the router, or the only engine."""
        return self.launches[-1].url


Outcome = Literal["deployed", "kept", "planned", "restarted", "rolled back"]


@dataclass(frozen=True)
class DeployResult:
    """`outcome`: deployed, or kept (this very release served already and passed its gate again)."""

    outcome: Outcome
    stack: str
    release: ReleaseId
    variant: str
    url: str
    previous: ReleaseId | None = None
    start_seconds: float = 0.0
    plan: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    evidence: str = ""  # the folder that was written because what was restarted was not well


@dataclass(frozen=True)
class InstanceState:
    instance: str
    host: str
    state: Literal["running", "exited", "absent"]
    pid: int | None = None
    exit_code: int | None = None
    url: str = ""
    health: str = ""  # "200 in 0.01 s", or what went wrong


@dataclass(frozen=True)
class Deployment:
    """What the hosts say is there. release None: nothing deployed."""

    stack: str
    release: ReleaseId | None
    tree: TreeId | None = None
    variant: str = ""
    since: float | None = None
    by: str | None = None
    url: str | None = None
    start_seconds: float | None = None
    previous: ReleaseId | None = None
    instances: tuple[InstanceState, ...] = ()
    hold: str | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)
    torch: str = ""  # which build serves, where stackctl made the environment
    sources: Mapping[str, TreeId] = field(default_factory=dict)  # patched trees of other sources that serve too

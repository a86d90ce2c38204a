"""A stack after `extends`, defaults and merging: plain values that every later step reads.

Nothing here knows YAML; `resolve.py` makes these values, `variant.py` leaves elements out of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from stackctl.core.names import Commit, Digest, PatchName
from stackctl.core.stack.merge import Merged
from stackctl.errors import Problem

Role = Literal["prefill", "decode", "router", "single"]
Value = bool | int | str | list[object] | dict[str, object]  # of a flag, as YAML gave it
ElementKind = Literal["patch", "flag", "env"]
Told = Literal["error", "warning", "info", "off"]  # how a finding of a rule is told


@dataclass(frozen=True)
class PypiBase:
    """A wheel by name and version (`sglang==0.5.15`); its files stand under python/ in the tree."""

    requirement: str
    sha256: Digest


@dataclass(frozen=True)
class GitBase:
    url: str
    ref: str
    commit: Commit


@dataclass(frozen=True)
class PathBase:
    """A folder, or a local repository (then `commit` is what is checked). `path` is absolute."""

    path: str
    commit: Commit | None = None


Base = PypiBase | GitBase | PathBase


@dataclass(frozen=True, order=True)
class Element:
    """Something that a variant may leave out: `patch:NAME`, `flag:NAME`, `flag:decode/NAME`, `env:NAME`."""

    kind: ElementKind
    name: str
    role: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.role + '/' if self.role else ''}{self.name}"


@dataclass(frozen=True)
class Variant:
    """What differs from the stack file. `dropped` also holds what fell because it needs something left out."""

    without: tuple[Element, ...] = ()
    dropped: tuple[Element, ...] = ()
    added: tuple[PatchName, ...] = ()  # patches given by --with, after the queue

    @property
    def is_plain(self) -> bool:
        return not (self.without or self.dropped or self.added)

    def __str__(self) -> str:
        """`without patch:demo/x, flag:y (and patch:demo/z, which needs them) with patch:w`; empty when plain."""
        words = []
        if self.without:
            words.append("without " + ", ".join(map(str, self.without)))
        if self.dropped:
            words.append("(and " + ", ".join(map(str, self.dropped)) + ", which needs what was left out)")
        if self.added:
            words.append("with " + ", ".join(f"patch:{name}" for name in self.added))
        return " ".join(words)


@dataclass(frozen=True)
class HostSpec:
    """A machine. `address` is `local`, `user@host:port`, or a name of ~/.ssh/config."""

    name: str
    address: str
    purpose: Literal["production", "test"] = "test"
    runtime: Literal["process", "docker"] = "process"
    python: str | None = None  # absolute path of an interpreter that is there; None: stackctl's own, `local` only
    identity: str | None = None  # absolute path of a private key file, for SSH
    known_hosts: str | None = None  # absolute path of a known_hosts file, for SSH
    gpu_count: int = 0
    gpu_arch: str | None = None
    gpu_memory: int | None = None  # bytes
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        return self.address == "local"

    @property
    def hostname(self) -> str:
        """What a URL says: 127.0.0.1 for `local`, else the address without user and SSH port."""
        if self.is_local:
            return "127.0.0.1"
        return self.address.rpartition("@")[2].partition(":")[0]

    @property
    def is_loopback(self) -> bool:
        return self.hostname in ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class Instance:
    """One process to serve: a role's n-th mapping. `flags`, `env`: the user's own, merged of serve and role.

    A flag of value `false` is not in `flags`. What the machine sets (`hosts.H.env`) is no part of `env`: it belongs
    to the machine, so it is no element; `render/launch.py` puts it below this env.
    """

    role: Role
    index: int
    host: str
    port: int
    gpus: tuple[int, ...] = ()
    bootstrap_port: int | None = None
    flags: Mapping[str, Value] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.role}-{self.index}"


@dataclass(frozen=True)
class Model:
    path: str
    name: str
    architecture: str | None = None
    quantization: str | None = None
    make: str | None = None  # absolute path of a recipe that makes the model on the host
    recipe: str | None = None  # its text
    repo: str | None = None  # of the hub, where it was published
    revision: str | None = None  # of that repository, 40 hex digits
    manifest: str | None = None  # absolute path of the file that says what the folder must hold
    pins: bytes | None = None  # its content; None when it is not there yet


@dataclass(frozen=True)
class Serve:
    """What all engines have in common, besides flags and env (merged into each Instance)."""

    module: str = "sglang.launch_server"  # run as `python -m MODULE`
    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
    chat_template: str | None = None  # None: what the parser selects (`native`); else a file's absolute path
    chat_template_text: str | None = None


@dataclass(frozen=True)
class TestSpec:
    """A test of the stack. Kind `command` uses `run`; kind `toolcalls` the rest."""

    __test__ = False
    name: str
    kind: Literal["toolcalls", "command"]
    run: str | None = None
    timeout: float = 1800.0
    concurrency: int = 60
    bursts_min: int = 10
    bursts_max: int = 60
    arms: tuple[str, ...] = ("private-prefix",)
    control_concurrency: int = 1
    control_requests: int = 20
    max_rate: float = 0.02
    confidence: float = 0.99
    max_tokens: int = 256
    gap: float = 30.0  # seconds without progress of one stream: a stall
    wedge: float = 30.0  # seconds without progress of any stream: ask the canary
    ttft: float = 60.0
    stagger: float = 0.0  # seconds over which the starts of a burst are spread
    expect: str | None = None  # absolute path of a file of cases with their right answers
    probe: float = 15.0  # seconds for a fresh request to finish, before silence is called a wedge
    lengths: tuple[int, ...] = (200, 2000, 8000, 32000)  # arm mixed-lengths: prompt sizes in tokens, about


@dataclass(frozen=True)
class BisectSpec:
    test: str | None = None
    patches: bool | tuple[PatchName, ...] = True  # True: all
    flags: bool | tuple[str, ...] = True
    env: bool | tuple[str, ...] = True
    flip: Mapping[str, Value] = field(default_factory=dict)
    on: Mapping[str, str] = field(default_factory=dict)
    take_over_until: str | None = None
    budget: float | None = None  # seconds
    prior: Literal["weighted", "uniform"] = "weighted"


@dataclass(frozen=True)
class GateSpec:
    """`cases`: known answers to ask for, of `expect`, for a model that cannot do as it is told."""

    requests: int = 8
    expect: str | None = None  # absolute path
    cases: bytes | None = None  # its content
    test: str | None = None
    bursts: int = 2


@dataclass(frozen=True)
class Timeouts:
    """Seconds."""

    start: float = 3600.0
    probe: float = 25.0
    drain: float = 120.0


@dataclass(frozen=True)
class PythonSpec:
    """The interpreter to make for hosts that name none. `paths` are folders put on PYTHONPATH after the tree."""

    version: str | None = None
    requirements: str | None = None  # absolute path of a hash-locked file
    requirements_sha256: Digest | None = None  # of its bytes
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImageSpec:
    """The image to build upon; `arch` are CUDA architectures to compile for."""

    from_: str
    arch: tuple[str, ...] = ()


@dataclass(frozen=True)
class ResolvedStack:
    """Everything that a stack file says, merged. Paths are absolute."""

    name: str
    file: str  # the stack file, for messages
    workspace: str  # folder above stacks/
    base: Base
    patches: tuple[PatchName, ...]
    model: Model
    serve: Serve
    engines: tuple[Instance, ...]  # prefill, then decode, then single, each in file order
    router: Instance | None
    router_package: str | None  # "sglang-router==0.3.2"
    hosts: Mapping[str, HostSpec]  # only those that an instance uses, and targets of bisect.on
    timeouts: Timeouts = Timeouts()
    gate: GateSpec = GateSpec()
    keep_releases: int = 5
    secrets: tuple[str, ...] = ()
    tests: Mapping[str, TestSpec] = field(default_factory=dict)
    bisect: BisectSpec = BisectSpec()
    variant: Variant = Variant()
    patch_files: Mapping[PatchName, str] = field(default_factory=dict)  # absolute file of each, --with too
    unsupported: Mapping[str, str] = field(default_factory=dict)  # key path -> verbs that refuse it so far
    python: PythonSpec | None = None
    image: ImageSpec | None = None
    sources: Mapping[str, Base] = field(default_factory=dict)  # other trees that patches may be for
    warnings: tuple[Problem, ...] = ()  # allowed, but to be told; the message begins with an id
    severity: Mapping[str, Told] = field(default_factory=dict)  # of a rule, where the stack says another
    merged: Merged | None = field(default=None, compare=False, repr=False)  # where each value was written

    @property
    def instances(self) -> tuple[Instance, ...]:
        """In start order: prefill, decode, single, then the router."""
        return self.engines + ((self.router,) if self.router else ())

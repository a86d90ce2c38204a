"""What a look at a host found: facts, and findings with their evidence. Plain values that survive JSON.

Facts are what one read-only look saw, small enough to be saved with a release and compared later; evidence (what a
command printed) is kept beside them. None means "not known": no finding may be made of it. Bytes for sizes, seconds
for times, watts, MHz and degrees Celsius for cards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "info"]
Section = Literal[
    "reach", "cards", "links", "runtime", "memory", "limits", "ports", "clock", "python", "model", "running", "drift"
]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True)
class Evidence:
    """`command`: what a person would type to see the same; `output`: the part of it that says so."""

    command: str
    output: str


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or worth to know, on one host. `id`: CARD-COUNT, PORT-FOREIGN, …"""

    id: str
    severity: Severity
    message: str
    evidence: tuple[Evidence, ...] = ()
    remedy: str = ""
    host: str = ""
    section: Section = "cards"


@dataclass(frozen=True)
class Command:
    """One program that was run there, or one file that was read. `code`: None when it is not installed, or was cut off
    (`cut`: seconds that it was given); `seconds` that it took."""

    name: str
    argv: tuple[str, ...]
    code: int | None = None
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    missing: bool = False
    cut: float | None = None

    @property
    def ok(self) -> bool:
        return self.code == 0


@dataclass(frozen=True)
class CardProcess:
    """A process on a card. `ours`: started by stackctl for this stack; `command` without secrets."""

    pid: int
    kind: str = "C"  # as nvidia-smi says: C compute, G graphics, C+G
    name: str = ""
    memory: int | None = None
    user: str = ""
    command: str = ""
    ours: bool = False


@dataclass(frozen=True)
class Card:
    """`fault`: what nvidia-smi says in place of a value when the card does not answer (`GPU is lost`)."""

    index: int
    name: str = ""
    uuid: str = ""
    bus_id: str = ""
    compute: str | None = None  # "12.0"
    memory_total: int | None = None
    memory_used: int | None = None
    power_limit: float | None = None
    power_default: float | None = None
    power_max: float | None = None
    clock_sm: int | None = None
    clock_sm_max: int | None = None
    clock_memory: int | None = None
    clock_memory_max: int | None = None
    clock_app_sm: int | None = None  # application clock: a cap that somebody set
    temperature: int | None = None
    slowed: tuple[str, ...] = ()  # reasons that are active: sw_power_cap, hw_thermal_slowdown, …
    ecc: bool | None = None
    ecc_pending: bool | None = None
    ecc_uncorrected: int | None = None  # since the driver was loaded
    persistence: bool | None = None
    mig: bool | None = None
    pcie: str = ""  # "gen 5 x16", as it is now
    pcie_max: str = ""
    numa: int | None = None
    processes: tuple[CardProcess, ...] = ()
    fault: str = ""


@dataclass(frozen=True)
class Driver:
    """`version` and `cuda` (the newest that it can run); `fault`: why nvidia-smi does not answer."""

    version: str | None = None
    cuda: str | None = None
    module: str | None = None  # the version that the kernel has loaded
    fault: str = ""
    installed: bool = False  # is nvidia-smi there


@dataclass(frozen=True)
class Bridge:
    """A PCIe bridge. `acs`: the ACS controls that are on (`SrcValid`, `ReqRedir`, …). `above`: cards hang below it."""

    bus_id: str
    name: str = ""
    acs: tuple[str, ...] = ()
    above: bool = False


@dataclass(frozen=True)
class Links:
    """How cards reach each other. `ways` and `p2p`: "0-1" (lower index first) -> PIX, NODE, SYS … and OK, CNS, NS …

    `bridges`: None when the ACS state could not be read (that takes root).
    """

    ways: Mapping[str, str] = field(default_factory=dict)
    p2p: Mapping[str, str] = field(default_factory=dict)
    bridges: tuple[Bridge, ...] | None = None
    iommu_cmdline: tuple[str, ...] = ()
    iommu_units: int | None = None  # entries of /sys/class/iommu
    iommu_type: str | None = None  # of the cards' groups: identity, DMA, DMA-FQ
    kernel_parameters: Mapping[str, str] = field(default_factory=dict)  # of the nvidia modules


@dataclass(frozen=True)
class Docker:
    """`fault`: why its daemon does not answer. `images`: labels of those that were asked for by name and are there;
    `ours`: those that carry the label of the stack."""

    installed: bool = False
    version: str | None = None
    fault: str = ""
    root: str = ""
    driver: str = ""
    runtimes: tuple[str, ...] = ()
    default_runtime: str = ""
    cgroup: str = ""
    toolkit: str | None = None
    images: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    ours: tuple[str, ...] = ()


@dataclass(frozen=True)
class Disk:
    """The file system below `path`; `place` is the nearest folder upward that is there."""

    path: str
    place: str = ""
    kind: str = ""  # ext4, nfs4, overlay
    total: int | None = None
    free: int | None = None
    inodes_free: int | None = None


@dataclass(frozen=True)
class Limit:
    """None: unlimited."""

    soft: int | None
    hard: int | None


@dataclass(frozen=True)
class Clock:
    """`offset`: seconds that the host is ahead of this machine (half the round trip is allowed for in `error`)."""

    offset: float | None = None
    error: float | None = None
    synchronized: bool | None = None
    source: str = ""


@dataclass(frozen=True)
class Listener:
    """Who listens. pid 0: a process that the user who looked may not see. `ours`: of this stack on this host."""

    port: int
    address: str = ""
    pid: int = 0
    user: str = ""
    command: str = ""
    ours: bool = False
    stack: str = ""  # of another stack of stackctl, by its mark in the environment


@dataclass(frozen=True)
class Engine:
    """A process that serves, ours or not. `argv` has no secrets; `env`: only variables of names that are allowed."""

    pid: int
    user: str = ""
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    since: float | None = None  # seconds since the epoch
    ours: bool = False
    instance: str = ""  # prefill-0, as its mark says
    release: str = ""
    stack: str = ""
    container: str = ""  # id, when it runs in one

    @property
    def command(self) -> str:
        """On one line, whatever its words hold."""
        return " ".join(self.argv).replace("\r", "\\r").replace("\n", "\\n")


@dataclass(frozen=True)
class Interpreter:
    """The one of `hosts.H.python`. `packages`: distribution -> version; `fault`: why it cannot be asked."""

    path: str = ""
    version: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    fault: str = ""


@dataclass(frozen=True)
class Facts:
    """One look at one host."""

    host: str = ""
    hostname: str = ""
    user: str = ""
    root: bool = False
    when: float = 0.0  # seconds since the epoch, by this machine's clock
    kernel: str = ""
    os: str = ""
    machine: str = ""
    boot: float | None = None  # seconds since the epoch
    cpus: int | None = None
    numa: Mapping[str, str] = field(default_factory=dict)  # node -> its processors, "0-31"
    numa_balancing: bool | None = None
    memory_total: int | None = None
    memory_free: int | None = None  # what could be taken without swapping
    swap_total: int | None = None
    shm_total: int | None = None
    shm_free: int | None = None
    governor: str = ""  # of the processors' frequency
    cgroup: str = ""  # v1, v2
    driver: Driver = Driver()
    cards: tuple[Card, ...] = ()
    links: Links = Links()
    docker: Docker = Docker()
    disks: tuple[Disk, ...] = ()
    limits: Mapping[str, Limit] = field(default_factory=dict)  # memlock (bytes), nofile, stack (bytes), core, nproc
    clock: Clock = Clock()
    ports: tuple[Listener, ...] = ()
    engines: tuple[Engine, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)  # NCCL_*, UCX_* … of a login there
    nccl_conf: Mapping[str, str] = field(default_factory=dict)  # of /etc/nccl.conf and ~/.nccl.conf
    python: Interpreter = Interpreter()
    interfaces: tuple[str, ...] = ()  # of the network
    kernel_log: tuple[str, ...] | None = None  # lines of NVRM and Xid; None when it may not be read
    missing: tuple[str, ...] = ()  # programs that are not installed
    home: str = ""  # why the folder of the stack there cannot be used

    def stranger(self, port: int) -> Engine | None:
        """An engine of somebody else that listens there."""
        foreign = {one.pid: one for one in self.engines if not one.ours}
        pids = (one.pid for one in self.ports if one.port == port and not one.ours)
        return next((foreign[pid] for pid in pids if pid in foreign), None)

    def card(self, index: int) -> Card | None:
        return next((card for card in self.cards if card.index == index), None)


@dataclass(frozen=True)
class Look:
    """Facts with what they were read from."""

    facts: Facts
    commands: tuple[Command, ...] = ()

    def evidence(self, name: str, *lines: str) -> Evidence:
        """Of the command of that name; `lines`: what of its output, else all of it, cut to a few lines."""
        command = next((one for one in self.commands if one.name == name), None)
        typed = " ".join(command.argv) if command else name
        said = (command.stdout or command.stderr) if command else ""
        return Evidence(typed, "\n".join(lines) if lines else excerpt(said))


@dataclass(frozen=True)
class HostReport:
    """One host. `facts`: None when it could not be reached; then a finding says why."""

    name: str
    address: str
    purpose: str = "test"
    roles: tuple[str, ...] = ()  # instances that the stack places there
    facts: Facts | None = None
    findings: tuple[Finding, ...] = ()
    commands: tuple[Command, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class Report:
    """`when` in seconds since the epoch. `exit`: 1 when there is an error among the findings."""

    stack: str
    hosts: tuple[HostReport, ...]
    when: float = 0.0
    stackctl: str = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for host in self.hosts for finding in host.findings)

    @property
    def exit(self) -> int:
        return int(any(finding.severity == "error" for finding in self.findings))


def excerpt(text: str, lines: int = 6) -> str:
    """The first lines, and how many more there are."""
    every = text.strip("\n").splitlines()
    more = len(every) - lines
    return "\n".join(every[:lines] + ([f"… {more} more lines"] if more > 0 else []))

"""What a release's folder says about it: enough to start, gate, show and roll back to it without its stack file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from stackctl.core.deploy.values import Release
from stackctl.core.names import ReleaseId, TreeId
from stackctl.core.render.launch import model_folder
from stackctl.core.stack.ports import prometheus_port
from stackctl.core.stack.resolved import Instance

FORMAT = 1


@dataclass(frozen=True)
class RecordedLaunch:
    """One instance: `url` as others reach it, `ports` all that it listens on as far as the stack says."""

    instance: str
    role: str
    url: str
    argv: tuple[str, ...]
    ports: tuple[int, ...]
    gpus: tuple[int, ...] = ()

    @property
    def inside(self) -> str:
        """As its own host reaches it: what a router or an engine binds always holds loopback."""
        return f"http://127.0.0.1:{self.ports[0]}"


@dataclass(frozen=True)
class Record:
    """`when` in seconds since the epoch; `variant` is empty when it is what the stack file said."""

    release: ReleaseId
    stack: str
    variant: str
    host: str
    python: str
    tree: TreeId
    base: TreeId
    module: str
    packages: Mapping[str, str]  # distribution -> version that the stack pins
    launches: tuple[RecordedLaunch, ...]
    secrets: tuple[str, ...]
    who: str
    when: float
    stackctl: str
    paths: tuple[str, ...] = ()  # folders beside the scripts that go on the path, after the tree
    model: str = ""  # the folder below models/ that a recipe made; empty: a model that is there
    torch: Mapping[str, str] = field(default_factory=dict)  # version and sha256, in an environment that stackctl made
    sources: Mapping[str, TreeId] = field(default_factory=dict)  # patched trees of other sources: on the path after it
    pinned: str = ""  # the model's folder, when model.json beside the scripts says what it must hold

    @property
    def url(self) -> str:
        return self.launches[-1].url

    @property
    def trees(self) -> tuple[TreeId, ...]:
        """All that must be there, in the order in which they are on the path: that of sglang first."""
        return (self.tree, *self.sources.values())

    @property
    def torch_build(self) -> str:
        """For people; empty when nobody knows."""
        return f"{self.torch['version']} (sha256 {self.torch['sha256'][:12]})" if self.torch else ""

    @property
    def cards(self) -> tuple[int, ...]:
        return tuple(sorted({card for launch in self.launches for card in launch.gpus}))

    @property
    def ports(self) -> tuple[int, ...]:
        return tuple(sorted({port for launch in self.launches for port in launch.ports}))

    @property
    def engines(self) -> tuple[str, ...]:
        return tuple(launch.instance for launch in self.launches if launch.role != "router")

    @property
    def router(self) -> str:
        """Empty when there is none."""
        return next((launch.instance for launch in self.launches if launch.role == "router"), "")


@dataclass(frozen=True)
class Made:
    """By whom, when (seconds since the epoch), with which stackctl, with which interpreter of the host."""

    who: str
    when: float
    stackctl: str
    python: str


def record_of(release: Release, made: Made) -> Record:
    stack = release.stack
    instances = {instance.id: instance for instance in stack.instances}
    launches = tuple(
        RecordedLaunch(
            launch.instance,
            launch.role,
            launch.url,
            launch.argv,
            _ports(instances[launch.instance]),
            instances[launch.instance].gpus,
        )
        for launch in release.launches
    )
    return Record(
        release.id,
        stack.name,
        str(stack.variant),
        release.launches[0].host,
        made.python,
        release.tree.tree,
        release.tree.base,
        stack.serve.module,
        dict([stack.router_package.split("==")]) if stack.router_package else {},
        launches,
        stack.secrets,
        made.who,
        made.when,
        made.stackctl,
        tuple(sorted({name.partition("/")[0] for name in release.scripts if "/" in name})),
        model_folder(stack) or "",
        sources={name: source.tree for name, source in sorted(release.tree.sources.items())},
        pinned="" if stack.model.pins is None else stack.model.path,
    )


def _ports(instance: Instance) -> tuple[int, ...]:
    """Its own first."""
    more = prometheus_port(instance) if instance.role == "router" else instance.bootstrap_port
    return (instance.port,) if more is None else (instance.port, more)


def to_json(record: Record) -> str:
    return json.dumps({"format": FORMAT, **asdict(record)}, indent=1, sort_keys=True) + "\n"


def from_json(value: object) -> Record | None:
    """None when it is no record of this format."""
    if not isinstance(value, Mapping) or value.get("format") != FORMAT:
        return None
    rest = {key: item for key, item in value.items() if key != "format"}
    launches = tuple(
        RecordedLaunch(
            **{**item, "argv": tuple(item["argv"]), "ports": tuple(item["ports"]), "gpus": tuple(item["gpus"])}
        )
        for item in rest.pop("launches")
    )
    secrets, paths = tuple(rest.pop("secrets")), tuple(rest.pop("paths", ()))
    return Record(launches=launches, secrets=secrets, paths=paths, **rest)

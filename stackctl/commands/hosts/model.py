"""`stackctl model`: what a stack's model is on each host, and whether it is the one that the stack means.

Whole files are hashed on request only; then each is read once for its inode, size and mtime, which the host remembers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stackctl.commands.gather import load
from stackctl.commands.hosts.folder import Judged, folder_here, judge
from stackctl.commands.hosts.looking import looking_python
from stackctl.commands.selection import Selection
from stackctl.commands.site import Site, site_on
from stackctl.core.doctor.hide import harmless
from stackctl.core.doctor.values import Evidence, Finding
from stackctl.core.modeldir.findings import findings
from stackctl.core.modeldir.manifest import parse
from stackctl.core.modeldir.sound import finding
from stackctl.core.modeldir.values import ModelDir
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.errors import StackctlError, UsageError
from stackctl.ports import Ports

CACHE = "~/.stackctl/model-hashes.json"  # of a host, for all of its stacks
HASH = 3600.0  # seconds for one file
GIB = 1 << 30


@dataclass(frozen=True)
class ModelRequest:
    """`hosts`: names, none for all that run engines. `full`: hash whole shards. `folder`: one of this machine, instead
    of a stack's."""

    selection: Selection
    hosts: tuple[str, ...] = ()
    full: bool = False
    folder: str | None = None


@dataclass(frozen=True)
class Whole:
    """Whole shards that were hashed: `right` as known, `unknown` when there is nothing to compare with; `cached` of
    all were not read again. `digests`: by name."""

    right: int
    unknown: int
    cached: int
    digests: Mapping[str, str]


@dataclass(frozen=True)
class HostModel:
    """`problem`: why the host could not be asked; then there is no more."""

    host: str
    judged: Judged | None = None
    whole: Whole | None = None
    problem: str = ""


@dataclass(frozen=True)
class ModelResult:
    """`exit`: 1 when there is an error among the findings, or a host that could not be asked."""

    stack: str
    parser: str | None
    hosts: tuple[HostModel, ...]

    @property
    def exit(self) -> int:
        wrong = (one.severity == "error" for host in self.hosts if host.judged for one in host.judged.findings)
        return int(any(wrong) or any(host.problem for host in self.hosts))


def model(ports: Ports, request: ModelRequest) -> ModelResult:
    """Raises UsageError for a host that runs no engine of the stack."""
    if request.folder is not None:
        return _alone(ports, request, request.folder)
    stack = load(ports, request.selection)
    names = engine_hosts(stack, request.hosts)
    hosts = tuple(_on(ports, stack, one, request) for one in names)
    return harmless(ModelResult(stack.name, stack.serve.tool_call_parser, hosts))


def engine_hosts(stack: ResolvedStack, asked: Sequence[str]) -> tuple[str, ...]:
    """Those that read the model. Raises UsageError for another."""
    every = tuple(dict.fromkeys(one.host for one in stack.engines))
    if unknown := [name for name in asked if name not in every]:
        raise UsageError(f"no engine of {stack.name} runs on {', '.join(unknown)}", f"They run on {', '.join(every)}.")
    return tuple(name for name in every if not asked or name in asked)


def _on(ports: Ports, stack: ResolvedStack, name: str, request: ModelRequest) -> HostModel:
    spec = stack.hosts[name]
    try:
        with site_on(ports, stack, spec, looking_python(ports, spec)) as site:
            with ports.progress.step(f"{name}: look into {stack.model.path or 'the made model'}"):
                judged = judge(site)
            return HostModel(name, *_hashed(site, judged)) if request.full else HostModel(name, judged)
    except StackctlError as error:
        return HostModel(name, problem=error.message)


def _alone(ports: Ports, request: ModelRequest, folder: str) -> ModelResult:
    """A folder of this machine, by itself: without a stack there is nothing that it should be."""
    if request.selection.stack or request.hosts:
        raise UsageError("--folder is a folder of this machine", "leave STACK and --hosts out")
    with folder_here(ports, folder) as (site, found):
        judged = Judged(found, findings(found))
        whole = _hashed(site, judged) if request.full else (judged, None)
    return harmless(ModelResult("", None, (HostModel("here", *whole),)))


def _hashed(site: Site, judged: Judged) -> tuple[Judged, Whole]:
    """One file at a time, so that what was read stays known after Ctrl-C. Adds a finding for each that is another."""
    said = whole_files(site, judged.model)
    known = _known(site.stack, judged.model)
    wrong = [*_wrong(judged.model, said, known)]
    right = sum(one.get("sha256") == known.get(name) for name, one in said.items() if name in known)
    digests = {name: str(one["sha256"]) for name, one in said.items() if "sha256" in one}
    cached = sum(bool(one.get("cached")) for one in said.values())
    told = tuple(replace(one, host=site.name) for one in wrong)
    return replace(judged, findings=(*told, *judged.findings)), Whole(
        right, len(set(digests) - set(known)), cached, digests
    )


def whole_files(site: Site, model: ModelDir) -> dict[str, dict[str, object]]:
    """sha256 of each whole shard, as onhost/model_hashes.py says it."""
    total, done = sum(one.size for one in model.shards), 0
    answers: dict[str, dict[str, object]] = {}
    with site.ports.progress.step(f"{site.name}: sha256 of {len(model.shards)} shards, {total / GIB:.1f} GiB"):
        for number, shard in enumerate(model.shards, 1):
            at = f"shard {number} of {len(model.shards)}, {done / GIB:.1f} of {total / GIB:.1f} GiB done"
            site.ports.progress.live(f"{site.name}: {at}")
            asked = {"path": model.path, "hash": [shard.name], "cache": CACHE}
            answers |= site.ask("model", asked, timeout=HASH)["hashes"]
            done += shard.size
    return answers


def _known(stack: ResolvedStack, model: ModelDir) -> dict[str, str]:
    """What the hub's client wrote down, and before that what the manifest says."""
    pinned = {} if stack.model.pins is None else parse(stack.model.pins).shards
    found = {one.name: one.published for one in model.shards if one.published}
    return found | {name: one.sha256 for name, one in pinned.items() if one.sha256}


def _wrong(model: ModelDir, said: Mapping[str, Mapping[str, object]], known: Mapping[str, str]) -> Iterator[Finding]:
    for name, one in said.items():
        words = one.get("fault")
        if words is None and name in known and one["sha256"] != known[name]:
            words = f"sha256 of the whole file is {one['sha256']}, it should be {known[name]}"
        if words is not None:
            seen = Evidence(f"sha256sum {model.path}/{name}", str(words))
            yield finding("MODEL-SHA256", "error", f"{name}: {words}", [seen], "Fetch the file again.")

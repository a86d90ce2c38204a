"""What a deploy will do, said before it is done: steps as sentences, and what nobody knows yet.

Pure: the same facts give the same plan; `deploy -n` prints it and `deploy` follows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from stackctl.core.deploy.facts import HostFacts, Prepared
from stackctl.core.deploy.record import Record, RecordedLaunch
from stackctl.core.deploy.refuse import refusals
from stackctl.core.deploy.values import Release
from stackctl.core.names import SGLANG

Decision = Literal["keep", "cut over"]
MIB = 1 << 20


def decide(release: str, facts: HostFacts) -> Decision:
    """Keep what serves already, whole and after a finished cut-over; it only has to pass its gate again."""
    serving = facts.served == release and facts.unfinished is None and not facts.cutover
    return "keep" if serving and facts.is_up(release) else "cut over"


def seconds(value: float) -> str:
    """`60 min`, `25 s`"""
    return f"{value / 60:g} min" if value >= 120 and value % 60 == 0 else f"{value:g} s"


def sentences(release: Release, record: Record, facts: HostFacts | None, prepared: Prepared | None) -> tuple[str, ...]:
    """The plan; `facts` None when the host could not be asked."""
    if facts is not None and decide(release.id, facts) == "keep":
        return (
            f"{record.host}: release {release.id} serves already: nothing is stopped",
            *_gate(release, record),
            *_unknown(release, record, facts, prepared),
        )
    return (
        *_prepare(release, record, facts),
        *_stop(release, record, facts),
        *_start(release, record),
        *_gate(release, record),
        *_end(release, record, facts),
        *_unknown(release, record, facts, prepared),
    )


def _prepare(release: Release, record: Record, facts: HostFacts | None) -> Iterator[str]:
    host, stack = record.host, release.stack
    yield f"{host}: take the hold of {stack.name}; exit 4 when someone else has it"
    for source, tree in {SGLANG: record.tree, **record.sources}.items():
        there = facts is not None and facts.has_tree(tree)
        count = sum(patch.source == source for patch in release.tree.patches)
        base = "the base" if source == SGLANG else source
        what = f"tree {tree[:12]} ({count} patch{'es' * (count != 1)} on {base})"
        yield f"{host}: " + (
            f"{what} is there; verify it by its blob ids" if there else f"upload {what}, verified there"
        )
    if record.pinned:
        yield f"{host}: compare {record.pinned} with the manifest, small files and heads of shards"
    yield f"{host}: link native files of the same packages into it, where {record.python} has some that it lacks"
    yield f"{host}: write release {release.id}: {', '.join(release.scripts)}"
    packages = "".join(f", and is {name} {version}" for name, version in record.packages.items())
    yield f"{host}: look whether {record.python} imports what {record.module} needs{packages}"
    cards = f"; cards {_list(record.cards)} are free" if record.cards else ""
    secrets = f"; {', '.join(record.secrets)} are set" if record.secrets else ""
    yield f"{host}: look whether ports {_list(record.ports)} are free{cards}{secrets}; nothing is stopped if not"


def _stop(release: Release, record: Record, facts: HostFacts | None) -> Iterator[str]:
    host, drain = record.host, seconds(release.stack.timeouts.drain)
    order = "router first, then the engines; requests get at most " + drain
    if facts is None:
        yield f"{host}: stop the release that serves, if one does ({order})"
    elif facts.served:
        yield f"{host}: stop release {facts.served} ({order}): from here on, nothing answers until the gate"
    elif facts.processes:
        yield f"{host}: end what is left of this stack: pids {_list(facts.processes)}"
    else:
        yield f"{host}: nothing to stop"
    if record.cards:
        yield f"{host}: wait until cards {_list(record.cards)} are free"


def _start(release: Release, record: Record) -> Iterator[str]:
    engines = [launch for launch in record.launches if launch.role != "router"]
    for launch in engines:
        yield f"{record.host}: start {_placed(launch)}"
    limit = seconds(release.stack.timeouts.start)
    yield f"{record.host}: wait until they are healthy, at most {limit}; fail at once when one exits"
    for launch in record.launches:
        if launch.role == "router":
            yield f"{record.host}: start {_placed(launch)}, in front of {', '.join(item.instance for item in engines)}"


def _placed(launch: RecordedLaunch) -> str:
    cards = f" on cards {_list(launch.gpus)}" if launch.gpus else ""
    return f"{launch.instance}{cards}, port{'s' if len(launch.ports) > 1 else ''} {_list(launch.ports)}"


def _gate(release: Release, record: Record) -> Iterator[str]:
    router = f"; {record.router} has exactly these workers, healthy" if record.router else ""
    yield f"{record.host}: gate: each engine says release {release.id} and the rendered arguments{router}"
    count, probe = max(3, release.stack.gate.requests), seconds(release.stack.timeouts.probe)
    calls = f"{count} tool calls through {record.url}, each within {probe}"
    yield f"{record.host}: gate: {calls}, one prompt longer than a page and a prefill chunk"


def _end(release: Release, record: Record, facts: HostFacts | None) -> Iterator[str]:
    keep = release.stack.keep_releases
    yield f"{record.host}: make {release.id} current; keep {keep} releases"
    if facts is None:
        yield f"{record.host}: if it fails: bring back and gate what served before (exit 5), else stop it (exit 1)"
    elif facts.served and facts.served != release.id:
        yield f"{record.host}: if it fails: start and gate {facts.served} again (exit 5; 6 if that fails too)"
    else:
        yield f"{record.host}: if it fails: stop it; then nothing serves (exit 1)"


def _unknown(release: Release, record: Record, facts: HostFacts | None, prepared: Prepared | None) -> Iterator[str]:
    host = record.host
    if facts is None:
        yield (
            f"plan made without having looked at {host}: not known: what serves there now, who holds it, its free "
            f"disk, whether the interpreter, ports{', cards' if record.cards else ''} and model path are there"
        )
        return
    if prepared is not None:
        for problem in refusals(record, facts, prepared):
            yield f"would be refused now: {problem.message}"
        for tree, faults in {record.tree: prepared.tree, **prepared.sources}.items():
            if faults is None:
                yield f"not known until tree {tree[:12]} is there: whether {record.python} imports all that it needs"
    if facts.hold is not None:
        yield f"held now by {facts.hold.who}: {facts.hold.command}"


def _list(values: tuple[int, ...]) -> str:
    """`0-3, 8998`: runs of cards and pids are shortened."""
    parts: list[str] = []
    run: list[int] = []
    for value in sorted(values):
        if run and value == run[-1] + 1:
            run.append(value)
            continue
        parts += _run(run)
        run = [value]
    return ", ".join(parts + _run(run))


def _run(run: list[int]) -> list[str]:
    return [f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(value) for value in run]

"""What of a stack runs on a host now, against what its release says and what the stack file says.

Processes are known by their mark in the environment, never by their command line. What a process or an engine does
not tell is no finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackctl.core.deploy.record import Record
from stackctl.core.doctor.arguments import differences, module_of
from stackctl.core.doctor.drift import changes
from stackctl.core.doctor.there import LABEL, Answer, Planned, There
from stackctl.core.doctor.values import Engine, Evidence, Finding, Severity

SHOWN = 12  # differences in one finding


def findings(planned: Planned, there: There) -> tuple[Finding, ...]:
    record = there.record
    if there.fault:
        return (*_unread(planned, there), *_foreign(planned, there))
    if there.state.cutover:
        return (_cutover(planned, there), *_foreign(planned, there))
    if record is None:
        return (*_nothing(planned, there), *_others(planned, there))
    return (
        *_serving(planned, there, record),
        *_gone(planned, there, record),
        *_arguments(planned, there, record),
        *_answers(planned, there, record),
        *_others(planned, there),
        *_drift(planned, there),
    )


def _others(planned: Planned, there: There) -> Iterator[Finding]:
    yield from _strays(planned, there)
    yield from _foreign(planned, there)
    yield from _labelled(planned, there)


def _drift(planned: Planned, there: There) -> Iterator[Finding]:
    """The host against what it was when this release was last well."""
    if not there.saved:
        return
    last = there.saved[-1]
    for change in changes(last.facts, there.facts):
        message = f"{change.what} was {change.then} at the last {last.moment}, and is {change.now}"
        typed = f"stackctl doctor {planned.stack} --since {last.moment.release}"
        evidence = Evidence(typed, f"{change.then} -> {change.now}")
        yield Finding("DRIFT", change.severity, message, (evidence,), f"Is it meant? {change.why}.", section="drift")


def _unread(planned: Planned, there: There) -> Iterator[Finding]:
    """Where the folder is closed to us, HOME-CLOSED says so."""
    if not there.facts.home:
        message = f"what runs of {planned.stack} is not known: {there.fault}"
        seen = _seen("ls -l", planned, "", there.fault)
        remedy = "Read what it says; a deploy would end there too."
        yield _finding("RUNS-UNREAD", "warning", message, seen, remedy)


def _cutover(planned: Planned, there: There) -> Finding:
    status = there.state.status
    seen = _seen("cat", planned, "status.json", f"{status.kind}: {status.step}" if status else "(none)")
    message = "a cut-over goes on here: what runs is about to change"
    return _finding("RUNS-CUTOVER", "info", message, seen, f"stackctl status {planned.stack} shows how far it is.")


def _seen(command: str, planned: Planned, name: str, said: str) -> tuple[Evidence, ...]:
    """Of a file of the stack's folder."""
    return (Evidence(f"{command} ~/.stackctl/{planned.stack}/{name}".rstrip("/"), said),)


def _nothing(planned: Planned, there: There) -> Iterator[Finding]:
    release = f"; the stack file says {planned.release}" if planned.release else ""
    yield _finding(
        "RUNS-NOTHING",
        "info",
        f"nothing of {planned.stack} serves here{release}",
        _seen("readlink", planned, "current", _link(there)),
        f"stackctl deploy {planned.stack}",
    )


def _serving(planned: Planned, there: There, record: Record) -> Iterator[Finding]:
    """The release that serves, and how the stack file differs from it."""
    seen = _seen("readlink", planned, "current", _link(there))
    if not planned.release:
        message = f"release {record.release} serves; what the stack file says now cannot be made: {planned.why}"
        yield _finding("RUNS-RELEASE", "info", message, seen, f"stackctl check {planned.stack}")
    elif planned.release == record.release:
        yield _finding("RUNS-RELEASE", "info", f"release {record.release} serves, as the stack file says", seen, "")
    else:
        rows = tuple(_between(planned, record))
        severity: Severity = "info" if record.variant else "warning"
        what = f" ({record.variant})" if record.variant else ""
        message = f"release {record.release}{what} serves, the stack file says {planned.release} now"
        evidence = (Evidence(f"stackctl status {planned.stack}", _rows(rows)),) if rows else seen
        yield _finding("RUNS-OTHER-RELEASE", severity, message, evidence, f"stackctl deploy {planned.stack}")


def _between(planned: Planned, record: Record) -> Iterator[str]:
    launched = {one.instance: one for one in record.launches}
    said = {one.instance: one for one in planned.launches}
    for name in sorted({*launched, *said}):
        if name not in said:
            yield f"{name} is not in the stack file any more"
        elif name not in launched:
            yield f"{name} is new in the stack file"
        else:
            table = planned.table_of(said[name])
            yield from (f"{name}: {row}" for row in differences(launched[name].argv, said[name].argv, table=table))
    if tuple(record.trees) != planned.trees:
        here, new = (", ".join(tree[:12] for tree in trees) for trees in (record.trees, planned.trees))
        yield f"patched tree {here} serves, the stack file gives {new}"


def _gone(planned: Planned, there: There, record: Record) -> Iterator[Finding]:
    alive = {one.instance: one for one in there.state.instances if one.release == record.release}
    for launch in record.launches:
        seen = alive.get(launch.instance)
        if seen is None or not seen.alive:
            code = "" if seen is None or seen.exit is None else f": it exited with {seen.exit}"
            path = f"~/.stackctl/{planned.stack}/releases/{record.release}/run/{launch.instance}"
            evidence = (Evidence(f"cat {path}.exit", "(none)" if not code else str(seen.exit if seen else "")),)
            message = f"{launch.instance} of the release that should serve does not run{code}"
            remedy = f"stackctl logs {planned.stack}, then stackctl restart {planned.stack}"
            yield _finding("RUNS-GONE", "error", message, evidence, remedy)


def _arguments(planned: Planned, there: There, record: Record) -> Iterator[Finding]:
    """A process that was started otherwise than its release says, by its own command line or its environment."""
    for launch in record.launches:
        engine = there.engine(launch.instance)
        if engine is None or engine.release != record.release:
            continue
        rows = differences(engine.argv, launch.argv, source="its release") if module_of(engine.argv) else ()
        if planned.release == record.release:
            rows += tuple(_environment(engine, planned))
        if rows:
            message = f"{launch.instance} runs with other arguments than its release {record.release} says"
            evidence = Evidence(f"tr '\\0' ' ' </proc/{engine.pid}/cmdline", _rows(rows))
            remedy = f"Somebody edited a script of the release: stackctl restart {planned.stack} writes it anew."
            yield _finding("RUNS-OTHER-ARGUMENTS", "error", message, (evidence,), remedy)


def _environment(engine: Engine, planned: Planned) -> Iterator[str]:
    wanted = next((one.env for one in planned.launches if one.instance == engine.instance), {})
    for name, value in wanted.items():
        if name in engine.env and engine.env[name] != value:
            yield f"{name} is {engine.env[name]!r}, the stack says {value!r}"


def _answers(planned: Planned, there: There, record: Record) -> Iterator[Finding]:
    """What each says of itself. Without an answer of one that runs, nobody knows more."""
    running = {one.instance for one in there.state.instances if one.alive and one.release == record.release}
    for launch in record.launches:
        answer = there.answers.get(launch.instance)
        if answer is None or launch.instance not in running:
            continue
        path = "/workers" if launch.role == "router" else "/server_info"
        asked = f"curl -s {launch.inside}{path}"
        if answer.status != 200:
            said = f"answers {answer.status}" if answer.status else "does not answer"
            evidence = (Evidence(asked, answer.why or f"status {answer.status}, and no words"),)
            remedy = f"It may still start, or hang: stackctl logs {planned.stack}."
            yield _finding("RUNS-SILENT", "error", f"{launch.instance} runs and {said} at {path}", evidence, remedy)
        elif launch.role == "router":
            yield from _workers(record, answer, asked)
        else:
            yield from _told(launch.instance, record, answer, asked)
            yield from _imported(launch.instance, there, record, answer, asked)


def _workers(record: Record, answer: Answer, asked: str) -> Iterator[Finding]:
    wanted = sorted(one.url for one in record.launches if one.role != "router")
    if list(answer.workers) != wanted:
        evidence = (Evidence(asked, "\n".join(answer.workers) or "(no worker)"),)
        message = f"the router has other workers than planned: {', '.join(wanted)}"
        remedy = "Somebody added or removed one, or one died: stackctl restart brings the planned ones."
        yield _finding("RUNS-WORKERS", "error", message, evidence, remedy)


def _imported(instance: str, there: There, record: Record, answer: Answer, asked: str) -> Iterator[Finding]:
    tree = f"{there.state.root}/trees/{record.tree}"
    if answer.module and not answer.module.startswith(f"{tree}/"):
        message = f"{instance} was imported from {answer.module}, not from the release's tree"
        remedy = "A .pth file, a sitecustomize.py or an import hook comes first: a deploy refuses and says which."
        yield _finding("RUNS-ELSEWHERE", "error", message, (Evidence(asked, f"import_path: {answer.module}"),), remedy)


def _told(instance: str, record: Record, answer: Answer, asked: str) -> Iterator[Finding]:
    if answer.release and answer.release != record.release:
        message = f"at the port of {instance} release {answer.release} answers, not {record.release}"
        evidence = (Evidence(asked.replace("/server_info", "/model_info"), f"weight_version: {answer.release}"),)
        yield _finding("RUNS-ANOTHER", "error", message, evidence, "Look which process has the port: section ports.")
    if answer.differs:
        rows = tuple(f"{name} is {there!r}, rendered was {wanted!r}" for name, there, wanted in answer.differs)
        message = f"{instance} says other values in /server_info than it was started with"
        remedy = "If the engine itself rewrites a value, write what it makes of it; else deploy again."
        yield _finding("RUNS-OTHER-VALUES", "warning", message, (Evidence(asked, _rows(rows)),), remedy)


def _strays(planned: Planned, there: There) -> Iterator[Finding]:
    """Ours, of a release that does not serve."""
    for seen in there.state.instances:
        if seen.alive and seen.release != there.state.served:
            message = f"{seen.instance} of release {seen.release} runs, which does not serve"
            evidence = (Evidence(f"ps -fp {seen.pid}", f"pid {seen.pid}"),)
            yield _finding("RUNS-STRAY", "warning", message, evidence, f"stackctl stop {planned.stack} ends it.")


def _foreign(planned: Planned, there: There) -> Iterator[Finding]:
    """An engine that somebody else started on a port of the stack, by hand or by another stack. A deploy refuses it."""
    for port, instance in sorted(planned.ports.items()):
        engine = there.facts.stranger(port)
        if engine is None:
            continue
        place = f", in the container {engine.container}" if engine.container else ""
        who = f"of the stack {engine.stack}" if engine.stack else "that stackctl did not start"
        message = f"port {port} of {instance} is served by an engine {who}: pid {engine.pid} ({engine.user}){place}"
        remedy = "stackctl ends no process that is not its own: stop it, or give the stack another port."
        if engine.stack:
            remedy = f"stackctl stop {engine.stack}, or give one of them another port."
        yield _finding("RUNS-BY-HAND", "error", message, tuple(_of_stranger(planned, there, engine, port)), remedy)


def _of_stranger(planned: Planned, there: There, engine: Engine, port: int) -> Iterator[Evidence]:
    """Its command line, its container, and how it differs from what the stack would start at that port."""
    yield Evidence(f"tr '\\0' ' ' </proc/{engine.pid}/cmdline", engine.command)
    if container := there.containers.get(engine.container):
        yield Evidence(f"docker inspect {engine.container}", str(container))
    launch = next((one for one in planned.launches if one.port == port), None)
    if launch is not None and module_of(engine.argv):
        rows = differences(engine.argv, launch.argv, table=planned.table_of(launch))
        yield Evidence(f"{launch.instance} as the stack says it", _rows(rows) or "the same arguments")


def _labelled(planned: Planned, there: There) -> Iterator[Finding]:
    """Containers that say they are of this stack: which release and image they are by their labels."""
    for id, container in there.containers.items():
        if container.labels.get(f"{LABEL}stack") == planned.stack:
            release = container.labels.get(f"{LABEL}release", "")
            differs = bool(planned.release) and release != planned.release
            message = f"the container {container.name} is labelled as release {release or '(none)'} of {planned.stack}"
            more = f", the stack file says {planned.release} now" if differs else ""
            evidence = (Evidence(f"docker inspect {id}", str(container)),)
            remedy = (
                f"Start it anew of {planned.release}, or put the stack file back to what it was." if differs else ""
            )
            yield _finding("RUNS-CONTAINER", "warning" if differs else "info", message + more, evidence, remedy)


def _link(there: There) -> str:
    return f"releases/{there.state.current}" if there.state.current else "(none)"


def _rows(rows: Sequence[str]) -> str:
    more = len(rows) - SHOWN
    return "\n".join([*rows[:SHOWN], *([f"… and {more} more"] if more > 0 else [])])


def _finding(id: str, severity: Severity, message: str, evidence: tuple[Evidence, ...], remedy: str) -> Finding:
    return Finding(id, severity, message, evidence, remedy, section="running")

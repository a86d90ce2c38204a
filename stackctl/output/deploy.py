"""How deployments look: one line that says what is so, then what a person needs to go on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from rich.table import Table
from rich.text import Text

from stackctl.commands.deploying.hold import HoldState
from stackctl.commands.deploying.logs import Log
from stackctl.commands.deploying.status import Past
from stackctl.commands.deploying.stop import StopResult
from stackctl.core.deploy.values import Deployment, DeployResult, InstanceState
from stackctl.output.console import Console

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_STYLES = {"running": "green", "exited": "bold red", "absent": "red"}


def show_deploy(console: Console, result: DeployResult) -> None:
    for warning in result.warnings:
        console.note(f"warning: {warning}")
    name = " ".join(word for word in (result.stack, result.variant) if word)
    if result.outcome == "planned":
        console.print(f"{name}: release {result.release}, if it is deployed:")
        steps = Table.grid(padding=(0, 1))
        for number, line in enumerate(result.plan, 1):
            steps.add_row(Text(f"{number:3}."), Text(line))
        console.print(steps)
        return
    what = "serves already and passed its gate again" if result.outcome == "kept" else f"{result.outcome}, serves"
    console.print(Text.assemble((name, "bold"), f": release {result.release} {what} at {result.url}"))
    before = f"; before: {result.previous}" if result.previous and result.outcome != "kept" else ""
    console.print(f"start and gate took {result.start_seconds:.1f} s{before}")
    _show_evidence(console, result.evidence)


def show_stop(console: Console, result: StopResult) -> None:
    if not result.processes and result.release is None:
        console.print(f"{result.stack}: nothing runs on {result.host}")
        return
    what = f"release {result.release}, " if result.release else ""
    console.print(f"{result.stack}: stopped on {result.host} ({what}{result.processes} processes)")
    _show_evidence(console, result.evidence)


def _show_evidence(console: Console, folder: str) -> None:
    if folder:
        console.print(f"it was not well; what it was like is in {folder}")


def show_status(console: Console, found: Deployment) -> None:
    name = " ".join(word for word in (found.stack, found.variant) if word)
    if found.release is None:
        console.print(Text.assemble((found.stack, "bold"), ": nothing serves"))
    else:
        since = f", since {_time(found.since)}" if found.since else ""
        console.print(Text.assemble((name, "bold"), f"{since}, by {found.by}"))
        took = f", started in {found.start_seconds:.1f} s" if found.start_seconds else ""
        others = "".join(f", {name} {tree[:12]}" for name, tree in found.sources.items())
        console.print(f"release {found.release}, tree {(found.tree or '')[:12]}{others}{took}")
        console.print(f"at {found.url}")
        if found.torch:
            console.print(f"torch {found.torch}")
    if found.instances:
        _show_instances(console, found.instances)
    if found.previous:
        console.print(f"previous: {found.previous}")
    if found.hold:
        console.print(Text(f"held by {found.hold}", style="yellow"))
    for note in found.notes:
        console.print(Text(note, style="yellow"))


def _show_instances(console: Console, instances: Sequence[InstanceState]) -> None:
    table = console.table("instance", "host", "state", ">pid", "health", "port")
    for one in instances:
        state = one.state if one.exit_code is None else f"{one.state} {one.exit_code}"
        port = one.url.rpartition(":")[2]
        pid = str(one.pid) if one.pid else "-"
        table.add_row(one.instance, one.host, Text(state, style=_STYLES[one.state]), pid, one.health or "-", port)
    console.print(table)


def show_history(console: Console, attempts: Sequence[Past]) -> None:
    table = console.table("when", "what", "release", "outcome", ">seconds")
    for past in attempts:
        outcome = past.outcome or "unfinished"
        table.add_row(_time(past.when), past.kind, past.release or "-", outcome, f"{past.seconds:.0f}")
    console.print(table if attempts else "nothing was deployed yet")


def show_log(console: Console, log: Log) -> None:
    """With --json one object a line, so that a reader can follow. Colours of a server are for a terminal."""
    if not console.is_terminal:
        log = replace(log, text=COLOURS.sub("", log.text))
    if console.as_json:
        console.json(log, indent=None)
    else:
        console.raw("".join(f"[{log.instance}] {line}\n" for line in log.text.splitlines()))


def show_hold(console: Console, state: HoldState) -> None:
    if state.holder is None:
        console.print(f"{state.stack}: nobody holds {state.host}")
        return
    stale = " It is stale: the next deploy takes it over." if state.stale else ""
    console.print(f"{state.stack}: {state.host} is held by {state.holder}.{stale}")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")

"""The verbs that touch a host: deploy, rollback, restart, stop, prune, status, logs, hold."""

from __future__ import annotations

import contextlib
from typing import Any

import click

from stackctl.app import App, Duration, selects, yes_option
from stackctl.commands.selection import Selection

evidence_option = click.option(
    "--no-evidence", is_flag=True, help="Do not look whether it is well, nor save what shows why it is not."
)
wait_option = click.option("--wait", type=Duration(), metavar="TIME", help="Wait so long for a hold (`90s`, `10m`).")


@click.command(short_help="Serve what the file says, gated; roll back when it fails.")
@click.option("-n", "--dry-run", is_flag=True, help="Print the plan; change nothing.")
@wait_option
@yes_option
@selects
@click.pass_obj
def deploy(app: App, selection: Selection, dry_run: bool, wait: float | None) -> int:
    """Replace what a stack serves by what its file says, gated; roll back when it fails."""
    from stackctl.commands.deploying.deploy import DeployRequest
    from stackctl.commands.deploying.deploy import deploy as run
    from stackctl.output.deploy import show_deploy

    if not dry_run:
        app.may_change()
    return app.show(run(app.ports, DeployRequest(selection, dry_run, app.yes, wait)), show_deploy)


@click.command()
@click.option("--to", metavar="RELEASE", help="A release that is still there; else the one before.")
@wait_option
@yes_option
@selects
@click.pass_obj
def rollback(app: App, selection: Selection, to: str | None, wait: float | None) -> int:
    """Go back to the release that served before, gated."""
    from stackctl.commands.deploying.rollback import RollbackRequest
    from stackctl.commands.deploying.rollback import rollback as run
    from stackctl.output.deploy import show_deploy

    app.may_change()
    return app.show(run(app.ports, RollbackRequest(selection, to, app.yes, wait)), show_deploy)


@click.command(short_help="Start what serves anew, gated; of a sick one save evidence.")
@evidence_option
@wait_option
@yes_option
@selects
@click.pass_obj
def restart(app: App, selection: Selection, wait: float | None, no_evidence: bool) -> int:
    """Stop what serves and start the same release again, gated; of a sick one save evidence first."""
    from stackctl.commands.deploying.restart import restart as run
    from stackctl.output.deploy import show_deploy

    app.may_change()
    return app.show(run(app.ports, selection, yes=app.yes, wait=wait, evidence=not no_evidence), show_deploy)


@click.command(short_help="Stop all processes of a stack; of a sick one save evidence.")
@evidence_option
@wait_option
@yes_option
@selects
@click.pass_obj
def stop(app: App, selection: Selection, wait: float | None, no_evidence: bool) -> int:
    """Stop all that a stack has on its host, no process is left; of a sick one save evidence first."""
    from stackctl.commands.deploying.stop import stop as run
    from stackctl.output.deploy import show_stop

    app.may_change()
    return app.show(run(app.ports, selection, wait, evidence=not no_evidence), show_stop)


@click.command(short_help="Remove old releases, and all that nothing refers to.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would go, and how much room that gives.")
@wait_option
@yes_option
@selects
@click.pass_obj
def prune(app: App, selection: Selection, dry_run: bool, wait: float | None) -> int:
    """Remove old releases, and trees, models, environments and downloads that nothing refers to."""
    from stackctl.commands.deploying.prune import prune as run
    from stackctl.output.prune import show_prune

    if not dry_run:
        app.may_change()
    return app.show(run(app.ports, selection, dry_run=dry_run, wait=wait), show_prune)


@click.command(short_help="What serves, since when, how healthy, who holds the host.")
@click.option("--history", is_flag=True, help="All attempts on the host instead.")
@selects
@click.pass_obj
def status(app: App, selection: Selection, history: bool) -> int:
    """Which release and variant serves, since when, how healthy, who holds the host."""
    from stackctl.commands.deploying.status import history as attempts
    from stackctl.commands.deploying.status import status as run
    from stackctl.output.deploy import show_history, show_status

    if history:
        return app.show(attempts(app.ports, selection), show_history)
    return app.show(run(app.ports, selection, compare=True), show_status)


@click.command()
@click.option("--only", "which", metavar="ROLE", help="A role (prefill) or an instance (prefill-0).")
@click.option("-n", "--lines", type=click.IntRange(0), default=50, show_default=True, help="Of each log.")
@click.option("-f", "--follow", is_flag=True, help="Go on until Ctrl-C.")
@click.option("--release", metavar="RELEASE", help="Of this one; else what serves, else what was tried last.")
@selects
@click.pass_obj
def logs(app: App, /, selection: Selection, **wanted: Any) -> int:
    """The ends of the logs of what serves."""
    from stackctl.commands.deploying.logs import LogsRequest
    from stackctl.commands.deploying.logs import logs as run
    from stackctl.output.deploy import show_log

    request = LogsRequest(selection, **wanted)
    with contextlib.suppress(*((KeyboardInterrupt,) if request.follow else ())):
        run(app.ports, request, lambda log: show_log(app.console, log))
    return 0


@click.group()
def hold() -> None:
    """Take, show or free by hand the hold that a deploy takes."""


@hold.command("take")
@click.option("-m", "--message", default="", help="Why; shown to whoever is kept waiting.")
@yes_option
@selects
@click.pass_obj
def hold_take(app: App, selection: Selection, message: str) -> int:
    """Keep everyone from deploying until `hold release`."""
    from stackctl.commands.deploying.hold import take_hold
    from stackctl.output.deploy import show_hold

    app.may_change()
    return app.show(take_hold(app.ports, selection, message), show_hold)


@hold.command("show")
@selects
@click.pass_obj
def hold_show(app: App, selection: Selection) -> int:
    """Who has it."""
    from stackctl.commands.deploying.hold import show_hold as run
    from stackctl.output.deploy import show_hold

    return app.show(run(app.ports, selection), show_hold)


@hold.command("release")
@click.option("--attempt", metavar="ID", help="Of the holder, when it was not taken by hand.")
@yes_option
@selects
@click.pass_obj
def hold_release(app: App, selection: Selection, attempt: str | None) -> int:
    """Free it."""
    from stackctl.commands.deploying.hold import release_hold
    from stackctl.output.deploy import show_hold

    app.may_change()
    return app.show(release_hold(app.ports, selection, attempt), show_hold)


VERBS: tuple[click.Command, ...] = (deploy, rollback, restart, stop, prune, status, logs, hold)

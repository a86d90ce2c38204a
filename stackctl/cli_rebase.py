"""The verb `stackctl patches rebase`. Nothing is decided here."""

from __future__ import annotations

from typing import Any

import click

from stackctl.app import App, selects, yes_option
from stackctl.commands.selection import Selection
from stackctl.errors import UsageError

GOING_ON = {
    "continue": "Take what was settled in the work tree, and go on.",
    "leave-out": "Leave the waiting patch out, with all that needs it, and go on.",
    "status": "Where an open rebase stands.",
    "abort": "Give an open rebase up; what was edited is kept as a diff.",
}


def _going_on(command: click.decorators.FC) -> click.decorators.FC:
    for name, text in reversed(GOING_ON.items()):
        command = click.option(f"--{name}", "going_on", flag_value=name, help=text)(command)
    return command


@click.command("rebase", short_help="What the queue is worth on another base; write it there.")
@click.option(
    "--onto",
    metavar="BASE",
    help="NAME==VERSION, URL@COMMIT, a COMMIT of the stack's own repository, or a folder.",
)
@click.option("--sha256", metavar="HEX", help="Of the wheel, if you know it; else that of what the index gives.")
@click.option("--keep", multiple=True, metavar="PATCH", help="Keep a patch whose Remove-when holds (repeatable).")
@click.option("--write", is_flag=True, help="Write the new queue beside the old one; wait for hands where it must.")
@click.option("--as", "name", metavar="NAME", help="The new stack's name; else the old one's and the base's.")
@click.option("-n", "--dry-run", is_flag=True, help="With --write: show what would be written.")
@_going_on
@yes_option
@selects
@click.pass_obj
def rebase(app: App, /, selection: Selection, onto: str | None, going_on: str | None, **asked: Any) -> int:
    """One verdict a patch on a new base. Exit 3 while a patch wants hands."""
    from stackctl.commands.rebase import look as looking
    from stackctl.commands.rebase import session
    from stackctl.output.rebase import show_aborted, show_rebase

    if bool(onto) == bool(going_on) or (going_on and any(asked.values())):
        raise UsageError("say --onto BASE, or one of --continue, --leave-out, --status, --abort alone")
    if not asked["dry_run"] and (asked["write"] or going_on in ("continue", "leave-out", "abort")):
        app.may_change()
    if going_on == "abort":
        return app.show(session.abort(app.ports, selection), show_aborted)
    if going_on:
        verbs = {"continue": session.go_on, "leave-out": session.leave_out, "status": session.status}
        return app.show(verbs[going_on](app.ports, selection), show_rebase)
    request = looking.RebaseRequest(selection, onto or "", asked["sha256"], asked["keep"])
    if asked["write"]:
        writing = session.WriteRequest(request, asked["name"], asked["dry_run"])
        return app.show(session.write(app.ports, writing), show_rebase)
    return app.show(looking.rebase(app.ports, request), show_rebase)


VERBS = (rebase,)

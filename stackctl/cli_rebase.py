"""The verb `stackctl patches rebase`. Nothing is decided here."""

from __future__ import annotations

import click

from stackctl.app import App, selects
from stackctl.commands.selection import Selection


@click.command("rebase", short_help="What the queue is worth on another base; write it there.")
@click.option(
    "--onto",
    required=True,
    metavar="BASE",
    help="NAME==VERSION, URL@COMMIT, a COMMIT of the stack's own repository, or a folder.",
)
@click.option("--sha256", metavar="HEX", help="Of the wheel, if you know it; else that of what the index gives.")
@click.option("--keep", multiple=True, metavar="PATCH", help="Keep a patch whose Remove-when holds (repeatable).")
@selects
@click.pass_obj
def rebase(app: App, selection: Selection, onto: str, sha256: str | None, keep: tuple[str, ...]) -> int:
    """One verdict a patch on a new base. Exit 3 when a patch wants hands."""
    from stackctl.commands.rebase import RebaseRequest
    from stackctl.commands.rebase import rebase as run
    from stackctl.output.rebase import show_rebase

    return app.show(run(app.ports, RebaseRequest(selection, onto, sha256, keep)), show_rebase)


VERBS = (rebase,)

"""The verbs of `stackctl patches`: one short function each. Nothing is decided here."""

from __future__ import annotations

import click

from stackctl.app import App, selects
from stackctl.commands.selection import Selection


@click.group()
def patches() -> None:
    """Look at the patch queue of a stack."""


@patches.command("list")
@click.option("--closure", is_flag=True, help="Needs over any number of steps.")
@click.option("--source", metavar="NAME", help="Only those for this source tree.")
@selects
@click.pass_obj
def patches_list(app: App, selection: Selection, closure: bool, source: str | None) -> int:
    """The patches in order: title, area, size, upstream, needs."""
    from stackctl.commands.patches import list_patches
    from stackctl.output.patches import show_list

    return app.show(list_patches(app.ports, selection, closure, source), show_list)


@patches.command("show")
@click.argument("name")
@selects
@click.pass_obj
def patches_show(app: App, selection: Selection, name: str) -> int:
    """One patch: its file, what it needs, what needs it."""
    from stackctl.commands.patches import show_patch as run
    from stackctl.output.patches import show_patch

    return app.show(run(app.ports, name, selection), show_patch)


@patches.command("diff")
@click.option("--stat", is_flag=True, help="Only files and numbers of lines.")
@selects
@click.pass_obj
def patches_diff(app: App, selection: Selection, stat: bool) -> int:
    """The whole queue against the base as one diff."""
    from stackctl.commands.patches import diff_queue
    from stackctl.output.patches import show_diff

    return app.show(diff_queue(app.ports, selection, stat), show_diff)


@patches.command("verify")
@selects
@click.pass_obj
def patches_verify(app: App, selection: Selection) -> int:
    """Each patch alone with its needs; the whole in another order."""
    from stackctl.commands.patches import verify_queue
    from stackctl.output.patches import show_verify

    return app.show(verify_queue(app.ports, selection), show_verify)

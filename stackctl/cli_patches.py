"""The verbs of `stackctl patches`: one short function each. Nothing is decided here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from stackctl.app import App, selects, yes_option
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
    from stackctl.commands.queue.look import list_patches
    from stackctl.output.patches import show_list

    return app.show(list_patches(app.ports, selection, closure, source), show_list)


@patches.command("show")
@click.argument("name")
@selects
@click.pass_obj
def patches_show(app: App, selection: Selection, name: str) -> int:
    """One patch: its file, what it needs, what needs it."""
    from stackctl.commands.queue.look import show_patch as run
    from stackctl.output.patches import show_patch

    return app.show(run(app.ports, name, selection), show_patch)


@patches.command("diff")
@selects
@click.argument("new", required=False)
@click.option("--stat", is_flag=True, help="Only files and numbers of lines.")
@click.option("--name-only", is_flag=True, help="Only names: of files, or with NEW of patches.")
@click.option("--area", metavar="AREA", help="Only what belongs there: attention, index-k, scheduler …")
@click.option("--format", "form", type=click.Choice(["text", "markdown"]), default="text", help="For a pull request.")
@click.option("--exit-code", is_flag=True, help="Exit with 7 when there are differences.")
@click.pass_obj
def patches_diff(app: App, /, selection: Selection, new: str | None, form: str, **wanted: Any) -> int:
    """The queue against the base, or STACK against NEW.

    NEW is a stack or a lock, and so may STACK be; either may end in @REVISION.
    """
    from stackctl.commands.review.diff import Shape, against_base, diff_base, diff_queues
    from stackctl.output.review import show_change, show_diff, show_markdown

    shape = Shape(**wanted)
    if new is None and form == "text":
        return app.show(diff_base(app.ports, selection, shape), show_diff)
    varied = replace(selection, stack=new)
    change = diff_queues(app.ports, selection.stack or "", varied, shape) if new else None
    show = show_markdown if form == "markdown" else show_change
    return app.show(change or against_base(app.ports, selection, shape), show)


@patches.command("inventory")
@selects
@click.option("--stat", is_flag=True, help="Also the files of each patch and their lines.")
@click.option("--name-only", is_flag=True, help="Only the names of the patches.")
@click.option("--area", metavar="AREA", help="Only patches that belong there or touch it.")
@click.option("--html", metavar="FILE", help="Write one page that needs nothing else, with the diffs and the graph.")
@click.pass_obj
def patches_inventory(app: App, /, selection: Selection, html: str | None, **wanted: Any) -> int:
    """What STACK carries against upstream, by area.

    With the age and upstream state of each patch, and what of it is risky under load.
    """
    from stackctl.commands.review.diff import Shape
    from stackctl.commands.review.inventory import save_page, take_inventory
    from stackctl.output.inventory import show_inventory, show_page

    shape = Shape(**wanted)
    if html is None:
        return app.show(take_inventory(app.ports, selection, shape), show_inventory)
    app.may_change()
    return app.show(save_page(app.ports, selection, shape, html), show_page)


@patches.command("verify")
@click.option("--record", is_flag=True, help="Write `Verified-on: BASE DATE …` into each patch, if all are proved.")
@click.option("-n", "--dry-run", is_flag=True, help="With --record: only say which files would get the line.")
@selects
@yes_option
@click.pass_obj
def patches_verify(app: App, selection: Selection, record: bool, dry_run: bool) -> int:
    """Each patch alone with its needs; the whole in another order."""
    from stackctl.commands.queue.look import verify_queue
    from stackctl.output.patches import show_recorded, show_verify

    if not record:
        return app.show(verify_queue(app.ports, selection), show_verify)
    from stackctl.commands.queue.verified import record as run

    if not dry_run:
        app.may_change()
    return app.show(run(app.ports, selection, dry_run), show_recorded)

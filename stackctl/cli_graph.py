"""The verbs of `stackctl patches` about who needs whom: graph, why, move, drop. Nothing is decided here."""

from __future__ import annotations

import click

from stackctl.app import App, common, selects, yes_option
from stackctl.commands.selection import Selection
from stackctl.errors import UsageError


@click.command("graph", short_help="Who needs whom, as a tree, DOT or a drawing.")
@click.option("--dot", is_flag=True, help="All edges, for Graphviz.")
@click.option("--svg", metavar="FILE", help="A drawing that needs nothing else; - prints it.")
@selects
@click.pass_obj
def graph(app: App, selection: Selection, dot: bool, svg: str | None) -> int:
    """Who needs whom: a tree in which each patch stands under what it needs.

    Edges are content, context, tombstone (lines that the other deleted), file, declared, or hint: a Python name that
    the other adds, which is no need.
    """
    from stackctl.commands.queue.graph import graph_of, save_drawing
    from stackctl.core.review.graph import dot as as_dot
    from stackctl.output.graph import show_graph

    if dot and svg:
        raise UsageError("--dot and --svg are two forms of one graph", "Give one of them.")
    found = graph_of(app.ports, selection)
    if svg:
        return app.show(save_drawing(app.ports, found, svg), lambda console, text: console.raw(text))
    return app.show(found, (lambda console, it: console.raw(as_dot(it.graph))) if dot else show_graph)


@click.command("why", short_help="The very lines for which one patch needs another.")
@click.argument("patch")
@click.argument("other")
@selects
@click.pass_obj
def why(app: App, selection: Selection, patch: str, other: str) -> int:
    """Why PATCH needs OTHER: the lines of both patch files and of the tree, over every patch between them."""
    from stackctl.commands.queue.graph import why as run
    from stackctl.output.graph import show_why

    return app.show(run(app.ports, patch, other, selection), show_why)


@click.command("move", short_help="Put a patch elsewhere in the queue.")
@click.argument("name")
@click.argument("stack", required=False)
@click.option("--after", metavar="PATCH", help="Right after this one.")
@click.option("--before", metavar="PATCH", help="Right before this one.")
@click.option("-n", "--dry-run", is_flag=True, help="Prove it and show the change; write nothing.")
@yes_option
@common
@click.pass_obj
def move(app: App, /, name: str, stack: str | None, dry_run: bool, **side: str | None) -> int:
    """Move NAME within the queue of STACK, once the new order is proved to give the same tree."""
    from stackctl.commands.queue.requeue import Beside, move_patch
    from stackctl.output.requeue import show_requeued

    given = [(other, where == "before") for where, other in side.items() if other]
    if len(given) != 1:
        raise UsageError("a patch moves to one place", "Give --after PATCH or --before PATCH.")
    if not dry_run:
        app.may_change()
    return app.show(move_patch(app.ports, name, Beside(*given[0]), stack, dry_run=dry_run), show_requeued)


@click.command("drop", short_help="Take a patch out of the queue.")
@click.argument("name")
@click.argument("stack", required=False)
@click.option("--with-dependants", is_flag=True, help="Drop all that needs it, too.")
@click.option("--here", is_flag=True, help="Leave alone what STACK extends: `without` in its own file.")
@click.option("--delete-file", is_flag=True, help="Delete the patch files that no stack names any more.")
@click.option("-n", "--dry-run", is_flag=True, help="Prove it and show the change; write nothing.")
@yes_option
@common
@click.pass_obj
def drop(app: App, /, name: str, stack: str | None, dry_run: bool, **flags: bool) -> int:
    """Drop NAME from the queue of STACK, once the rest is proved to stand without it. Its file stays."""
    from stackctl.commands.queue.requeue import Dropping, drop_patch
    from stackctl.output.requeue import show_requeued

    if not dry_run:
        app.may_change()
    dropping = Dropping(name, flags["here"], flags["with_dependants"], flags["delete_file"])
    return app.show(drop_patch(app.ports, dropping, stack, dry_run=dry_run), show_requeued)


VERBS = (graph, why, move, drop)

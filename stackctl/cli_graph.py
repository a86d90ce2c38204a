"""The verbs of `stackctl patches` about who needs whom: graph, why, move, drop. Nothing is decided here."""

from __future__ import annotations

import click

from stackctl.app import App, selects
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
    from stackctl.commands.graph import graph_of, save_drawing
    from stackctl.core.patches.graph import dot as as_dot
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
    from stackctl.commands.graph import why as run
    from stackctl.output.graph import show_why

    return app.show(run(app.ports, patch, other, selection), show_why)


VERBS = (graph, why)

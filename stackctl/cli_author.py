"""The verbs of `stackctl patches` in which a person edits: new, edit, refresh. Nothing is decided here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from stackctl.app import App, common, yes_option

TRAILERS = {
    "area": "Area: scheduler, kernels, tool-calls … (else derived from the paths).",
    "why": "Why the patch exists, in one sentence.",
    "upstream": "Pending, Submitted URL, Backport COMMIT or Inappropriate REASON (else Pending).",
    "remove-when": "When it may go: a release, a merged URL, a condition.",
    "risk": "low, medium or high, and why.",
}


def trailer_options(command: Callable[..., int]) -> Callable[..., int]:
    """One option for each trailer, as one `trailers` argument."""

    def run(*args: object, **given: Any) -> int:
        trailers = {key.capitalize(): given.pop(key.replace("-", "_")) or "" for key in TRAILERS}
        return command(*args, trailers=trailers, **given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__dict__.update(command.__dict__)
    wrapped: Callable[..., int] = run
    for key, text in reversed(TRAILERS.items()):
        wrapped = click.option(f"--{key}", metavar="TEXT", help=text)(wrapped)
    return wrapped


@click.command("new", short_help="Open a work tree for a new patch.")
@click.argument("name")
@click.argument("stack", required=False)
@click.option("--after", metavar="PATCH", help="Where it goes in the queue; else at the end.")
@click.option("--before", metavar="PATCH", help="Where it goes in the queue.")
@click.option("--source", metavar="NAME", help="The source tree that it is for, if not sglang.")
@yes_option
@common
@click.pass_obj
def new(app: App, /, name: str, stack: str | None, **where: str | None) -> int:
    """Open a work tree for a new patch NAME, the queue up to there applied."""
    from stackctl.commands.authoring.begin import NewRequest, new_patch
    from stackctl.output.authoring import show_open

    if where["after"] and where["before"]:
        raise click.UsageError("--after or --before, not both")
    app.may_change()
    request = NewRequest(name, stack, where["after"], where["before"], where["source"])
    return app.show(new_patch(app.ports, request), show_open)


@click.command("edit", short_help="Open a work tree with the change of a patch; without NAME list what is open.")
@click.argument("name", required=False)
@click.argument("stack", required=False)
@click.option("--update", is_flag=True, help="Put an open edit onto the queue as it is now.")
@click.option("--status", is_flag=True, help="List what is open.")
@yes_option
@common
@click.pass_obj
def edit(app: App, name: str | None, stack: str | None, update: bool, status: bool) -> int:
    """Open a work tree with the change of patch NAME uncommitted in it; one that is open is left as it is."""
    from stackctl.commands.authoring.begin import edit_patch, open_edits
    from stackctl.output.authoring import show_all, show_open

    if status or name is None:
        if update:
            raise click.UsageError("--update wants the NAME of an open edit")
        return app.show(open_edits(app.ports), show_all)
    app.may_change()
    return app.show(edit_patch(app.ports, name, stack, update=update), show_open)


@click.command("refresh", short_help="Fold the edits of a work tree back into its patch.")
@click.argument("name", required=False)
@click.argument("stack", required=False)
@click.option("-m", "--message", multiple=True, metavar="TEXT", help="Title of a new patch; again: a paragraph.")
@trailer_options
@click.option("--author", metavar="'NAME <MAIL>'", help="Of a new patch; else as your git signs.")
@click.option("--keep", is_flag=True, help="Leave the edit open.")
@click.option("--keep-going", is_flag=True, help="Write although patches above it conflict.")
@click.option("--overwrite", is_flag=True, help="Write over a diff that somebody else has changed meanwhile.")
@click.option("--abort", is_flag=True, help="Give the edit up; its diff is kept beside it.")
@click.option("-n", "--dry-run", is_flag=True, help="Print what would be written; change nothing.")
@yes_option
@common
@click.pass_obj
def refresh(app: App, /, name: str | None, stack: str | None, trailers: dict[str, str], **given: Any) -> int:
    """Fold an open edit into its patch file, a new one into the stack, and prove the rest of the queue.

    Without NAME: the edit whose work tree you are in, or the only one.
    """
    from stackctl.commands.authoring.begin import abort
    from stackctl.commands.authoring.message import Words
    from stackctl.commands.authoring.refresh import RefreshRequest
    from stackctl.commands.authoring.refresh import refresh as run
    from stackctl.output.authoring import show_aborted, show_refreshed

    if not given["dry_run"]:
        app.may_change()
    if given["abort"]:
        return app.show(abort(app.ports, name, stack, app.yes), show_aborted)
    words = Words("\n\n".join(given["message"]) or None, trailers, given["author"], _editor(app))
    flags = {"keep_open": given["keep"], **{key: given[key] for key in ("keep_going", "overwrite", "dry_run")}}
    return app.show(run(app.ports, RefreshRequest(name, stack, words, **flags)), show_refreshed)


def _editor(app: App) -> Callable[[str], None] | None:
    """$VISUAL or $EDITOR on a file, where somebody sits before a terminal."""
    if app.console.as_json or app.yes or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None

    def ask(file: str) -> None:
        app.console.still()
        click.edit(filename=file)

    return ask


VERBS = (new, edit, refresh)

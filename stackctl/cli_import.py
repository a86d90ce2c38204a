"""`patches import` and `patches export`: options become a request. Nothing is decided here."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any

import click

from stackctl.app import App, common, selects, yes_option
from stackctl.cli_author import trailer_options
from stackctl.commands.selection import Selection

SOURCES = {
    "installed": ("PATH", "An installation or dirty checkout as it stands; HOST:PATH on a host of the stack."),
    "from": ("REPO", "A fork: a git repository; with --range."),
    "mbox": ("FILE", "A mailbox of patches, or one mail."),
    "folder": ("DIR", "A folder of patches; see --order."),
    "patch": ("FILE", "A patch file (repeatable, in the order given)."),
    "overlay": ("FILE=PATH", "A whole file that replaces PATH (repeatable); with --replaces."),
    "dockerfile": ("FILE", "A Dockerfile that copies, seds or patches; see --root."),
    "script": ("FILE", "A program that edits files; it runs in a scratch copy of the tree."),
}
MANY = ("patch", "overlay")


def _sources(command: Callable[..., int]) -> Callable[..., int]:
    for name, (metavar, text) in reversed(SOURCES.items()):
        option = click.option(f"--{name}", f"from_{name}", metavar=metavar, multiple=name in MANY, help=text)
        command = option(command)
    return command


@click.command("import", short_help="Patches from a fork, an installation, mails, diffs, a Dockerfile, a script.")
@click.argument("stack", required=False)
@_sources
@click.option("--range", "range_", metavar="BASE..HEAD", help="The commits of --from.")
@click.option("--order", metavar="HOW", help="Of --folder: `series`, a FILE that lists names, or names with commas.")
@click.option("--replaces", multiple=True, metavar="SHA256", help="Of the file that an --overlay replaces, or `none`.")
@click.option("--context", metavar="DIR", help="Of --dockerfile: what COPY copies from; else its own folder.")
@click.option("--arg", "args", multiple=True, help="Of --script, repeatable; {tree} is the scratch tree.")
@click.option("--timeout", type=float, default=120.0, show_default=True, help="Seconds for each run of a program.")
@click.option("--split", is_flag=True, help="Of --installed: one patch a file instead of one for all.")
@click.option("--keep-missing", is_flag=True, help="Of --installed: files that are missing there are not deleted.")
@click.option("--root", "roots", multiple=True, metavar="PREFIX=FOLDER", help="An installation folder and its tree's.")
@click.option("--only", multiple=True, metavar="FOLDER", help="Of --from: only what lies below (repeatable).")
@click.option("--topic", metavar="NAME", help="The folder of patches/ to write into.")
@click.option("--name", "names", multiple=True, metavar="[N=]NAME", help="The name of the Nth patch.")
@click.option("--title", help="The subject of what has none.")
@click.option("--onto", type=click.Choice(["queue", "base"]), default="queue", help="Behind the queue, or before it.")
@click.option("--source", default="sglang", metavar="NAME", help="The source tree that the patches are for.")
@click.option("--fix-crlf", is_flag=True, help="Take the CRs out of a diff that somebody converted.")
@click.option("--partial", is_flag=True, help="Of --dockerfile: import what can be replayed, list the rest.")
@click.option("--add", is_flag=True, help="Write the lines into the stack file too.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be written.")
@trailer_options
@yes_option
@common
@click.pass_obj
def import_verb(app: App, /, stack: str | None, trailers: dict[str, str], **given: Any) -> int:
    """Make canonical patches of whatever a fork is kept as, and prove that they give the same tree."""
    from stackctl.commands.importing.ground import How
    from stackctl.commands.importing.verb import ImportRequest, import_patches
    from stackctl.output.importing import show_import

    if not given["dry_run"]:
        app.may_change()
    kind, value = _chosen(given)
    how = How(_pairs("--root", given["roots"]), given["only"], given["fix_crlf"], given["partial"], given["title"])
    request = ImportRequest(
        Selection(stack),
        _take(kind, value, given),
        given["topic"] or _topic(kind, value),
        _numbered(given["names"]),
        how,
        trailers,
        given["onto"],
        given["source"],
        given["add"],
        given["dry_run"],
    )
    return app.show(import_patches(app.ports, request), show_import)


@click.command("export", short_help="The queue as a branch of commits, or as a mailbox.")
@click.option("--branch", metavar="NAME", help="The branch to make; with --to.")
@click.option("--to", metavar="REPO", help="The repository that gets it.")
@click.option("--parent", metavar="COMMIT", help="The commit of REPO that holds the base; else one is made.")
@click.option("--mbox", metavar="FILE", help="A mailbox instead.")
@click.option("-n", "--dry-run", is_flag=True, help="Show ids and names; write nothing.")
@yes_option
@selects
@click.pass_obj
def export_verb(app: App, /, selection: Selection, dry_run: bool, **where: str | None) -> int:
    """Write the queue as real commits with reproducible ids, or as a mailbox; an import gives the same files back."""
    from stackctl.commands.importing.export import ExportRequest, export_patches
    from stackctl.output.importing import show_export

    if (where["mbox"] is None) == (where["branch"] is None):
        raise click.UsageError("say --branch NAME --to REPO, or --mbox FILE")
    if not dry_run:
        app.may_change()
    return app.show(export_patches(app.ports, ExportRequest(selection, **where, dry_run=dry_run)), show_export)


def _chosen(given: dict[str, Any]) -> tuple[str, Any]:
    said = [name for name in SOURCES if given[f"from_{name}"]]
    if len(said) != 1:
        raise click.UsageError("say one of " + ", ".join(f"--{name}" for name in SOURCES))
    return said[0], given[f"from_{said[0]}"]


def _take(kind: str, value: Any, given: dict[str, Any]) -> Any:
    """What reads the source, bound to its options."""
    from stackctl.commands.importing import sources

    match kind:
        case "from":
            if not given["range_"]:
                raise click.UsageError("--from wants --range BASE..HEAD")
            return sources.fork(value, given["range_"])
        case "mbox" | "patch":
            return sources.files([value] if kind == "mbox" else list(value))
        case "folder":
            return sources.folder(value, given["order"])
        case "installed":
            return sources.installed(value, split=given["split"], keep_missing=given["keep_missing"])
        case "overlay":
            return sources.overlays(_pairs("--overlay", value), given["replaces"])
        case "script":
            return sources.script(value, given["args"], given["timeout"])
        case _:
            return sources.dockerfile(value, given["context"], given["timeout"])


def _pairs(option: str, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for value in values:
        left, equals, right = value.partition("=")
        if not equals or not left:
            raise click.UsageError(f"{option} wants two names with `=` between them, got {value!r}")
        pairs[left] = right
    return pairs


def _numbered(names: tuple[str, ...]) -> dict[int, str]:
    found = {}
    for value in names:
        number, equals, name = value.rpartition("=")
        if equals and not number.isdigit():
            raise click.UsageError(f"--name wants NAME or NUMBER=NAME, got {value!r}")
        found[int(number) if equals else 1] = name
    return found


def _topic(kind: str, value: Any) -> str:
    from stackctl.core.patches.canonical import slug

    first = next(iter(value)) if kind in MANY else value
    if kind in ("overlay", "patch"):
        return "imported"
    stem = posixpath.splitext(posixpath.basename(str(first).rstrip("/").partition("=")[0]))[0]
    return "installed" if kind == "installed" else slug(stem)


VERBS = (import_verb, export_verb)

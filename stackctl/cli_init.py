"""The verb that begins a workspace. Nothing is decided here."""

from __future__ import annotations

import click

from stackctl.app import App, common, yes_option


@click.command("init", short_help="Begin a workspace: a commented stack, a folder for patches, an editor's schema.")
@click.argument("folder", default=".")
@click.option("--name", default="main", show_default=True, metavar="NAME", help="What the stack is called.")
@click.option("--base", metavar="sglang==VERSION", help="Another release; it is fetched for its sha256.")
@click.option("--host", "address", default="local", show_default=True, metavar="ADDRESS", help="user@machine:port.")
@click.option("--pd", is_flag=True, help="Prefill, decode and a router instead of one engine.")
@click.option("-n", "--dry-run", is_flag=True, help="Show the files; write nothing.")
@yes_option
@common
@click.pass_obj
def init(app: App, /, folder: str, dry_run: bool, **more: str | bool | None) -> int:
    """Begin a workspace in FOLDER (default: here). Nothing that is there is overwritten, except an older schema.

    Where stacks are already, only stacks/stack.schema.json and .gitignore are brought up to date.
    """
    from stackctl.commands.init import InitRequest
    from stackctl.commands.init import init as run
    from stackctl.output.init import show_init

    if not dry_run:
        app.may_change()
    return app.show(run(app.ports, InitRequest(folder, dry_run=dry_run, **more)), show_init)  # type: ignore[arg-type]


VERBS = (init,)

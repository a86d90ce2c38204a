"""`stackctl bisect [STACK] --test NAME` and the views of a session: a group with a default command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from stackctl.app import App, selects, yes_option
from stackctl.commands.selection import Selection

DEFAULT = ""  # no stack and no view can be called so


class DefaultGroup(click.Group):
    """What is neither a view nor a call for help goes to the default command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = args[0] if args else None
        known = (*self.commands, *ctx.help_option_names)
        return super().parse_args(ctx, args if first in known else [DEFAULT, *args])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name or None, command, rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS] [STACK]", "|", "COMMAND [STACK]"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.commands[DEFAULT].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.group(cls=DefaultGroup, short_help="Find the patch, flag, variable or pair that makes a test fail.")
def bisect() -> None:
    """Find the patch, flag or variable, or the pair, that makes a test fail.

    It deploys variants, tests them, and confirms what it finds. Killed or interrupted, the same command goes on.
    """


@bisect.command(DEFAULT, hidden=True)
@click.option("--test", metavar="NAME", help="The test to bisect by; else `bisect.test` of the stack.")
@click.option("--budget", metavar="TIME|RUNS", help="Pause after so long (`90m`) or so many runs (`30 runs`).")
@click.option("--new", is_flag=True, help="Begin a new session, whatever was not finished.")
@click.option(
    "--min-rate",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    help="How often the whole stack fails at least; .5 costs 5 clean starts until NEVER FAILS, .2 costs 14.",
)
@click.option("--prior", type=click.Choice(["weighted", "uniform"]), help="What is thought likely beforehand.")
@click.option("--take-over", is_flag=True, help="Use a production host; what serves there is put back at the end.")
@click.option("--seed", default="0", show_default=True, help="Decides between equally good choices.")
@yes_option
@selects
@click.pass_obj
def run_bisect(app: App, /, selection: Selection, **options: Any) -> int:
    """Find the patch, flag or variable, or the pair, that makes a test fail."""
    from stackctl.commands.bisect.search import BisectRequest
    from stackctl.commands.bisect.search import bisect as run
    from stackctl.output.bisect import show_report

    app.may_change()
    return app.show(run(app.ports, BisectRequest(selection, **options)), show_report)


def views(command: Callable[..., int]) -> Callable[..., int]:
    """[STACK] --test --session: the session to look at."""
    wrapped = selects(click.pass_obj(command))
    wrapped = click.option("--session", metavar="ID", help="This one, not the newest.")(wrapped)
    return click.option("--test", metavar="NAME", help="The newest session of this test.")(wrapped)


@bisect.command("status")
@views
def status(app: App, selection: Selection, test: str | None, session: str | None) -> int:
    """Where a session stands, and what it would do next."""
    from stackctl.commands.bisect.views import ViewRequest
    from stackctl.commands.bisect.views import status as look
    from stackctl.output.bisect import show_status

    return app.show(look(app.ports, ViewRequest(selection, test, session)), show_status)


@bisect.command("log")
@views
def log(app: App, selection: Selection, test: str | None, session: str | None) -> int:
    """Every event of a session, in order."""
    from stackctl.commands.bisect.views import ViewRequest
    from stackctl.commands.bisect.views import log as look
    from stackctl.output.bisect import show_log

    return app.show(look(app.ports, ViewRequest(selection, test, session)), show_log)


@bisect.command("undo")
@click.option("--run", type=int, metavar="N", help="This run; else the last one.")
@yes_option
@views
def undo(app: App, selection: Selection, test: str | None, session: str | None, run: int | None) -> int:
    """Let a run count no more; the session is open again."""
    from stackctl.commands.bisect.views import ViewRequest
    from stackctl.commands.bisect.views import undo as take_back
    from stackctl.output.bisect import show_undo

    app.may_change()
    return app.show(take_back(app.ports, ViewRequest(selection, test, session), run), show_undo)


@bisect.command("report")
@views
def report(app: App, selection: Selection, test: str | None, session: str | None) -> int:
    """The report of a session, as it stands."""
    from stackctl.commands.bisect.views import ViewRequest
    from stackctl.commands.bisect.views import last_report as look
    from stackctl.output.bisect import show_report

    return app.show(look(app.ports, ViewRequest(selection, test, session)), show_report)

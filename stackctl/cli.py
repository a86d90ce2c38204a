"""The command line: one short function a verb, and the one place where an error becomes words and an exit code.

Verbs are imported when they run, so that `--help` stays quick. Nothing is decided here.
"""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click

from stackctl.commands.selection import Selection
from stackctl.errors import Interrupted, StackctlError
from stackctl.output.console import Console
from stackctl.ports import Ports

T = TypeVar("T")
TEST_CODES = {1: 125, 2: 129}  # `stackctl test` follows `git bisect run`: 1 means bad, and only that


class App:
    """What every verb gets: the console and, made on first use, the real ports."""

    def __init__(self) -> None:
        self.console = Console()
        self.yes = False
        self._ports: Ports | None = None

    @property
    def ports(self) -> Ports:
        if self._ports is None:
            from stackctl.wiring import real_ports

            self._ports = real_ports(self.console.progress(), yes=self.yes)
        return self._ports

    def show(self, value: T, shower: Callable[[Console, T], None]) -> int:
        """JSON or a picture of `value`; its exit code, 0 when it has none."""
        if self.console.as_json:
            self.console.json(value)
        else:
            shower(self.console, value)
        code = getattr(value, "exit", 0)
        return code if isinstance(code, int) else 0


def _set(name: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    def callback(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        if value:
            app = ctx.ensure_object(App)
            setattr(app if name == "yes" else app.console, name, True)

    return callback


def common(command: Callable[..., int]) -> Callable[..., int]:
    """--json, -v and -q, on every verb."""
    for names, attribute, text in (
        (("--json",), "as_json", "JSON on stdout, prose on stderr; never prompts."),
        (("-v", "--verbose"), "verbose", "Say more; a traceback for a fault of stackctl itself."),
        (("-q", "--quiet"), "quiet", "No progress."),
    ):
        command = click.option(
            *names, is_flag=True, expose_value=False, is_eager=True, callback=_set(attribute), help=text
        )(command)
    return command


def yes_option(command: Callable[..., int]) -> Callable[..., int]:
    return click.option(
        "-y", "--yes", is_flag=True, expose_value=False, envvar="STACKCTL_YES", callback=_set("yes"), help="Do not ask."
    )(command)


def selects(command: Callable[..., int]) -> Callable[..., int]:
    """[STACK] --without … --with …, as one `selection` argument, and the common options."""

    def run(
        *args: object, stack: str | None, without: tuple[str, ...], with_patches: tuple[str, ...], **rest: object
    ) -> int:
        return command(*args, selection=Selection(stack, without, with_patches), **rest)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__dict__.update(command.__dict__)
    wrapped: Callable[..., int] = run
    for option in (
        click.option(
            "--with",
            "with_patches",
            multiple=True,
            metavar="FILE.patch",
            help="Add a patch after the queue (repeatable).",
        ),
        click.option(
            "--without",
            multiple=True,
            metavar="ELEMENT",
            help="Leave out patch:NAME, flag:NAME or env:NAME (repeatable).",
        ),
        click.argument("stack", required=False),
    ):
        wrapped = option(wrapped)
    return common(wrapped)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="stackctl")
def cli() -> None:
    """One YAML file for a patched sglang: pin, patch, render, deploy, test under load, bisect.

    STACK is the name of a file in stacks/, or a path; without it $STACKCTL_STACK, else the stack with `default: true`.
    """


@cli.command()
@click.option("--locked", is_flag=True, help="Fail when the stack differs from its lock file.")
@selects
@click.pass_obj
def check(app: App, selection: Selection, locked: bool) -> int:
    """Validate a stack: keys, patches, ports, cards, scripts."""
    from stackctl.commands.check import CheckRequest
    from stackctl.commands.check import check as run
    from stackctl.output.stack import show_check

    return app.show(run(app.ports, CheckRequest(selection, locked)), show_check)


@cli.command()
@selects
@click.pass_obj
def config(app: App, selection: Selection) -> int:
    """Print a stack merged and resolved."""
    from stackctl.commands.config import config as run
    from stackctl.output.stack import show_config

    return app.show(run(app.ports, selection), show_config)


@cli.command()
@selects
@click.pass_obj
def lock(app: App, selection: Selection) -> int:
    """Write stacks/NAME.lock: base, patches, trees."""
    from stackctl.commands.lock import lock as run
    from stackctl.output.stack import show_lock

    return app.show(run(app.ports, selection), show_lock)


@cli.command()
@click.option("--out", default="out", show_default=True, metavar="DIR", help="The folder to write into.")
@selects
@click.pass_obj
def render(app: App, selection: Selection, out: str) -> int:
    """Write the serve scripts of a stack into a folder."""
    from stackctl.commands.render import RenderRequest
    from stackctl.commands.render import render as run
    from stackctl.output.stack import show_render

    return app.show(run(app.ports, RenderRequest(selection, out)), show_render)


@cli.group()
def patches() -> None:
    """Look at the patch queue of a stack."""


@patches.command("list")
@selects
@click.pass_obj
def patches_list(app: App, selection: Selection) -> int:
    """The patches in order: title, area, size, upstream, needs."""
    from stackctl.commands.patches import list_patches
    from stackctl.output.patches import show_list

    return app.show(list_patches(app.ports, selection), show_list)


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
    """Each patch alone with what it needs, and the whole in another order."""
    from stackctl.commands.patches import verify_queue
    from stackctl.output.patches import show_verify

    return app.show(verify_queue(app.ports, selection), show_verify)


def main(argv: Sequence[str]) -> int:
    """Run one command line; returns the exit code. The one error boundary."""
    app = App()
    codes = TEST_CODES if next((word for word in argv if not word.startswith("-")), "") == "test" else {}
    code, finished = _guarded(app, argv)
    return code if finished else codes.get(code, code)


def _guarded(app: App, argv: Sequence[str]) -> tuple[int, bool]:
    """The code, and whether the command came to its own end (only then is a 1 of `test` a verdict)."""
    try:
        value = cli.main(list(argv), prog_name="stackctl", standalone_mode=False, obj=app)
        return (value if isinstance(value, int) else 0), True
    except Exception as error:
        return _failed(app, error), False
    except KeyboardInterrupt:
        app.console.error(Interrupted("interrupted"))
        return Interrupted.exit_code, False


def _failed(app: App, error: Exception) -> int:
    """Say what went wrong; its exit code."""
    match error:
        case click.ClickException():
            error.show()
            return 2
        case StackctlError():
            app.console.error(error)
            return error.exit_code
        case click.Abort():
            app.console.error(Interrupted("interrupted"))
            return Interrupted.exit_code
        case BrokenPipeError():
            sys.stdout = None  # nobody reads: no second error at exit
            return 0
        case OSError():
            place = f"{error.filename}: " if error.filename else ""
            app.console.error(StackctlError(f"{place}{error.strerror or error}"))
            return 1
        case _:
            return _our_fault(app, error)


def _our_fault(app: App, error: Exception) -> int:
    if app.console.verbose:
        app.console.note(traceback.format_exc(), style=None)
    last = traceback.extract_tb(error.__traceback__)[-1]
    app.console.error(
        StackctlError(
            f"a fault of stackctl itself: {type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})",
            hint="run it again with -v and report what it prints",
        )
    )
    return 1


def _terminated(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def entry() -> None:
    """The console script: SIGTERM ends a command as Ctrl-C does, so that what it holds is freed."""
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(main(sys.argv[1:]))

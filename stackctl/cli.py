"""The command line: one short function a verb, and the one place where an error becomes words and an exit code.

Verbs are imported when they run, so that `--help` stays quick. Nothing is decided here.
"""

from __future__ import annotations

import errno
import gc
import io
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from stackctl.app import App, selects
from stackctl.cli_author import VERBS as AUTHOR_VERBS
from stackctl.cli_bisect import bisect
from stackctl.cli_check import VERBS as CHECK_VERBS
from stackctl.cli_deploy import VERBS
from stackctl.cli_doctor import VERBS as DOCTOR_VERBS
from stackctl.cli_graph import VERBS as GRAPH_VERBS
from stackctl.cli_import import VERBS as IMPORT_VERBS
from stackctl.cli_init import VERBS as INIT_VERBS
from stackctl.cli_lint import VERBS as LINT_VERBS
from stackctl.cli_model import VERBS as MODEL_VERBS
from stackctl.cli_patches import patches
from stackctl.cli_rebase import VERBS as REBASE_VERBS
from stackctl.commands.selection import Selection
from stackctl.errors import Interrupted, StackctlError

QUIET = 50_000  # objects made before the collector looks
TEST_CODES = {1: 125, 2: 129}  # `stackctl test` follows `git bisect run`: 1 means bad, and only that


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="stackctl")
def cli() -> None:
    """One YAML file for a patched sglang: pin, patch, render, deploy, test under load, bisect.

    STACK is the name of a file in stacks/, or a path; without it $STACKCTL_STACK, else the stack with `default: true`.
    """


@cli.command()
@selects
@click.pass_obj
def config(app: App, selection: Selection) -> int:
    """Print a stack merged and resolved."""
    from stackctl.commands.config import config as run
    from stackctl.output.stack import show_config

    return app.show(run(app.ports, selection), show_config)


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


@cli.command("test", short_help="Load what is deployed: exit 0 clean, 1 bad, 125 inconclusive.")
@click.argument("name")
@click.option("--url", metavar="URL", help="Test this server instead of the deployment; needs no stack.")
@click.option("-c", "--concurrency", type=click.IntRange(1), metavar="N", help="Instead of the test's own.")
@selects
@click.pass_obj
def test_verb(app: App, selection: Selection, name: str, url: str | None, concurrency: int | None) -> int:
    """Run test NAME against what is deployed: 0 clean, 1 bad, 125 inconclusive, 129 wrong usage."""
    from stackctl.commands.testing.test import TestRequest, run_test
    from stackctl.output.verify import show_report

    return app.show(run_test(app.ports, TestRequest(name, selection, url, concurrency=concurrency)), show_report)


for verb in (*AUTHOR_VERBS, *IMPORT_VERBS, *GRAPH_VERBS, *REBASE_VERBS):
    patches.add_command(verb)
for verb in (*CHECK_VERBS, *LINT_VERBS, *VERBS, *DOCTOR_VERBS, *INIT_VERBS, *MODEL_VERBS, patches, bisect):
    cli.add_command(verb)


def main(argv: Sequence[str]) -> int:
    """Run one command line; returns the exit code. The one error boundary."""
    app = App()
    codes = TEST_CODES if next((word for word in argv if not word.startswith("-")), "") == "test" else {}
    code, finished = _guarded(app, argv)
    app.console.still()
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
            hint = "The disk is full: that of the output, or that of $TMPDIR." if error.errno == errno.ENOSPC else None
            app.console.error(StackctlError(f"{place}{error.strerror or error}", hint))
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
    gc.set_threshold(QUIET, 50, 50)  # imports make many objects and no garbage
    signal.signal(signal.SIGTERM, _terminated)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without UTF-8 shows what it can
    sys.exit(main(sys.argv[1:]))

"""`stackctl lint-command`: the linter for who has no stack yet. Nothing is decided here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from stackctl.app import App, common
from stackctl.errors import UsageError


class _BehindDashes(click.Command):
    """Keeps what stands behind `--` apart: it is a command, options and all."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        if at == len(args) and "-m" in args:
            raise UsageError("a command is given behind `--`", f"stackctl lint-command -- {' '.join(args)}")
        ctx.meta["command"] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


@click.command(
    "lint-command", cls=_BehindDashes, short_help="Lint a launch command or serve script; make a stack of it."
)
@click.argument("file", required=False, metavar="[FILE | - | -- COMMAND...]")
@click.option("--base", metavar="BASE", help="sglang==VERSION, a folder with its source, or a stack.")
@click.option("--card", metavar="CARD", help='Such as "RTX PRO 6000", H200, sm_120.')
@click.option("--model", metavar="MODEL", help="What the model is, where its path does not say; or its folder here.")
@click.option("--host", "hosts", multiple=True, metavar="NAME=ADDRESS", help="For --to-stack (repeatable).")
@click.option("--to-stack", is_flag=False, flag_value="-", metavar="[FILE]", help="The stack that says the same.")
@click.option("--sarif", metavar="FILE", help="Findings for a code host too; - prints them and nothing else.")
@click.option("--strict", is_flag=True, help="Exit 2 for warnings too.")
@common
@click.pass_context
def lint_command(ctx: click.Context, /, file: str | None, sarif: str | None, **asked: Any) -> int:
    """Check a launch command, or a script that holds some, against the flags of the base that will run it.

    \b
    stackctl lint-command --base sglang==0.5.15 -- python -m sglang.launch_server
    stackctl lint-command --card "RTX PRO 6000" serve.sh
    stackctl lint-command serve.sh --to-stack stacks/main.yaml

    FILE: a shell script, a compose or Kubernetes file, a systemd unit, a Dockerfile, a README. Nothing of it is run.
    Exit code: 0 clean or warnings, 1 no stack can be made of it, 2 errors.
    """
    from stackctl.commands.linting.command import LintCommandRequest
    from stackctl.commands.linting.command import lint_command as run
    from stackctl.output.lint_command import show_lint_command

    app: App = ctx.obj
    words: Sequence[str] = ctx.meta["command"]
    if sum((sarif == "-", app.console.as_json, asked["to_stack"] == "-" and not app.console.as_json)) > 1:
        raise UsageError("two of --json, --sarif - and --to-stack want stdout", "Give one of them a file.")
    text = sys.stdin.buffer.read() if file == "-" else None
    request = LintCommandRequest(tuple(words), None if file == "-" else file, text, **asked)
    result = run(app.ports, request)
    if sarif:
        from stackctl.commands.linting.sarif import save_sarif

        if printed := save_sarif(app.ports, result.findings, (), sarif):
            app.console.raw(printed)
            return result.exit
    return app.show(result, show_lint_command)


VERBS = (lint_command,)

"""`stackctl check`, and what it says of its rules. Nothing is decided here."""

from __future__ import annotations

from typing import Any

import click

from stackctl.app import App, selects
from stackctl.commands.selection import Selection
from stackctl.errors import UsageError


def _rules(context: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        from stackctl.commands.linting.rules import all_rules
        from stackctl.output.lint import show_rules

        context.exit(context.ensure_object(App).show(all_rules(), show_rules))


def _explain(context: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        from stackctl.commands.linting.rules import explain
        from stackctl.output.lint import show_rule

        context.exit(context.ensure_object(App).show(explain(value), show_rule))


@click.command(short_help="Validate a stack, and lint it against its base.")
@click.option("--locked", is_flag=True, help="Fail when the stack differs from its lock file.")
@click.option("--strict", is_flag=True, help="Fail where it would warn (exit 2).")
@click.option("--sarif", metavar="FILE", help="Findings for a code host too; - prints them and nothing else.")
@click.option("--rules", is_flag=True, expose_value=False, callback=_rules, help="List the rules of the linter.")
@click.option("--explain", metavar="RULE", expose_value=False, callback=_explain, help="Why a rule is there.")
@selects
@click.pass_obj
def check(app: App, /, selection: Selection, sarif: str | None, **asked: Any) -> int:
    """Validate a stack: keys, patches, ports, cards, scripts; and lint its flags against the pinned base."""
    from stackctl.commands.check import CheckRequest
    from stackctl.commands.check import check as run
    from stackctl.output.stack import show_check

    if sarif == "-" and app.console.as_json:
        raise UsageError("--json and --sarif - both want stdout", "Give --sarif a file.")
    result = run(app.ports, CheckRequest(selection, **asked))
    if sarif:
        from stackctl.commands.linting.sarif import save_sarif

        if text := save_sarif(app.ports, result.findings, result.ignored, sarif):
            app.console.raw(text)
            return result.exit
    return app.show(result, show_check)


VERBS = (check,)

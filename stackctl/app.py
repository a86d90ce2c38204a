"""What every verb of the command line has in common: the console, the ports, and the options that all of them take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from stackctl.commands.selection import Selection
from stackctl.core.stack.units import duration
from stackctl.errors import UsageError
from stackctl.output.console import Console
from stackctl.ports import Ports

T = TypeVar("T")


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

    def may_change(self) -> None:
        """With --json nobody is asked, so nothing is changed unless --yes says so."""
        if self.console.as_json and not self.yes:
            raise UsageError("with --json nothing is changed", "Say --yes too, or leave --json out.")

    def show(self, value: T, shower: Callable[[Console, T], None]) -> int:
        """JSON or a picture of `value`; its exit code, 0 when it has none."""
        if self.console.as_json:
            self.console.json(value)
        else:
            shower(self.console, value)
        code = getattr(value, "exit", 0)
        return code if isinstance(code, int) else 0


class Duration(click.ParamType[float]):
    """Seconds of `90s`, `10m` or, as time is the only thing that can be meant, of a bare number."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value)
        try:
            return float(text) if text.isdigit() else duration(text)
        except ValueError as error:
            self.fail(f"{error}, got {text!r}", param, ctx)


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

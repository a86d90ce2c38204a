"""The console: results on stdout, prose and progress on stderr, errors in one form, JSON when asked.

It knows no verb. Markup and highlighting are off for everything that comes from outside, so that a patch title
with brackets prints as it is.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.cells import cell_len
from rich.console import Console as RichConsole
from rich.console import RenderableType
from rich.text import Text

from stackctl.errors import InvalidFile, Problem, StackctlError
from stackctl.output.paint import Paint

if TYPE_CHECKING:  # made late: most commands show neither
    from rich.status import Status
    from rich.table import Table

PLAIN_EVERY = 5.0  # seconds without a line before `live` writes one, when nothing can move
NO_BREAK = "\N{NO-BREAK SPACE}"  # keeps a number with its name; shown as a plain space
ENDLESS = 100_000  # columns: what a pipe gets is for grep, and has the lines that the text has
READABLE = 120  # columns of what is cut to size in a pipe


class Console:
    """`quiet` silences progress; `as_json` puts JSON on stdout and all prose on stderr."""

    def __init__(self) -> None:
        self.as_json = False
        self.quiet = False
        self.verbose = False
        self._out = _console(stderr=False)
        self._err = _console(stderr=True)
        self._progress: ConsoleProgress | None = None

    def still(self) -> None:
        """Take away a line that moves: a result comes, or the end, and the cursor must be seen again."""
        if self._progress is not None:
            self._progress.still()

    @property
    def width(self) -> int:
        """Columns to cut and lay out for."""
        return READABLE if self._out.width == ENDLESS else self._out.width

    @property
    def is_terminal(self) -> bool:
        return self._out.is_terminal and not self.as_json

    @property
    def moves(self) -> bool:
        return self._err.is_terminal and not self.quiet

    def print(self, what: RenderableType = "", style: str | None = None) -> None:
        """A result. With --json it goes to stderr, since stdout then holds JSON alone."""
        self.still()
        _print(self._err if self.as_json else self._out, what, style)

    def raw(self, text: str) -> None:
        """Text as it is (a diff, a script), unwrapped."""
        self.still()
        stream = sys.stderr if self.as_json else sys.stdout
        text = text if text.endswith("\n") or not text else text + "\n"
        if isinstance(stream, io.TextIOWrapper):
            stream.flush()
            stream.buffer.write(text.encode("utf-8", "surrogateescape"))  # bytes of a diff stay what they are
        else:
            stream.write(text)
        stream.flush()

    def paint(self) -> Paint:
        """Colours for text that is written line by line."""
        colours = self.is_terminal and not self._out.no_color
        return Paint(colours=colours, terminal=self.is_terminal)

    def page(self, text: str) -> None:
        """Text as it is; on a terminal that it does not fit, through $PAGER."""
        if self.is_terminal and text.count("\n") >= self._out.height:
            self.still()
            click.echo_via_pager(text, color=True)
        else:
            self.raw(text)

    def json(self, value: object, *, indent: int | None = 2) -> None:
        """Without `indent` one line, of which there may be many."""
        self.still()
        text = json.dumps(jsonable(value), indent=indent, ensure_ascii=False) + "\n"
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")  # JSON is, whatever the terminal
        sys.stdout.write(text)
        sys.stdout.flush()

    def note(self, text: str, style: str | None = "yellow") -> None:
        _print(self._err, text, style)

    def error(self, error: StackctlError) -> None:
        problems = error.problems if isinstance(error, InvalidFile) else (_as_problem(error),)
        for problem in problems:
            _print(self._err, Text.assemble(("error: ", "bold red"), str(problem)))
            if problem.hint:
                _print(self._err, Text.assemble(("   hint: ", "cyan"), problem.hint))
        if isinstance(error, InvalidFile) and error.hint:
            _print(self._err, Text.assemble(("hint: ", "cyan"), error.hint))

    def table(self, *columns: str, title: str | None = None) -> Table:
        """An empty table in the house style; columns that begin with `>` are right-aligned numbers."""
        from rich.table import Table

        table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
        return table

    def progress(self) -> ConsoleProgress:
        self._progress = ConsoleProgress(self._err, moving=self.moves, quiet=self.quiet)
        return self._progress


class ConsoleProgress:
    """`ports.Progress` on a terminal (one moving line) or in a pipe (plain lines)."""

    def __init__(self, console: RichConsole, *, moving: bool, quiet: bool) -> None:
        self._console = console
        self._moving = moving
        self._quiet = quiet
        self._steps: list[str] = []
        self._status: Status | None = None
        self._said_at = float("-inf")

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        began = time.monotonic()
        self._steps.append(text)
        self._move(text)
        mark = "✗"
        try:
            yield
            mark = "✓"
        finally:
            self._steps.pop()
            self._move(self._steps[-1] if self._steps else None)
            self._line(f"{mark} {text}  {time.monotonic() - began:.1f} s")

    def say(self, text: str) -> None:
        self._line(text)

    def live(self, text: str) -> None:
        if self._moving:
            self._move(text)
        elif time.monotonic() - self._said_at >= PLAIN_EVERY:
            self._line(text)

    def still(self) -> None:
        self._move(None)

    def _move(self, text: str | None) -> None:
        if not self._moving:
            return
        if text is None:
            if self._status:
                self._status.stop()
            self._status = None
        elif self._status is None:
            self._status = self._console.status(Text(text))
            self._status.start()
        else:
            self._status.update(Text(text))

    def _line(self, text: str) -> None:
        self._said_at = time.monotonic()
        if not self._quiet:
            _print(self._console, text)


def _console(*, stderr: bool) -> RichConsole:
    """As wide as its terminal, or as $COLUMNS says; without either, lines are not broken."""
    made = RichConsole(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not made.is_terminal and not os.environ.get("COLUMNS"):
        made.width = ENDLESS
    return made


def _print(console: RichConsole, what: RenderableType, style: str | None = None) -> None:
    """Wrapped between words only: a path or an id that is longer than a line stays whole, to be copied."""
    if isinstance(what, str):
        what = Text(what)
    if isinstance(what, Text):
        console.print(_wrapped(what, console.width), style=style, no_wrap=True, overflow="ignore", crop=False)
    elif console.is_terminal:
        console.print(what, style=style)
    else:
        with console.capture() as held:
            console.print(what, style=style)
        lines = "\n".join(line.rstrip() for line in held.get().rstrip("\n").split("\n"))  # cells are padded
        console.print(lines, no_wrap=True, overflow="ignore", crop=False)


def _wrapped(text: Text, width: int) -> Text:
    """What goes on in a new line stands under the beginning of the old one."""
    lines = []
    for line in text.split(allow_blank=True):
        indent = len(line.plain) - len(line.plain.lstrip(" "))
        column, cuts = indent, []
        for word in () if text.no_wrap else re.finditer(r"[^ ]+ *", line.plain):
            if column > indent and column + cell_len(word[0].rstrip()) > width:
                cuts.append(word.start())
                column = indent
            column += cell_len(word[0])
        for number, piece in enumerate(line.divide(cuts)):
            if cuts:
                piece.rstrip()
            lines.append(Text(" " * indent) + piece if number else piece)
    whole = Text("\n").join(lines)
    whole.plain = whole.plain.replace(NO_BREAK, " ")
    return whole


def jsonable(value: object) -> object:
    """Dataclasses as objects, mappings and sequences as such, bytes left out, anything else as its text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        pairs = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {name: jsonable(item) for name, item in pairs if not isinstance(item, bytes)}
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item) for item in (sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # a lone surrogate is no JSON
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value)


def _as_problem(error: StackctlError) -> Problem:
    return Problem(error.message, where=error.where, hint=error.hint)

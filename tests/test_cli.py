"""The command line itself: what its help looks like, and which exit code an error gets."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from stackctl.app import App
from stackctl.cli import cli, main


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if not command.hidden:
            yield (*path, name)
            if isinstance(command, click.Group):
                yield from commands(command, (*path, name))


@pytest.mark.parametrize("path", [(), *commands(cli)], ids=" ".join)
@pytest.mark.parametrize("width", [60, 80])
def test_help_is_there_and_not_cut(path: tuple[str, ...], width: int) -> None:
    said = CliRunner().invoke(cli, [*path, "--help"], obj=App(), terminal_width=width)
    assert said.exit_code == 0
    usage, *rest = said.output.splitlines()
    assert usage.startswith("Usage: ")
    if width == 80:
        assert not [line for line in rest if line.endswith("...")]
        assert max(map(len, rest)) <= 80


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["deploy", "--wait", "soon"], 2),
        (["deploy", "--json"], 2),
        (["nosuch"], 2),
        (["check", "no/such.yaml"], 2),
        (["check", ""], 2),
        (["test"], 129),
        (["test", "x", "no/such.yaml"], 129),
        (["--version"], 0),
    ],
)
def test_codes_of_wrong_usage(words: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == code
    assert "fault of stackctl" not in capsys.readouterr().err


def test_a_time_has_a_unit_or_is_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deploy", "no/such.yaml", "--wait", "10m"]) == 2
    assert "no/such.yaml" in capsys.readouterr().err
    assert main(["deploy", "no/such.yaml", "--wait", "10 m"]) == 2
    assert "expected a duration like 45m, 90s or 1h30m, got '10 m'" in capsys.readouterr().err


def test_a_screen_that_knows_only_ascii() -> None:
    code = "import sys; sys.argv = ['stackctl', 'check', 'nos\\u00fcch.yaml']; from stackctl.cli import entry; entry()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and "there is no stack file nos?ch.yaml" in done.stderr

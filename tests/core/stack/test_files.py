"""Whole stack files against what is said about them: tests/golden/stack/CASE/, rewritten by `just golden`."""

from __future__ import annotations

import pytest

from stackctl.commands.gather import load
from stackctl.core.stack import present
from stackctl.errors import StackctlError
from tests.workspaces import GOLDEN, MAIN, folder_of, golden, ports_of

CASES = sorted(path.name for path in (GOLDEN / "stack").iterdir())


@pytest.mark.parametrize("name", CASES)
def test_a_file_and_what_is_said_about_it(name: str) -> None:
    case = GOLDEN / "stack" / name
    golden(case / "expect.txt", said(folder_of(case)))


def said(files: dict[str, str]) -> str:
    try:
        stack = load(ports_of(files), MAIN)
    except StackctlError as error:
        problems = getattr(error, "problems", None)
        lines = [f"{p}\n" + (f"    hint: {p.hint}\n" if p.hint else "") for p in problems or [error]]
        return (
            f"exit {error.exit_code}\n" + "".join(lines) + (f"hint: {error.hint}\n" if problems and error.hint else "")
        )
    return present.text(stack)

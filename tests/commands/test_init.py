"""A new workspace: it can be checked as it is, overwrites nothing, and can be begun twice."""

from __future__ import annotations

import re

import pytest

from stackctl.commands.gather import load
from stackctl.commands.init import InitRequest, init
from stackctl.commands.selection import Selection
from stackctl.core.lint.catalogue import RULES
from stackctl.core.lint.from_stack import setup_of
from stackctl.core.lint.run import run
from stackctl.core.stack.editor import FILE, MODELINE
from stackctl.core.upstream.values import History
from stackctl.errors import StackctlError, UsageError
from stackctl.output.console import Console
from stackctl.output.init import show_init
from stackctl.ports import Ports
from tests.core.lint.setups import table
from tests.workspaces import ports_of


def files(ports: Ports) -> dict[str, bytes]:
    return {name: ports.files.read(f"/ws/{name}") for name in ports.files.walk("/ws")}


@pytest.mark.parametrize("pd", [False, True])
@pytest.mark.parametrize("address", ["local", "ops@gpu1.example:22"])
def test_the_starter_is_a_sound_stack(pd: bool, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    ports = ports_of({})
    made = init(ports, InitRequest(address=address, pd=pd))
    assert made.written == (f"stacks/{FILE}", ".gitignore", "stacks/main.yaml", "patches/README.md")
    stack = load(ports, Selection())  # it says `default: true`
    assert [one.role for one in stack.instances] == (["prefill", "decode", "router"] if pd else ["single"])
    text = files(ports)["stacks/main.yaml"].decode()
    assert text.startswith(MODELINE + "\n")
    assert text.endswith("\n")
    assert "{" not in re.sub(r"\{[^{}%]*\}", "", text)  # nothing of the template is left
    heard = run(setup_of(stack, table("0.5.15"), History(()), []), RULES)
    assert [one.rule.id for one in heard if one.severity == "error"] == []  # a deploy would not refuse it
    show_init(Console(), made)
    assert "Change what stacks/main.yaml marks with `<-`, then run: stackctl check stacks/main.yaml" in (
        capsys.readouterr().out.replace("\n", " ")
    )


@pytest.mark.parametrize("base", ["0.5.15", "sglang", "sglang==", "==0.5.15", "sglang == 0.5.15", "sglang>=0.5.15"])
def test_a_base_that_is_no_release_is_refused_before_anything_is_fetched(base: str) -> None:
    with pytest.raises(UsageError, match="a release is meant"):
        init(ports_of({}), InitRequest(base=base))


def test_a_second_time_there_is_nothing_to_do() -> None:
    ports = ports_of({})
    init(ports, InitRequest())
    before = files(ports)
    again = init(ports, InitRequest(name="other"))
    assert (again.written, again.stack) == ((), None)
    assert files(ports) == before


def test_where_stacks_are_only_the_schema_and_gitignore_come() -> None:
    ports = ports_of({"stacks/mine.yaml": "a: 1\n", ".gitignore": "out", "stacks/stack.schema.json": "{}"})
    made = init(ports, InitRequest())
    assert made.written == (f"stacks/{FILE}", ".gitignore")
    assert files(ports)[".gitignore"] == b"out\n.stackctl/\n"
    assert files(ports)["stacks/mine.yaml"] == b"a: 1\n"


@pytest.mark.parametrize("line", [".stackctl", ".stackctl/", "/.stackctl/", "  .stackctl/ "])
def test_gitignore_is_left_alone_when_it_says_so_already(line: str) -> None:
    ports = ports_of({".gitignore": f"{line}\n"})
    assert ".gitignore" not in init(ports, InitRequest()).written


def test_a_dry_run_shows_the_stack_and_writes_nothing() -> None:
    ports = ports_of({})
    made = init(ports, InitRequest(dry_run=True))
    assert files(ports) == {}
    assert "+stack: main" in made.diff
    assert "$defs" not in made.diff


@pytest.mark.parametrize("name", ["Main", "", "a b", "../x", "-x"])
def test_a_name_that_no_stack_can_have_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be called"):
        init(ports_of({}), InitRequest(name=name))


def test_a_file_in_the_way_is_refused() -> None:
    with pytest.raises(StackctlError, match="is a file"):
        init(ports_of({"here": "x"}), InitRequest("here"))

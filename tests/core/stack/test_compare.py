"""What two stacks say differently, in words that a person can read."""

from __future__ import annotations

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.core.stack.compare import facts
from tests.workspaces import SMALL, ports_of

PYTHON = 'python: {version: "3.11", paths: [shim]}\n'


def told(old: str, new: str) -> tuple[str, ...]:
    ports = ports_of({"stacks/old.yaml": old, "stacks/new.yaml": new, "stacks/shim/x.py": ""})
    return facts(load(ports, Selection("old")), load(ports, Selection("new")))


def test_an_interpreter_is_told_by_what_is_set_in_it() -> None:
    assert told(SMALL, SMALL + PYTHON) == ('python: not set -> {"version": "3.11", "paths": ["stacks/shim"]}',)


def test_an_image_too() -> None:
    assert told(SMALL, SMALL + "image: {from: a@sha256:1, arch: ['12.0a']}\n") == (
        'image: not set -> {"from": "a@sha256:1", "arch": ["12.0a"]}',
    )


def test_what_several_roles_change_alike_is_one_line() -> None:
    assert told(SMALL, SMALL.replace("tp-size: 2", "tp-size: 4")) == ("flag tp-size: 2 -> 4",)

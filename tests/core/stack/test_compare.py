"""What two stacks say differently, in words that a person can read."""

from __future__ import annotations

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.core.modeldir import manifest
from stackctl.core.modeldir.manifest import Manifest
from stackctl.core.modeldir.values import SmallFile
from stackctl.core.stack.compare import facts
from stackctl.core.stack.resolved import ResolvedStack
from tests.workspaces import MAIN, SMALL, ports_of

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


def test_of_two_manifests_the_files_are_told() -> None:
    def pinned(digit: str) -> ResolvedStack:
        made = Manifest({"config.json": SmallFile(3, digit * 64)})
        text = SMALL.replace("name: m}", "name: m, manifest: m.json}")
        return load(ports_of({"stacks/main.yaml": text, "stacks/m.json": manifest.text(made)}), MAIN)

    assert facts(pinned("0"), pinned("0")) == ()
    assert facts(pinned("0"), pinned("1")) == ("model: config.json: 000000000000 (3 bytes) -> 111111111111 (3 bytes)",)

from __future__ import annotations

import json

from stackctl.commands.gather import load
from stackctl.core.stack import lock, present
from stackctl.core.stack.resolved import ResolvedStack
from tests.workspaces import MAIN, SMALL, Composer, ports_of

FILES = {"stacks/main.yaml": SMALL + "patches: [t/a]\n", "patches/t/a.patch": "a"}


def loaded(folder: str = "/ws", **changed: str) -> ResolvedStack:
    return load(ports_of({**FILES, **changed}, folder=folder), MAIN)


def locked(stack: ResolvedStack) -> dict[str, object]:
    ports, composer = ports_of(FILES), Composer()
    return lock.lock(stack, composer.compose(ports, stack)[1], composer.after(ports, stack))


def test_the_place_of_the_workspace_is_no_part_of_a_lock() -> None:
    assert lock.text(locked(loaded("/ws"))) == lock.text(locked(loaded("/somewhere/else")))


def test_comments_and_order_are_no_part_of_the_digest() -> None:
    text = FILES["stacks/main.yaml"].replace("tp-size: 2", "b: 1, tp-size: 2")
    other = "# a comment\n" + FILES["stacks/main.yaml"].replace("tp-size: 2", "tp-size: 2, b: 1")
    assert lock.digest(loaded(**{"stacks/main.yaml": text})) == lock.digest(loaded(**{"stacks/main.yaml": other}))


def test_a_changed_flag_changes_the_digest() -> None:
    text = FILES["stacks/main.yaml"].replace("tp-size: 2", "tp-size: 4")
    assert lock.digest(loaded()) != lock.digest(loaded(**{"stacks/main.yaml": text}))


def test_differences_name_the_key_and_both_values() -> None:
    old, new = (
        {"a": 1, "p": [{"name": "x", "sha256": "1"}]},
        {"a": 2, "p": [{"name": "x", "sha256": "2"}, {"name": "y"}]},
    )
    assert list(lock.differences(old, new)) == [
        "a: locked 1, now 2",
        "p.0.sha256: locked 1, now 2",
        "p.1: locked nothing, now y",
    ]
    assert not list(lock.differences(new, json.loads(json.dumps(new))))


def test_a_presented_stack_reads_back_as_the_same_stack() -> None:
    stack = loaded()
    again = loaded(**{"stacks/main.yaml": present.text(stack)})
    assert lock.digest(again) == lock.digest(stack)
    assert present.text(again) == present.text(stack)

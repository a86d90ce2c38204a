from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackctl.commands.gather import load
from stackctl.core.names import ReleaseId, TreeId
from stackctl.core.render.launch import launches
from stackctl.core.render.release_id import release_id
from stackctl.core.stack.resolved import ResolvedStack
from tests.workspaces import MAIN, SMALL, ports_of, tree_id

TREE = tree_id("tree")
REMOTE = SMALL.replace("address: local", "address: ops@gpu1.example:22, python: /p")


def stack(text: str = SMALL) -> ResolvedStack:
    return load(ports_of({"stacks/main.yaml": text}), MAIN)


def name_of(one: ResolvedStack, tree: TreeId = TREE) -> ReleaseId:
    return release_id(one, {"sglang": tree}, launches(one))


def argument(argv: tuple[str, ...], flag: str) -> str:
    return argv[argv.index(flag) + 1]


def test_the_router_is_told_the_ports_that_the_engines_get() -> None:
    prefill, decode, router = launches(stack())
    told = router.argv[router.argv.index("--prefill") + 1 :][:2]
    assert told == (prefill.url, argument(prefill.argv, "--disaggregation-bootstrap-port"))
    assert argument(router.argv, "--decode") == decode.url
    assert argument(decode.argv, "--port") == decode.url.rpartition(":")[2]


def test_on_one_remote_machine_only_the_router_is_open() -> None:
    prefill, _, router = launches(stack(REMOTE))
    assert argument(prefill.argv, "--host") == "127.0.0.1"
    assert argument(router.argv, "--host") == "0.0.0.0"
    assert router.url == "http://gpu1.example:31000"


def test_a_host_behind_ssh_on_loopback_stays_on_loopback() -> None:
    made = launches(stack(SMALL.replace("address: local", 'address: "u@127.0.0.1:2222", python: /p')))
    assert {argument(one.argv, "--host") for one in made} == {"127.0.0.1"}


@pytest.mark.parametrize(("given", "suffix"), [("t.jinja", ".jinja"), ("t.json", ".json"), ("t.txt", ".jinja")])
def test_a_conversation_template_keeps_the_suffix_that_sglang_tells_it_by(given: str, suffix: str) -> None:
    one = stack()
    serve = replace(one.serve, chat_template=f"/w/stacks/{given}", chat_template_text="{}")
    told = argument(launches(replace(one, serve=serve))[0].argv, "--chat-template")
    assert told.startswith("chat-template-") and told.endswith(suffix)


def test_no_launch_says_which_release_it_is() -> None:
    assert all("--weight-version" not in one.argv for one in launches(stack()))


def test_the_machine_is_below_the_stack_and_cards_above_all() -> None:
    text = SMALL.replace("env: {A: 1}", "env: {MACHINE: mine}")
    prefill, _, router = launches(stack(text))
    assert prefill.env == {"MACHINE": "mine", "CUDA_VISIBLE_DEVICES": "0,1"}
    assert router.env == {"MACHINE": "1"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tp-size: 2", "tp-size: 4"),
        ("A: 1", "A: 2"),
        ("gpus: [2, 3]", "gpus: [2, 4]"),
        ("port: 30300", "port: 30301"),
        ("path: /m,", "path: /n,"),
        ("MACHINE: 1", "MACHINE: 2"),
        ("port: 31000", "port: 31000, package: sglang-router==0.3.2"),
        ("address: local", "address: local, python: /usr/bin/python3"),
    ],
)
def test_whatever_is_served_is_in_the_release_s_name(old: str, new: str) -> None:
    assert old in SMALL
    assert name_of(stack(SMALL.replace(old, new))) != name_of(stack())


def test_the_locked_requirements_are_in_the_release_s_name() -> None:
    text = SMALL + "python: {requirements: r.txt}\n"
    names = {
        name_of(load(ports_of({"stacks/main.yaml": text, "stacks/r.txt": content}), MAIN))
        for content in ("a==1", "a==2")
    }
    assert len(names | {name_of(stack())}) == 3


@pytest.mark.parametrize(
    "extra",
    ["# a comment\n", "secrets: [TOKEN_X]\n", "timeouts: {start: 5m}\n", "tests: {t: {kind: toolcalls}}\n", "x-a: 1\n"],
)
def test_what_is_not_served_is_not_in_it(extra: str) -> None:
    assert name_of(stack(SMALL + extra)) == name_of(stack())
    assert name_of(replace(stack(), name="other")) == name_of(stack())


def test_the_tree_is_in_it_and_the_form_is_twelve_hex_digits() -> None:
    assert name_of(stack()) != name_of(stack(), tree_id("another"))
    assert len(name_of(stack())) == 12
    assert int(name_of(stack()), 16) >= 0


def test_the_name_of_a_release_is_a_constant() -> None:
    assert name_of(stack()) == "239489c95bd8"


@given(st.permutations(["a", "b-c", "d", "tp-size"]))
def test_the_order_of_flags_changes_nothing(order: list[str]) -> None:
    flags = ", ".join(f"{name}: 1" for name in order)
    made = [one.argv for one in launches(stack(SMALL.replace("tp-size: 2", flags)))]
    assert made == [one.argv for one in launches(stack(SMALL.replace("tp-size: 2", "a: 1, b-c: 1, d: 1, tp-size: 1")))]

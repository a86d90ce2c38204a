from __future__ import annotations

from dataclasses import replace

import pytest

from stackctl.core.deploy.plan import decide, sentences
from stackctl.core.deploy.refuse import refusals
from tests.core.deploy.releases import NEW, OLD, facts, last, prepared, record, release, running
from tests.workspaces import GOLDEN, golden


@pytest.mark.parametrize("case", ["unreachable", "first", "replaces", "kept", "refused"])
def test_plans_are_the_golden_ones(case: str) -> None:
    made = release()
    served = facts(current=OLD, status=last("committed"), instances=running(OLD), processes=(100, 101, 102))
    look, found = {
        "unreachable": (None, None),
        "first": (facts(), prepared(tree=None)),
        "replaces": (replace(served, trees=(made.tree.tree,)), prepared()),
        "kept": (replace(served, current=NEW, instances=running(NEW), records={NEW: record(made)}), prepared()),
        "refused": (facts(), prepared(secrets=(), versions={"sglang-router": "0.3.1"}, imports={"torch": "no"})),
    }[case]
    text = "".join(f"{line}\n" for line in sentences(made, record(made), look, found))
    golden(GOLDEN / "plan" / f"{case}.txt", text)


def test_only_what_serves_whole_is_kept() -> None:
    whole = facts(current=NEW, status=last("committed"), instances=running(NEW), records={NEW: record()})
    assert decide(NEW, whole) == "keep"
    for other in (
        replace(whole, instances=running(NEW)[:2]),
        replace(whole, instances=running(OLD)),
        replace(whole, status=last("stopped")),
        replace(whole, status=last("running")),
        replace(whole, status=last("running"), cutover=True),
        replace(whole, current=OLD),
        facts(),
    ):
        assert decide(NEW, other) == "cut over"


@pytest.mark.parametrize(
    ("state", "kind", "served"),
    [
        ("committed", "deploy", OLD),
        ("restored", "deploy", OLD),
        ("running", "deploy", OLD),
        ("running", "stop", None),
        ("stopped", "stop", None),
        ("failed", "deploy", None),
        ("broken", "deploy", None),
    ],
)
def test_what_should_serve_after(state: str, kind: str, served: str | None) -> None:
    assert facts(current=OLD, status=last(state, kind=kind)).served == served


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"versions": {"sglang-router": "0.3.1"}}, "/opt/python has sglang-router 0.3.1, the stack pins 0.3.2"),
        ({"imports": {"sglang_router": "no"}}, "/opt/python cannot import sglang_router (no)"),
        ({"tree": ("a.py was changed",)}, "was tampered with on the disk: a.py was changed"),
        ({"tree": tuple("abcdefg")}, "a; b; c; d; e; and 2 more"),
        ({"origin": "/x/sglang"}, "would take sglang.launch_server from /x/sglang, not from tree "),
        ({"scripts": ("a.sh: 2: Syntax error",)}, "the shell cannot read a.sh: 2: Syntax error"),
        ({"secrets": ()}, "the secret KEY is missing"),
        (
            {"listeners": ({"port": 30000, "pid": 5, "user": "eve", "command": "nc -l", "ours": False},)},
            "port 30000 is in use by pid 5 (eve) nc -l",
        ),
        (
            {"listeners": ({"port": 30000, "pid": 0, "user": "?", "command": "?", "ours": False},)},
            "port 30000 is in use by a process of another user",
        ),
        ({"cards": {"problem": "nvidia-smi is not there"}}, "nvidia-smi is not there"),
        (
            {"cards": {"used": {}, "ours": True, "foreign": [
                {"card": 2, "pid": 9, "user": "eve", "command": "train", "memory": "4000"}]}},
            "card 2 is in use by pid 9 (eve) train, 4000 MiB",
        ),
        (
            {"cards": {"used": {"1": "9000"}, "foreign": [], "ours": False}},
            "card 1 has 9000 MiB in use, by no process that nvidia-smi shows",
        ),
    ],
)  # fmt: skip
def test_each_reason_to_refuse(changed: dict[str, object], words: str) -> None:
    (problem,) = refusals(record(), facts(), prepared(**changed))
    assert words in problem.message and problem.message.startswith("gpu1: ")


def test_all_reasons_at_once_and_none_when_all_is_well() -> None:
    ours = ({"port": 30000, "pid": 5, "user": "me", "command": "python", "ours": True},)
    busy = {"used": {"1": "9000"}, "foreign": [], "ours": True}
    assert refusals(record(), facts(), prepared(listeners=ours, cards=busy)) == ()
    bad = prepared(secrets=(), imports={"torch": "no", "numpy": "no"}, tree=("x",))
    assert len(refusals(record(), facts(free=0), bad)) == 5


def test_a_model_that_is_not_the_locked_one_is_refused_file_by_file() -> None:
    made = replace(record(), pinned="/models/m")
    plan = sentences(release(), made, facts(), prepared())
    assert any("compare /models/m with the manifest" in line for line in plan)
    names = [f"model-{number}: is not there" for number in range(7)]
    told = [problem.message for problem in refusals(made, facts(), replace(prepared(), model=tuple(names)))]
    assert len(told) == 6 and "model-0: is not there" in told[0] and "2 more files are not" in told[-1]
    assert all("/models/m" in message for message in told)

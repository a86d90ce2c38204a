"""Rules on what processes of one machine share: ports, cards, shared memory, the bus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from stackctl.core.lint.rules import host
from stackctl.core.lint.rules.host import cards
from stackctl.core.lint.run import run
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.stack.resolved import HostSpec
from stackctl.core.upstream.values import History
from tests.core.lint.heard import Case, judged
from tests.core.lint.rows import STACK
from tests.core.lint.setups import H200, SM120, process, table

RULES = host.RULES
DP = "--tp-size 4 --dp-size 4 --enable-dp-attention"


def made(*processes: Process, version: str = "0.5.15") -> Setup:
    return Setup(table(version), History(()), processes)


def on(host: str | None, role: str, command: str, **more: Any) -> Process:
    return process(role, command, host=host, **more)


@pytest.mark.parametrize(
    ("prefill", "decode", "place", "says"),
    [
        # ports that nobody wrote down: --port + 233 to + 239
        (f"--port 30000 {DP}", "--port 30233", "port@prefill-0", "ports 30233 to 30239"),
        (f"--port 30000 {DP}", "--port 30239", "port@prefill-0", "250 apart"),
        (f"--port 30000 {DP}", "--port 30240", "", ""),
        (f"--port 30000 {DP}", f"--port 30006 {DP}", "port@decode-0", "30239 to 30245"),
        (f"--port 30000 {DP}", f"--port 30007 {DP}", "", ""),
        (f"--port 30000 {DP} --dist-init-addr h:25000", "--port 30233", "", ""),
        (f"--port 30000 {DP} --dist-init-addr h:30400", "--port 30406", "dist-init-addr@prefill-0", "30400 to 30406"),
        ("--port 30000 --dp-size 1 --enable-dp-attention", "--port 30233", "", ""),
        ("--port 30000 --tp-size 4", "--port 30233", "", ""),
        (f"--port 65400 {DP}", "--port 65170", "port@prefill-0", "65167 to 65173"),
        # ports that are written
        ("--port 30000", "--port 30000", "port@decode-0", "ports of its own"),
        ("--port 30000 --nccl-port 29500", "--port 30300 --nccl-port 29500", "nccl-port@decode-0", "29500"),
        ("--port 30000 --nccl-port 29500", "--port 30300", "", ""),
        ("--port 30000", "--port 8998", "port@decode-0", "bootstrap-port 8998"),
        (
            "--port 30000 --dist-init-addr 10.0.0.1:5000",
            "--port 30300 --dist-init-addr 10.0.0.1:5000",
            "dist-init-addr@decode-0",
            "",
        ),
    ],
)
def test_ports(prefill: str, decode: str, place: str, says: str) -> None:
    made_here = made(on("a", "prefill", prefill), on("a", "decode", decode))
    judged(made_here, Case("PD-PORTS", {}, place, (says,)), RULES)
    elsewhere = made(on("a", "prefill", prefill), on("b", "decode", decode))
    rendezvous = place if "10.0.0.1:5000" in decode else ""
    judged(elsewhere, Case("PD-PORTS", {}, rendezvous), RULES)
    unknown = made(on(None, "prefill", prefill), on(None, "decode", decode))
    judged(unknown, Case("PD-PORTS", {}, rendezvous), RULES)


def test_the_nodes_of_one_engine_meet_at_one_address() -> None:
    nodes = "--tp-size 16 --nnodes 2 --dist-init-addr 10.0.0.1:5000 --node-rank"
    two = made(on("a", "single", f"{nodes} 0"), on("b", "single", f"{nodes} 1", index=1))
    judged(two, Case("PD-PORTS", {}), RULES)


def test_attention_data_parallelism_by_its_new_name() -> None:
    pair = (on("a", "prefill", "--port 30000 --attn-dp-size 4", version="0.5.23"), on("a", "decode", "--port 30235"))
    judged(made(*pair, version="0.5.23"), Case("PD-PORTS", {}, "port@prefill-0"), RULES)


def test_bootstrap_ports_of_two_prefills_and_the_routers_own() -> None:
    prefills = [on("a", "prefill", f"--port {port}", index=at) for at, port in enumerate((30000, 30300))]
    judged(made(*prefills), Case("PD-PORTS", {}, "disaggregation-bootstrap-port@prefill-1", ("8998",)), RULES)
    router = on("a", "router", "--port 30000")
    judged(made(prefills[0], router), Case("PD-PORTS", {}, "port@router-0"), RULES)
    metrics = on("a", "decode", "--port 29000")
    judged(made(metrics, on("a", "router", "--port 8000")), Case("PD-PORTS", {}, "prometheus-port@router-0"), RULES)


def test_keys_of_a_stack_are_refused_before_that() -> None:
    """core/stack/layout.py does; what it does not know, the derived ports, is told here."""
    same = made(on("a", "prefill", f"--port 30000 {DP}"), on("a", "decode", "--port 30000"))
    judged(replace(same, stack=STACK), Case("PD-PORTS", {}), RULES)
    near = made(on("a", "prefill", f"--port 30000 {DP}"), on("a", "decode", "--port 30234"))
    judged(replace(near, stack=STACK), Case("PD-PORTS", {}, "port@prefill-0"), RULES)


def test_two_names_of_a_machine_are_one() -> None:
    hosts = {"a": HostSpec("a", "ops@gpu1.example:22"), "b": HostSpec("b", "root@gpu1.example")}
    pair = made(on("a", "prefill", f"--port 30000 {DP}"), on("b", "decode", "--port 30234"))
    judged(replace(pair, stack=replace(STACK, hosts=hosts)), Case("PD-PORTS", {}, "port@prefill-0"), RULES)


@pytest.mark.parametrize(
    ("prefill", "decode", "router", "same"),
    [
        ("", "", None, True),
        ("--host 0.0.0.0", "--host 127.0.0.1", None, True),
        ("--host 10.0.0.1", "--host 10.0.0.2", None, False),
        ("--host 10.0.0.1", "--host 10.0.0.1", None, True),
        ("--host 10.0.0.1", "", None, False),  # not known
        ("--nnodes 2 --node-rank 0", "", None, False),
        ("", "", "--prefill http://127.0.0.1:30000 8998 --decode http://localhost:30000", True),
        ("", "", "--prefill http://prefill.example:30000 8998 --decode http://decode.example:30000", False),
        ("", "", "--prefill http://gpu1.example:30000 8998 --decode http://gpu1.example:30000", True),
        ("", "", "--prefill --decode http://gpu1.example:30000", False),  # a variable stood there
        ("", "", "--prefill http://[::1:30000 --decode http://127.0.0.1:30000", True),
    ],
)
def test_commands_of_one_file_may_be_for_several_machines(
    prefill: str, decode: str, router: str | None, same: bool
) -> None:
    processes = [on("local", "prefill", prefill), on("local", "decode", decode)]
    processes += [on("local", "router", f"{router} --port 8000")] if router else []
    places = "base-gpu-id@decode-0" if same else ""
    judged(made(*processes), Case("PD-GPU-OVERLAP", {}, places), RULES)


def test_a_page_of_examples_is_no_deployment() -> None:
    """Two prefill servers at one port are two examples, whatever else stands between them."""
    command = "--port 30000 --dist-init-addr 10.0.0.1:5000"
    page = [on("local", role, command, index=at) for role in ("prefill", "decode") for at in (0, 1)]
    assert not list(run(made(*page), [rule for rule in RULES if rule.id.startswith(("PD-", "GPU-"))]))


@pytest.mark.parametrize(
    ("command", "env", "found"),
    [
        ("--tp-size 4", {}, {0, 1, 2, 3}),
        ("--tp 2 --pp-size 2 --base-gpu-id 4", {}, {4, 5, 6, 7}),
        ("--tp-size 2 --dp-size 2", {}, {0, 1, 2, 3}),
        (DP, {}, {0, 1, 2, 3}),
        ("--tp-size 16 --nnodes 2", {}, set(range(8))),
        ("--tp-size 2 --base-gpu-id 1 --gpu-id-step 2", {}, {1, 3}),
        ("--tp-size 2", {"CUDA_VISIBLE_DEVICES": "6, 7"}, {6, 7}),
        ("--tp-size 2 --base-gpu-id 1", {"CUDA_VISIBLE_DEVICES": "4,5,6"}, {5, 6}),
        ("--tp-size 2", {"CUDA_VISIBLE_DEVICES": "GPU-1b,GPU-2c"}, None),
        ("--tp-size 2", {"CUDA_VISIBLE_DEVICES": ""}, None),
        ("--device cpu", {}, None),
    ],
)
def test_cards_of_an_engine(command: str, env: Mapping[str, str], found: set[int] | None) -> None:
    assert cards(process("single", command, env=env)) == found


@pytest.mark.parametrize(
    ("prefill", "decode", "place", "severity"),
    [
        ("--tp-size 4", "--tp-size 4", "tp-size@decode-0", "error"),
        ("--tp-size 4", "--tp-size 4 --base-gpu-id 3", "base-gpu-id@decode-0", "error"),
        ("--tp-size 4", "--tp-size 4 --base-gpu-id 4", "", ""),
        ("", "", "base-gpu-id@decode-0", "error"),
        ("--mem-fraction-static 0.4", "--mem-fraction-static 0.5", "base-gpu-id@decode-0", "warning"),
        ("--mem-fraction-static 0.6", "--mem-fraction-static 0.5", "base-gpu-id@decode-0", "error"),
        ("--device cpu", "--device cpu", "", ""),
    ],
)
def test_two_engines_on_a_card(prefill: str, decode: str, place: str, severity: str) -> None:
    pair = on("a", "prefill", prefill), on("a", "decode", decode)
    judged(made(*pair), Case("PD-GPU-OVERLAP", {}, place, ("card",) if place else (), severity), RULES)
    judged(made(pair[0], replace(pair[1], host="b")), Case("PD-GPU-OVERLAP", {}), RULES)
    judged(made(replace(pair[0], host=None), replace(pair[1], host=None)), Case("PD-GPU-OVERLAP", {}), RULES)


def test_cards_that_a_stack_gave_are_refused_before_that() -> None:
    pair = on("a", "prefill", "", gpus=(0, 1)), on("a", "decode", "", gpus=(1, 2))
    judged(replace(made(*pair), stack=STACK), Case("PD-GPU-OVERLAP", {}), RULES)
    judged(made(*pair), Case("PD-GPU-OVERLAP", {}, "base-gpu-id@decode-0", ("both take card 1",)), RULES)
    mixed = on("a", "prefill", "", gpus=(0, 1)), on("a", "decode", "", env={"CUDA_VISIBLE_DEVICES": "1"})
    says = ("both take card 1",)
    judged(made(*mixed), Case("PD-GPU-OVERLAP", {}, "CUDA_VISIBLE_DEVICES@decode-0", says), RULES)


@pytest.mark.parametrize(
    ("command", "visible", "says"),
    [
        ("--tp-size 8", "0,1,2,3", "8 ranks want cards 0 to 7, and 4 are visible"),
        ("--tp-size 2", "7", "1 is visible"),
        ("--tp-size 2 --base-gpu-id 3", "0,1,2,3", "cards 0 to 4"),
        ("--tp-size 4", "0,1,2,3", ""),
        ("--tp-size 2 --dp-size 2 --enable-dp-attention", "0,1", ""),
        ("--tp-size 8 --nnodes 2", "0,1,2,3", ""),
        ("--tp-size 2", "", ""),
        ("--tp-size 2 --device cpu", "0", ""),
        ("--tp-size 2", "GPU-1b,GPU-2c", ""),
    ],
)
def test_ranks_and_visible_cards(command: str, visible: str, says: str) -> None:
    one = process("single", command, env={"CUDA_VISIBLE_DEVICES": visible})
    place = "tp-size@single-0" if says else ""
    judged(made(one), Case("GPU-COUNT", {}, place, (says,)), RULES)


def test_the_cards_of_a_stacks_host() -> None:
    sixteen = made(process("single", "--tp-size 16", card=SM120))
    judged(replace(sixteen, stack=STACK), Case("GPU-COUNT", {}, "tp-size@single-0", ("8 are visible",)), RULES)
    judged(sixteen, Case("GPU-COUNT", {}), RULES)  # a command may be one of several nodes


@pytest.mark.parametrize(
    ("command", "more", "fires"),
    [
        ("--tp-size 4", {}, True),
        ("", {}, False),
        ("--tp-size 4", {"env": {"NCCL_P2P_LEVEL": "SYS"}}, False),
        ("--tp-size 4", {"env": {"NCCL_P2P_DISABLE": "1"}}, False),
        ("--tp-size 4", {"card": H200}, False),
        ("--tp-size 4", {"card": None}, False),
    ],
)
def test_cards_on_pcie(command: str, more: Mapping[str, Any], fires: bool) -> None:
    one = on("gpu1", "prefill", command, **{"card": SM120, **more})
    two = replace(on("gpu1", "decode", command, **{"card": SM120, **more}), gpus=(4, 5, 6, 7))
    place = "hosts.gpu1@None" if fires else ""
    says = ("may hang", "stackctl doctor") if fires else ()
    judged(replace(made(one, two), stack=STACK), Case("NCCL-PREFLIGHT", {}, place, says, "warning"), RULES)
    judged(made(one, two), Case("NCCL-PREFLIGHT", {}), RULES)


@pytest.mark.parametrize(
    ("command", "box", "rule", "says"),
    [
        ("--tp-size 4", {}, "SHM", "the 64 MB of /dev/shm that a container has unless told"),
        ("--tp-size 4", {"shm-size": "16g"}, "SHM", "16g of /dev/shm"),
        ("--tp-size 4", {"shm-size": "1024"}, "SHM", "1024 of /dev/shm"),
        ("--tp-size 4", {"shm-size": "32g"}, "SHM", ""),
        ("--tp-size 4", {"shm-size": "32768M"}, "SHM", ""),
        ("--tp-size 4", {"shm-size": "$SHM"}, "SHM", ""),
        ("--tp-size 4", {"ipc": "host"}, "SHM", ""),
        ("--tp-size 4", {"ipc": "private"}, "SHM", "the 64 MB"),
        ("--tp-size 4", {"ipc": "$IPC"}, "SHM", ""),
        ("--tp-size 4", {"open": ""}, "SHM", ""),
        ("--tp-size 4", {"pod": ""}, "SHM", "emptyDir with medium: Memory"),
        ("--tp-size 4", None, "SHM", ""),
        ("", {}, "SHM", ""),
        ("", {}, "ULIMIT", "may lock little"),
        ("", {"ulimit": "stack=67108864"}, "ULIMIT", "memlock=-1"),
        ("", {"ulimit": "memlock=$LOCK"}, "ULIMIT", ""),
        ("", {"open": ""}, "ULIMIT", ""),
        ("", {"pod": ""}, "ULIMIT", ""),
        ("", {"ulimit": "memlock=-1 stack=67108864"}, "ULIMIT", ""),
        ("", None, "ULIMIT", ""),
    ],
)
def test_containers(command: str, box: Mapping[str, str] | None, rule: str, says: str) -> None:
    place = f"{'shm-size' if rule == 'SHM' else 'ulimit'}@prefill-0" if says else ""
    judged(made(process("prefill", command, container=box)), Case(rule, {}, place, (says,), "warning"), RULES)


@pytest.mark.parametrize(
    ("box", "rules"),
    [
        ({"network": "host", "gpus": "all"}, {"PD-PORTS", "PD-GPU-OVERLAP"}),
        ({"gpus": "all"}, {"PD-GPU-OVERLAP"}),
        ({"network": "host"}, {"PD-PORTS"}),
        ({"gpus": "device=0,1"}, set()),
    ],
)
def test_containers_of_one_machine(box: Mapping[str, str], rules: set[str]) -> None:
    pair = made(on("a", "prefill", "", container=box), on("a", "decode", "", container=box))
    assert {one.rule.id for one in run(pair, RULES)} - {"ULIMIT"} == rules


def test_a_single_engine_locks_nothing_for_others() -> None:
    judged(made(process("single", "", container={})), Case("ULIMIT", {}), RULES)

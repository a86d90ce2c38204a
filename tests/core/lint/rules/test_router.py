"""Rules on the router: workers, health, keys, and the bootstrap port that it tells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stackctl.core.lint.rules import router
from stackctl.core.lint.setup import Setup
from stackctl.core.upstream.values import History, Upstream
from tests.core.lint.heard import Case, asked, judged
from tests.core.lint.rows import STACK
from tests.core.lint.setups import process, setup, table

RULES = router.RULES
PD = "--pd-disaggregation --prefill http://10.0.0.1:30000 8998 --decode http://10.0.0.2:30001"

LOCAL = {"prefill": "--port 30000", "decode": "--port 30300"}


def router(rule: str, command: str, place: str = "", *says: str, severity: str = "warning", **roles: Any) -> Case:
    return Case(rule, {**roles, "router": command}, place and f"{place}@router-0", says, severity)


CASES = [
    router(
        "ROUTER-BOOTSTRAP",
        "--pd-disaggregation --prefill http://10.0.0.1:30000 --decode http://10.0.0.2:30001",
        "prefill",
        "names no bootstrap port",
        "8998",
    ),
    router("ROUTER-BOOTSTRAP", "--prefill http://10.0.0.1:30000 none", "prefill", "none names no bootstrap port"),
    router("ROUTER-BOOTSTRAP", "--prefill http://10.0.0.1:30000 high", "prefill", "high is no", severity="error"),
    router("ROUTER-BOOTSTRAP", PD),
    router("ROUTER-BOOTSTRAP", "--mini-lb --prefill http://10.0.0.1:30000"),
    router("ROUTER-NO-PREFILL", "--pd-disaggregation", "pd-disaggregation", "503", severity="error"),
    router(
        "ROUTER-NO-PREFILL",
        "--pd-disaggregation --prefill http://10.0.0.1:30000 8998",
        "pd-disaggregation",
        "without --decode",
        severity="error",
    ),
    router(
        "ROUTER-NO-PREFILL",
        PD.removeprefix("--pd-disaggregation "),
        "prefill",
        "not looked at",
        severity="error",
    ),
    router("ROUTER-NO-PREFILL", PD),
    router("ROUTER-NO-PREFILL", "--pd-disaggregation --service-discovery"),
    router("ROUTER-NO-PREFILL", "--worker-urls http://10.0.0.1:30000"),
    router(
        "ROUTER-WORKER",
        "--prefill http://127.0.0.1:30000 8998 --decode http://127.0.0.1:30301",
        "decode",
        "no decode engine listens on 30301",
        "write 30300",
        severity="error",
        **LOCAL,
    ),
    router(
        "ROUTER-WORKER",
        "--prefill http://localhost:30300 8998 --decode http://127.0.0.1:30300",
        "prefill",
        "no prefill engine listens on 30300, decode does",
        severity="error",
        **LOCAL,
    ),
    router("ROUTER-WORKER", "--prefill http://127.0.0.1:30000 --decode http://127.0.0.1:30300", **LOCAL),
    router("ROUTER-WORKER", "--prefill http://10.0.0.1:30001 --decode http://10.0.0.2:30301", **LOCAL),  # elsewhere
    router(
        "ROUTER-WORKER",
        "--worker-urls http://127.0.0.1:30000 http://127.0.0.1:30001",
        "worker-urls",
        "http://127.0.0.1:30001: no engine listens on 30001",
        severity="error",
        single="--port 30000",
    ),
    router("ROUTER-WORKER", "--decode http://127.0.0.1:1", prefill="--port 30000"),  # decode is started elsewhere
    router(
        "ROUTER-WORKER",
        "--decode http://10.0.0.2:1",
        "decode",
        "write 30300",
        severity="error",
        prefill="--port 30000",
        decode="--port 30300 --host 10.0.0.2",
    ),
    router("ROUTER-BOOTSTRAP", "--prefill http://127.0.0.1:30000 --decode http://127.0.0.1:30300", **LOCAL),
    router(
        "ROUTER-BOOTSTRAP",
        "--prefill http://127.0.0.1:30000 --decode http://127.0.0.1:30300",
        "prefill",
        "names no bootstrap port",
        prefill="--port 30000 --disaggregation-bootstrap-port 9000",
        decode="--port 30300",
    ),
    router("ROUTER-HEALTH-OFF", "--disable-health-check", "disable-health-check", "dead worker"),
    router("ROUTER-HEALTH-OFF", "--health-check-interval-secs 999999", "health-check-interval-secs", "999999 s"),
    router("ROUTER-HEALTH-OFF", "--health-check-interval-secs 3600"),
    router("ROUTER-HEALTH-OFF", PD),
    router("ROUTER-OPEN", PD, "host", "0.0.0.0", "add workers", severity="info"),
    router("ROUTER-OPEN", PD + " --host 10.0.0.3", "host", "10.0.0.3", "--api-key", severity="info"),
    router("ROUTER-OPEN", PD + " --host router.example", "host", "router.example", severity="info"),
    router("ROUTER-OPEN", PD + " --host 127.0.0.1"),
    router("ROUTER-OPEN", PD + " --host ::1"),
    router("ROUTER-OPEN", PD + " --host localhost"),
    router("ROUTER-OPEN", PD + " --api-key $KEY"),
    # the port that decode will use, and the one that prefill listens on
    router(
        "PD-BOOTSTRAP-PAIR",
        PD,
        "prefill",
        "bootstraps on port 30089, and the router tells decode 8998",
        "write 30089",
        severity="error",
        prefill="--port 30000 --disaggregation-bootstrap-port 30089",
        decode="--port 30001",
    ),
    router("PD-BOOTSTRAP-PAIR", PD, prefill="--port 30000", decode="--port 30001"),
    router(
        "PD-BOOTSTRAP-PAIR",
        PD.replace(" 8998", ""),
        prefill="--port 30000",
        decode="--port 30001",
    ),
    router("PD-BOOTSTRAP-PAIR", PD, decode="--port 30001"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_router(case: Case) -> None:
    asked(case, RULES)


def test_without_a_number_decode_asks_its_own() -> None:
    roles = {
        "prefill": "--port 30000 --disaggregation-bootstrap-port 30089",
        "decode": "--port 30001",
        "router": "--pd-disaggregation --prefill http://h:30000 --decode http://h:30001",
    }
    place = "disaggregation-bootstrap-port@decode-0"
    asked(Case("PD-BOOTSTRAP-PAIR", roles, place, ("decode asks 8998",)), RULES)
    roles["decode"] += " --disaggregation-bootstrap-port 30089"
    asked(Case("PD-BOOTSTRAP-PAIR", roles), RULES)


def test_the_other_half_may_be_anywhere() -> None:
    roles = {"prefill": "--disaggregation-bootstrap-port 30089", "router": PD}
    judged(replace(setup(**roles), complete=False), Case("PD-BOOTSTRAP-PAIR", roles), RULES)


def test_prefill_servers_are_told_apart_by_their_ports() -> None:
    command = "--pd-disaggregation --prefill http://h:30000 8998 --prefill http://h:30100 8998 --decode http://h:30001"
    made = (
        process("prefill", "--port 30000"),
        process("prefill", "--port 30100 --disaggregation-bootstrap-port 8999", index=1),
        process("decode", "--port 30001"),
        process("router", command),
    )
    case = Case("PD-BOOTSTRAP-PAIR", {}, "prefill@router-0", ("prefill-1 bootstraps on port 8999",))
    judged(Setup(table(), History(()), made), case, RULES)


def test_a_stack_is_warned_and_told_what_a_stack_can_do() -> None:
    open_router = replace(setup(router=PD), stack=STACK)
    case = Case("ROUTER-OPEN", {}, "host@router-0", ("holds no keys", "ignore ROUTER-OPEN because"), "warning")
    judged(open_router, case, RULES)


def test_the_router_is_looked_at_whatever_serves_behind_it() -> None:
    stand_in = replace(setup(router="--disable-health-check"), upstream=Upstream("standin", None, "none"))
    judged(stand_in, Case("ROUTER-HEALTH-OFF", {}, "disable-health-check@router-0", (), "warning"), RULES)


def test_another_balancer_is_not_this_router() -> None:
    made = replace(process("router", "--disable-health-check"), module="sglang.srt.disaggregation.mini_lb")
    judged(Setup(table(), History(()), (made,)), Case("ROUTER-HEALTH-OFF", {}), RULES)

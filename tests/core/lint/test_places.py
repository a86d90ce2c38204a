"""Where findings are told: the line where the value was written, through `extends`, once for all whom it concerns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stackctl.commands.gather import load
from stackctl.commands.selection import Selection
from stackctl.core.lint.from_stack import setup_of
from stackctl.core.lint.places import located
from stackctl.core.lint.run import Fired, run
from stackctl.core.lint.setup import Setup
from stackctl.core.lint.values import Finding, Hit, Place, Rule, Severity
from stackctl.core.upstream.values import History
from tests.core.lint.setups import table
from tests.workspaces import ports_of

BASE = """\
base: {path: engine}
model: {path: /m, name: m}
serve:
  tool_call_parser: deepseekv4
  flags:
    tp-size: 2
    kv-cache-dtype: fp8_e4m3
  env: {SGLANG_A: 1}
hosts:
  a:
    address: ops@a.example
    python: /opt/python
    gpus: {count: 8, arch: sm_120, memory: 96GiB}
    env:
      NCCL_TIMEOUT: 60
"""
MAIN = """\
extends: base.yaml
roles:
  prefill:
    host: a
    port: 30000
    gpus: [0, 1]
    flags:
      tp-size: 4
  decode:
    - {host: a, port: 30300, gpus: [2, 3]}
    - host: a
      port: 30600
      gpus: [4, 5]
      env: {SGLANG_A: 2}
  router: {host: a, port: 31000, flags: {policy: round_robin}}
"""
ENGINES = ("prefill-0", "decode-0", "decode-1")


def setup(main: str = MAIN, base: str = BASE) -> Setup:
    ports = ports_of({"stacks/main.yaml": main, "stacks/base.yaml": base})
    stack = load(ports, Selection("main"))
    return setup_of(stack, table("0.5.15"), History(()), ["t/a"])


def rule(*hits: Hit, id: str = "TEST") -> Rule:
    def check(_: Setup) -> Iterator[Hit]:
        return iter(hits)

    return Rule(id, "error", check, "about", "why", sglang=False)


def found(*places: Place, message: str = "wrong") -> list[Finding]:
    given = setup()
    fired = run(given, [rule(*(Hit(message, place) for place in places))])
    return [each.finding for each in located(given, fired)]


@pytest.mark.parametrize(
    ("place", "where", "key"),
    [
        (Place("flag", "kv-cache-dtype", "prefill-0"), "stacks/base.yaml:7:5", "serve.flags.kv-cache-dtype"),
        (Place("flag", "tp-size", "prefill-0"), "stacks/main.yaml:8:7", "roles.prefill.flags.tp-size"),
        (Place("flag", "tp-size", "decode-1"), "stacks/base.yaml:6:5", "serve.flags.tp-size"),
        (Place("flag", "tool-call-parser", "decode-0"), "stacks/base.yaml:4:3", "serve.tool_call_parser"),
        (Place("flag", "model-path", "decode-0"), "stacks/base.yaml:2:9", "model.path"),
        (Place("flag", "port", "decode-1"), "stacks/main.yaml:12:7", "roles.decode.1.port"),
        (Place("flag", "host", "decode-1"), "stacks/base.yaml:11:5", "hosts.a.address"),
        (Place("flag", "base-gpu-id", "decode-1"), "stacks/main.yaml:13:7", "roles.decode.1.gpus"),
        (Place("flag", "page-size", "decode-0"), "stacks/main.yaml:10:7", "roles.decode.0.flags.page-size"),
        (Place("flag", "page-size", "prefill-0"), "stacks/main.yaml:7:5", "roles.prefill.flags.page-size"),
        (Place("flag", "policy", "router-0"), "stacks/main.yaml:15:42", "roles.router.flags.policy"),
        (Place("flag", "tp-size"), "stacks/base.yaml:6:5", "serve.flags.tp-size"),
        (Place("env", "SGLANG_A", "decode-1"), "stacks/main.yaml:14:13", "roles.decode.1.env.SGLANG_A"),
        (Place("env", "SGLANG_A", "decode-0"), "stacks/base.yaml:8:9", "serve.env.SGLANG_A"),
        (Place("env", "NCCL_TIMEOUT", "decode-0"), "stacks/base.yaml:15:7", "hosts.a.env.NCCL_TIMEOUT"),
        (Place("env", "NCCL_TIMEOUT", "router-0"), "stacks/base.yaml:15:7", "hosts.a.env.NCCL_TIMEOUT"),
        (Place("env", "CUDA_VISIBLE_DEVICES", "decode-1"), "stacks/main.yaml:13:7", "roles.decode.1.gpus"),
        (Place("env", "SGLANG_B", "prefill-0"), "stacks/main.yaml:3:3", "roles.prefill.env.SGLANG_B"),
        (Place("key", "gpus", "decode-1"), "stacks/main.yaml:13:7", "roles.decode.1.gpus"),
        (Place("key", "serve.tool_call_parser"), "stacks/base.yaml:4:3", "serve.tool_call_parser"),
        (Place("key", "roles.decode.1.port"), "stacks/main.yaml:12:7", "roles.decode.1.port"),
        (Place("key", "patches"), "stacks/main.yaml", "patches"),
    ],
)
def test_a_place_is_the_line_where_it_was_written(place: Place, where: str, key: str) -> None:
    (finding,) = found(place)
    assert (str(finding.where), finding.key) == (where, key)


def test_one_line_that_speaks_for_several_is_one_finding() -> None:
    (finding,) = found(*(Place("flag", "kv-cache-dtype", name) for name in ENGINES))
    assert finding.instances == ENGINES


def test_other_lines_are_other_findings() -> None:
    findings = found(*(Place("flag", "tp-size", name) for name in ENGINES))
    assert [(str(one.where), one.instances) for one in findings] == [
        ("stacks/base.yaml:6:5", ("decode-0", "decode-1")),
        ("stacks/main.yaml:8:7", ("prefill-0",)),
    ]


def test_what_all_engines_lack_belongs_under_serve() -> None:
    (finding,) = found(*(Place("flag", "moe-runner-backend", name) for name in ENGINES))
    assert (str(finding.where), finding.key) == ("stacks/base.yaml:5:3", "serve.flags.moe-runner-backend")
    assert len(found(*(Place("flag", "moe-runner-backend", name) for name in ENGINES[1:]))) == 2


def test_findings_come_in_the_order_of_the_files_and_two_of_one_line_stay_two() -> None:
    given = setup()
    same = Place("key", "serve.tool_call_parser")
    rules = [rule(Hit("b", Place("flag", "tp-size", "prefill-0")), Hit("a", same)), rule(Hit("a", same), id="OTHER")]
    assert [(each.finding.rule, str(each.finding.where)) for each in located(given, run(given, rules))] == [
        ("TEST", "stacks/base.yaml:4:3"),
        ("OTHER", "stacks/base.yaml:4:3"),
        ("TEST", "stacks/main.yaml:8:7"),
    ]


def test_a_setup_has_what_starts_and_says_what_stackctl_made() -> None:
    given = setup()
    prefill, decode, second, router = given.processes
    assert (prefill.role, prefill.module, prefill.number("tp-size")) == ("prefill", "sglang.launch_server", 4)
    assert (decode.number("tp-size"), second.env["SGLANG_A"], second.env["NCCL_TIMEOUT"]) == (2, "2", "60")
    assert prefill.made == {
        "model-path",
        "served-model-name",
        "tool-call-parser",
        "host",
        "port",
        "disaggregation-mode",
        "disaggregation-bootstrap-port",
    }
    assert prefill.card is not None and prefill.card.is_sm120 and prefill.card.memory == 96 << 30
    assert (router.role, router.card, router.table) == ("router", None, None)
    assert [option.name for option in router.options if option.name not in router.made] == ["policy"]
    assert [option.values for option in router.all("prefill")] == [("http://127.0.0.1:30000", "8998")]
    assert given.patches == {"t/a"}


def test_a_rule_that_breaks_is_a_finding_and_hides_nothing() -> None:
    def broken(_: Setup) -> Iterator[Hit]:
        yield Hit("never heard", Place("key", "base"))
        raise ZeroDivisionError("x")

    given = setup()
    fired = run(given, [Rule("BROKEN", "error", broken, "", "", sglang=False), rule(Hit("fine", Place("key", "base")))])
    assert [(one.rule.id, one.severity, one.hit.message) for one in fired] == [
        ("RULE-FAILED", "warning", "rule BROKEN could not be asked: ZeroDivisionError: x"),
        ("TEST", "error", "fine"),
    ]


def test_what_a_better_rule_says_is_said_once() -> None:
    def named(id: str, place: Place, severity: Severity | None = None) -> Rule:
        return rule(Hit(id, place, severity=severity), id=id)

    key, flag = Place("key", "serve.tool_call_parser"), Place("flag", "tool-call-parser", "decode-0")
    given = setup()
    assert _ids(run(given, [named("CHOICE", flag), named("PARSER-PAIR", key)])) == ["PARSER-PAIR"]
    assert _ids(run(given, [named("CHOICE", flag), named("PARSER-PAIR", Place("flag", "x"))])) == [
        "CHOICE",
        "PARSER-PAIR",
    ]
    milder = [named("CHOICE", flag), named("PARSER-PAIR", key, "info")]
    assert _ids(run(given, milder)) == ["CHOICE", "PARSER-PAIR"]
    old = [named(id, flag) for id in ("SM120-DSV4-VERSION", "DSV4-VERSION", "NVFP4-CUTLASS-CLAMP", "CHOICE")]
    assert _ids(run(given, old)) == ["DSV4-VERSION", "CHOICE"]


def _ids(fired: list[Fired]) -> list[str]:
    return [one.rule.id for one in fired]

"""The whole `stackctl test` against small real servers: right class and verdict at 60, clean alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackctl.adapters.clock import SystemClock
from stackctl.adapters.files import LocalFiles
from stackctl.adapters.http import AiohttpClient
from stackctl.adapters.process import LocalProcess
from stackctl.cli import main
from stackctl.commands.selection import Selection
from stackctl.commands.testing.test import Rooms, TestRequest, run_test
from stackctl.core.deploy.values import Deployment, InstanceState
from stackctl.core.names import ReleaseId, Secret
from stackctl.core.stack.resolved import Model, PathBase, ResolvedStack, Serve, TestSpec
from stackctl.core.verify.report import TestReport
from stackctl.core.verify.wire import Burst, BurstResult
from stackctl.errors import Interrupted, StackctlError, UsageError
from stackctl.ports import Ports, Progress
from tests.fakes import LocalFilesAt, Somebody, fake_ports
from tests.servers import ToyServer, free_port

# small counts and limits, so that a run takes a second or two: 21 requests exclude a rate of 20 %
SPEC = TestSpec(
    "c60", "toolcalls", bursts_min=2, bursts_max=4, max_rate=0.2, control_requests=6, gap=0.6, wedge=0.6, ttft=2.0,
    probe=0.5,
)  # fmt: skip
PLAIN = Selection("toy")


@pytest.fixture
def ports() -> Ports:
    return fake_ports(http=AiohttpClient(), process=LocalProcess(), files=LocalFiles(), clock=SystemClock())


def rooms(tmp_path: Path, url: str | None, spec: TestSpec = SPEC, **deployed: Any) -> Rooms:
    stack = ResolvedStack(
        name="toy", file="stacks/toy.yaml", workspace=str(tmp_path), base=PathBase("/nowhere"), patches=(),
        model=Model("/model", "toy"), serve=Serve(), engines=(), router=None, router_package=None, hosts={},
        tests={spec.name: spec},
    )  # fmt: skip
    states = (InstanceState("router-0", "local", "running", url=url or ""),)
    there = Deployment("toy", ReleaseId("0123456789ab"), url=url, start_seconds=3.5, instances=states)
    return Rooms(lambda *_: stack, lambda *_: replace(there, **deployed), lambda *_: "without flag:x")


def run(ports: Ports, tmp_path: Path, fault: str, spec: TestSpec = SPEC, quick: bool = False) -> TestReport:
    with ToyServer(fault) as server:
        return run_test(ports, TestRequest(spec.name, PLAIN, quick=quick), rooms(tmp_path, server.url, spec))


def test_a_good_server_is_clean(ports: Ports, tmp_path: Path) -> None:
    report = run(ports, tmp_path, "")
    assert (report.verdict, report.exit) == ("clean", 0), report
    assert report.requests in (60, 120) and report.failed == 0 and report.bursts >= 2
    assert report.control == {"before": "6/6 clean", "after": "6/6 clean"}
    assert report.bound is not None and report.bound < 0.2
    assert report.timings.ttft_p50 and report.timings.gap_p99 and report.timings.tokens_per_second
    assert report.timings.start_seconds == 3.5 and report.release == "0123456789ab"


@pytest.mark.parametrize(
    ("fault", "cls"),
    [("leak", "leak"), ("mix", "contamination"), ("stall", "stall"), ("reset", "reset_stream"),
     ("error", "http_status")],
)  # fmt: skip
def test_a_fault_under_load_is_named(ports: Ports, tmp_path: Path, fault: str, cls: str) -> None:
    report = run(ports, tmp_path, fault)
    assert (report.verdict, report.exit, report.signature) == ("bad", 1, cls), report
    assert report.control["before"] == "6/6 clean"
    assert report.control["after"] == "6/6 clean"
    assert report.classes[cls] >= 1
    assert report.evidence is not None
    kept = {p.stem for p in Path(report.evidence, "raw").glob("*.sse")}
    failed = {f.request for f in report.findings if f.verdict == "bad"}
    assert failed <= kept


def test_a_wedge_is_one_although_health_is_green(ports: Ports, tmp_path: Path) -> None:
    report = run(ports, tmp_path, "wedge")
    assert (report.verdict, report.signature, report.wedge) == ("bad", "wedge", True), report
    first = report.findings[0]
    assert (first.cls, first.sub) == ("wedge", "health_ok")
    assert "/health said 200" in first.detail and "recovers after abort: no" in first.detail
    assert report.evidence is not None
    probes = [json.loads(line) for line in Path(report.evidence, "probes.jsonl").read_text().splitlines()]
    assert {p["url"].rpartition("/")[2] for p in probes} >= {"health", "canary"}


def test_a_crash_under_load_is_bad(ports: Ports, tmp_path: Path) -> None:
    assert run(ports, tmp_path, "crash").verdict == "bad"


def test_quick_has_a_short_control_and_none_after(ports: Ports, tmp_path: Path) -> None:
    report = run(ports, tmp_path, "leak", quick=True)
    assert (report.verdict, report.control) == ("bad", {"before": "5/5 clean"})
    clean = run(ports, tmp_path, "", replace(SPEC, bursts_min=10), quick=True)
    assert (clean.verdict, clean.requests, clean.control) == ("clean", 60, {"before": "5/5 clean"})


@pytest.mark.parametrize("arm", ["shared-prefix", "mixed-lengths", "abort"])
def test_every_arm_is_clean_on_a_good_server(ports: Ports, tmp_path: Path, arm: str) -> None:
    spec = replace(SPEC, arms=(arm,), bursts_min=1, lengths=(50, 200))
    report = run(ports, tmp_path, "", spec)
    assert report.verdict == "clean", report
    assert report.evidence is not None
    lines = [json.loads(line) for line in Path(report.evidence, "corpus.jsonl").read_text().splitlines()]
    cancelled = [line for line in lines if line["cancel_after"] is not None]
    assert bool(cancelled) == (arm == "abort")


def test_a_server_that_fails_alone_proves_nothing(ports: Ports, tmp_path: Path) -> None:
    with ToyServer("") as server:
        server.broken = True
        spec = replace(SPEC, wedge=0.3, ttft=0.3, probe=0.2, control_requests=2)
        report = run_test(ports, TestRequest("c60", PLAIN), rooms(tmp_path, server.url, spec))
    assert (report.verdict, report.exit, report.requests) == ("inconclusive", 125, 0)
    assert "control failed" in report.reason and report.findings


def test_damage_that_stays_is_bad_although_the_load_was_clean(ports: Ports, tmp_path: Path) -> None:
    class Poisoned(AiohttpClient):
        """Every request after the load is answered by a server that fails."""

        def burst(self, burst: Burst, on_progress: Progress | None = None) -> BurstResult:
            if burst.streams[0].id.startswith("after"):
                there.fault = "broken"
            return super().burst(burst, on_progress)

    with ToyServer("") as there:
        spec = replace(SPEC, bursts_min=1)
        report = run_test(replace(ports, http=Poisoned()), TestRequest("c60", PLAIN), rooms(tmp_path, there.url, spec))
    assert (report.verdict, report.signature, report.failed) == ("bad", "lasting_damage", 0), report
    assert "lasting damage" in report.reason and report.control["after"] == "0/3 clean"


def test_nothing_deployed(ports: Ports, tmp_path: Path) -> None:
    report = run_test(ports, TestRequest("c60", PLAIN), rooms(tmp_path, None, release=None))
    assert report.exit == 125 and "deployed" in report.reason and report.hint == "stackctl deploy toy"


def test_an_instance_that_exited(ports: Ports, tmp_path: Path) -> None:
    dead = (InstanceState("decode-0", "local", "exited", exit_code=1),)
    report = run_test(ports, TestRequest("c60", PLAIN), rooms(tmp_path, "http://127.0.0.1:1", instances=dead))
    assert report.exit == 125 and "decode-0 has exited with 1" in report.reason


def test_another_variant_is_refused_and_both_are_named(ports: Ports, tmp_path: Path) -> None:
    request = TestRequest("c60", Selection("toy", without=("flag:x",)))
    report = run_test(ports, request, rooms(tmp_path, "http://127.0.0.1:1", variant="without patch:y"))
    assert report.exit == 125
    assert "without patch:y" in report.reason and "without flag:x" in report.reason


def test_nobody_answers(ports: Ports, tmp_path: Path) -> None:
    report = run_test(ports, TestRequest("c60", PLAIN), rooms(tmp_path, f"http://127.0.0.1:{free_port()}"))
    assert report.exit == 125 and "nobody answers" in report.reason


def test_an_unknown_test_is_wrong_usage(ports: Ports, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no test 'c61'") as caught:
        run_test(ports, TestRequest("c61", PLAIN), rooms(tmp_path, None))
    assert "c60" in (caught.value.hint or "")


def test_a_url_needs_no_stack_and_the_token_is_kept_nowhere(ports: Ports, tmp_path: Path) -> None:
    def no_stack(*_: object) -> ResolvedStack:
        raise StackctlError("no stacks/ here")

    who = Somebody()
    who.variables["OPENAI_API_KEY"] = "sk-very-secret"
    ports = replace(ports, files=LocalFilesAt(tmp_path, tmp_path), who=who)
    none: Any = None
    with ToyServer("") as server:
        request = TestRequest("smoke", Selection(), url=f"{server.url}/v1/", concurrency=8, quick=True)
        report = run_test(ports, request, Rooms(no_stack, none, none))
        assert all(h["Authorization"] == "Bearer sk-very-secret" for h in server.headers)
    assert (report.verdict, report.stack, report.concurrency) == ("clean", None, 8)
    written = [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()]
    assert written and not any(b"very-secret" in data for data in written)
    assert "very-secret" not in repr(Secret("very-secret"))


def known_answer(n: int) -> dict[str, Any]:
    arguments = {"nonce": f"case-{n}-xxxxxxxxx"}
    order = f'Call note exactly once with nonce "{arguments["nonce"]}". Do not write any text.'
    return {
        "id": n,
        "messages": [{"role": "user", "content": order}],
        "tools": [{"type": "function", "function": {"name": "note", "parameters": {"type": "object"}}}],
        "max_tokens": 64,
        "expect": {"calls": [{"name": "note", "arguments": arguments}], "finish": "tool_calls"},
    }


def test_known_answers_find_a_mix_up(ports: Ports, tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text(json.dumps([known_answer(n) for n in range(7)]))
    spec = replace(SPEC, expect=str(path), stagger=0.05)
    assert run(ports, tmp_path, "", spec).verdict == "clean"
    report = run(ports, tmp_path, "mix", spec)
    assert (report.verdict, report.signature) == ("bad", "contamination"), report
    assert "the answer of case" in report.findings[0].detail


def test_nonces_of_earlier_runs_are_remembered(ports: Ports, tmp_path: Path) -> None:
    spec = replace(SPEC, bursts_min=1, control_requests=1)
    run(ports, tmp_path, "", spec)
    run(ports, tmp_path, "", spec)
    lines = (tmp_path / ".stackctl/evidence/runs.jsonl").read_text().splitlines()
    assert len({json.loads(line)["seed"] for line in lines}) == 2


class Interrupting(AiohttpClient):
    """Ctrl-C in the third burst."""

    sent = 0

    def burst(self, burst: Burst, on_progress: Progress | None = None) -> BurstResult:
        self.sent += 1
        if self.sent == 8:
            raise KeyboardInterrupt
        return super().burst(burst, on_progress)


def test_ctrl_c_leaves_evidence_and_goes_on(ports: Ports, tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match=r"interrupted before a verdict; what serves at http.* goes on"):
        run(replace(ports, http=Interrupting()), tmp_path, "")
    report = next(tmp_path.rglob("report.json"))
    said = json.loads(report.read_text())
    assert said["interrupted"] and said["verdict"] == "inconclusive" and said["bursts"] == 1


def test_a_folder_that_cannot_be_written_costs_only_the_evidence(ports: Ports, tmp_path: Path) -> None:
    (tmp_path / ".stackctl").write_text("in the way")
    report = run(ports, tmp_path, "", replace(SPEC, bursts_min=1))
    assert report.verdict == "clean" and report.evidence is None


@pytest.mark.parametrize(
    ("script", "verdict", "words"),
    [
        ("exit 0", "clean", "exit 0"),
        ("echo broke >&2; exit 1", "bad", "broke"),
        ("exit 125", "inconclusive", "exit 125"),
        ("exit 3", "inconclusive", "exit 3"),
        ("kill -9 $$", "inconclusive", "signal 9"),
        ("exec sleep 60", "inconclusive", "did not end"),
        ('test "$STACKCTL_MODEL/$STACKCTL_RELEASE" = toy/0123456789ab && test -n "$STACKCTL_URL"', "clean", ""),
    ],
)  # fmt: skip
def test_a_command_judges_by_its_exit(ports: Ports, tmp_path: Path, script: str, verdict: str, words: str) -> None:
    path = tmp_path / "check.sh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    spec = TestSpec("cmd", "command", run="./check.sh", timeout=0.5)
    with ToyServer() as server:
        report = run_test(ports, TestRequest("cmd", PLAIN), rooms(tmp_path, server.url, spec))
    assert report.verdict == verdict and words in report.reason, report


@pytest.mark.slow
def test_the_command_line_follows_git_bisect_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with ToyServer("") as there:
        assert main(["test", "smoke", "--url", there.url, "-c", "30", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["verdict"], said["failed"], said["needed"]) == ("clean", 0, 228) and said["requests"] >= 228
    with ToyServer("leak") as there:
        assert main(["test", "smoke", "--url", there.url, "-c", "30"]) == 1
    assert "leak" in capsys.readouterr().out
    assert main(["test", "smoke", "--url", f"http://127.0.0.1:{free_port()}"]) == 125
    assert main(["test", "smoke", "--url", "nonsense"]) == 129
    assert main(["test"]) == 129
    assert main(["test", "smoke", "nostack"]) in (125, 129)

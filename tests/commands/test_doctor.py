"""`stackctl doctor` on hosts of recorded outputs, and on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackctl.commands.hosts.doctor import DoctorRequest, doctor, save_report
from stackctl.commands.selection import Selection
from stackctl.core.doctor.values import Finding, Report
from stackctl.errors import StackctlError, UsageError
from stackctl.output.console import jsonable
from stackctl.output.doctor import report_text
from stackctl.ports import Ports
from tests.core.doctor.outputs import answer, case, command, eight
from tests.fakes import RecordedHosts
from tests.onhost.test_doctor import changes, strace
from tests.workspaces import ports_of

ROOT = Path(__file__).parents[2]
NEVER = StackctlError("gpu2 (ops@gpu2.example): no answer in time", "Is it up, and reachable from here?")
STACK = """
base: {path: engine}
model: {path: /models/V4, name: v4}
secrets: [ROUTER_API_KEY]
serve: {module: engine.launch_server}
roles:
  prefill: {host: gpu1, port: 30000, bootstrap_port: 8998, gpus: [0, 1, 2, 3]}
  decode: {host: gpu1, port: 30300, gpus: [4, 5, 6, 7]}
  router: {host: gpu1, port: 31000, package: sglang-router==0.3.2}
hosts:
  gpu1: {address: ops@gpu1.example, python: /opt/sglang/bin/python, gpus: {count: 8, arch: sm_120, memory: 96GiB}}
"""
SPREAD = STACK.replace("decode: {host: gpu1", "decode: {host: gpu2") + (
    "  gpu2: {address: 'ops@gpu2.example:2222', purpose: production, python: /opt/sglang/bin/python}\n"
)
EMPTY: dict[str, Any] = {  # a host on which nothing was deployed
    "platform": "linux", "root": "/home/ops/.stackctl/prod", "python": "3.12.3", "host": "gpu1.example", "now": 100.0,
    "free": 1 << 40, "current": None, "previous": None, "status": None, "cutover": False, "hold": None, "releases": [],
    "trees": [], "records": {}, "deployed": {}, "instances": [], "processes": [], "health": {},
}  # fmt: skip


def said(commands: dict[str, dict[str, Any]] | None = None, **changed: Any) -> dict[str, Any]:
    """What a host answers to each program."""
    now = 1_700_000_004.0  # between asking and the answer, by the fake clock
    timed = {"begin": now, "end": now, **changed}
    return {"doctor": answer(eight() if commands is None else commands, **timed), "look": EMPTY}


def world(hosts: RecordedHosts, text: str = STACK, **variables: str) -> Ports:
    ports = ports_of({"stacks/prod.yaml": text}, **variables)
    return replace(ports, hosts=hosts)


def look(hosts: RecordedHosts, text: str = STACK, *names: str, anonymous: bool = False, **variables: str) -> Report:
    return doctor(world(hosts, text, **variables), DoctorRequest(Selection("prod"), names, anonymous))


def found(report: Report, host: str = "gpu1") -> dict[str, Finding]:
    return {one.id: one for one in report.findings if one.host == host}


def test_a_machine_with_eight_cards() -> None:
    hosts = RecordedHosts(gpu1=said())
    report = look(hosts)
    assert {(one.id, one.severity) for one in report.findings} == {("ACS-UNKNOWN", "info"), ("RUNS-NOTHING", "info")}
    assert report.exit == 0
    host = report.hosts[0]
    assert host.roles == ("prefill-0", "decode-0", "router-0")
    assert host.facts is not None and len(host.facts.cards) == 8
    name, request = hosts.opened["gpu1"].asked[0]
    assert name == "doctor" and request["paths"] == ["~/.stackctl/prod", "/models/V4"]
    assert request["python"] == "/opt/sglang/bin/python" and "sglang-router" in request["packages"]


def test_cards_in_use_and_a_port_make_it_fail() -> None:
    busy = eight(nvidia_smi=command("nvidia-smi", case("busy-x8.xml")))
    about = {"4000": {"user": "eve", "command": "python3 train.py", "ours": False}}
    port = {
        "port": 30000,
        "address": "0.0.0.0",
        "pid": 77,
        "user": "eve",
        "command": "nc -l",
        "ours": False,
        "stack": "",
    }
    report = look(RecordedHosts(gpu1=said(busy, on_cards=about, listeners=[port])))
    assert report.exit == 1
    assert "in use by pid 77 (eve): nc -l" in found(report)["PORT-IN-USE"].message
    taken = [one.message for one in report.findings if one.id == "CARD-IN-USE"]
    assert taken[0] == "card 0 is in use by pid 4000 (eve), 80300 MiB: python3 train.py" and len(taken) == 5


def test_a_host_that_is_away_keeps_no_other_from_being_looked_at() -> None:
    report = look(RecordedHosts(gpu1=said(), gpu2=NEVER), SPREAD)
    assert [host.name for host in report.hosts] == ["gpu1", "gpu2"]
    away = found(report, "gpu2")["HOST-SILENT"]
    assert "no answer in time" in away.message and away.remedy == NEVER.hint
    assert away.evidence[0].command == "ssh ops@gpu2.example:2222"
    assert report.hosts[0].facts is not None and report.hosts[1].facts is None and report.exit == 1


def test_chosen_hosts() -> None:
    hosts = RecordedHosts(gpu1=said(), gpu2=NEVER)
    assert [host.name for host in look(hosts, SPREAD, "gpu1").hosts] == ["gpu1"] and list(hosts.opened) == ["gpu1"]
    with pytest.raises(UsageError, match="no host gpu7"):
        look(hosts, SPREAD, "gpu7")


def test_an_interpreter_that_is_not_there_is_found_by_another() -> None:
    fault = {"path": "/opt/sglang/bin/python", "fault": "No such file or directory"}
    hosts = RecordedHosts(gpu1=said(python=fault))
    hosts.broken = ("/opt/sglang/bin/python",)
    assert "PYTHON-MISSING" in found(look(hosts))


def test_another_system_and_a_broken_answer_are_findings() -> None:
    for answers in ({"doctor": {"platform": "darwin"}}, {"doctor": {"commands": 3}}, {"doctor": []}):
        report = look(RecordedHosts(gpu1={**answers, "look": EMPTY}))
        assert [one.id for one in report.findings] == ["HOST-SILENT"], answers


def test_values_of_secrets_are_blackened() -> None:
    leak = eight(dmesg=command("dmesg", "NVRM: Xid for s3cret-value"))
    report = look(RecordedHosts(gpu1=said(leak)), ROUTER_API_KEY="s3cret-value")
    assert "s3cret-value" not in json.dumps(jsonable(report)) and "Xid for ***" in report_text(report)


def test_a_report_without_names() -> None:
    port = {
        "port": 30000,
        "address": "10.1.2.3",
        "pid": 7,
        "user": "evelyn",
        "command": "/home/evelyn/bin/nc",
        "ours": False,
    }
    hosts = RecordedHosts(gpu1=said(listeners=[port]), gpu2=NEVER)
    text = report_text(look(hosts, SPREAD, anonymous=True))
    for word in ("gpu1", "gpu2", "example", "evelyn", "ops@", "10.1.2.3", "192.168.1.1", "GPU-00000000-1111"):
        assert word not in text, word
    for word in ("host1", "host2", "/home/user/bin/nc", "RTX PRO 6000", "127.0.0.1"):
        assert word in text, word


def test_the_report_holds_findings_facts_and_outputs() -> None:
    ports = world(RecordedHosts(gpu1=said()))
    save_report(ports, "doctor.md", report_text(doctor(ports, DoctorRequest(Selection("prod")))))
    text = ports.files.read("/ws/doctor.md").decode()
    assert text.startswith("# stackctl doctor prod\n")
    assert "### info: ACS-UNKNOWN" in text and "| driver | 580.95.05, for CUDA up to 13.0 |" in text
    assert "<code>nvidia-smi -q -x</code>" in text and "<product_name>NVIDIA RTX PRO 6000" in text
    assert text.count("<details>") == text.count("</details>") > 3


def test_a_report_of_many_cards_fits_into_an_issue() -> None:
    """The longest outputs are cut, short ones are whole."""
    cards = "".join(f"<gpu id='{n}'><a>{'x' * 15_000}</a>\n<b>N/A</b>\n</gpu>\n" for n in range(8))
    smi = command("nvidia-smi", f"<nvidia_smi_log>{cards}</nvidia_smi_log>")
    several = eight(
        nvidia_smi=smi, lspci=command("lspci", "ACSCtl: SrcValid+\n" * 2000), dmesg=command("dmesg", "short")
    )
    text = report_text(look(RecordedHosts(gpu1=said(several), gpu2=said(several)), SPREAD))
    assert 50_000 < len(text) < 65_536
    assert text.count("```text\nshort\n```") == 2 and text.count("more characters, in --json") == 4
    assert "<b>N/A</b>" not in text


def test_a_host_cannot_write_markup_into_an_issue() -> None:
    python = {"path": "/p", "version": "1", "packages": {}, "fault": "`x` @team <img src=x> | a"}
    noise = command("dmesg", "NVRM: Xid\n```\n# not a heading\n````")
    text = report_text(look(RecordedHosts(gpu1=said(eight(dmesg=noise), python=python))))
    assert "\\`x\\` \\@team \\<img src=x\\> \\| a" in text
    fences = [line for line in text.splitlines() if line.startswith("`````")]
    assert len(fences) == 2  # longer than the one inside


def stackctl(*words: str, home: Path, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "150"}
    argv = [*prefix, sys.executable, "-m", "stackctl", *words]
    return subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.slow
def test_the_demo_on_this_machine_writes_nothing(tmp_path: Path) -> None:
    """The whole verb, the client's own part too: a home stays empty."""
    trace = tmp_path.parent / f"{tmp_path.name}.trace"
    prefix = ("strace", "-f", "-s", "4096", "-e", "trace=%file,bind", "-o", str(trace)) if strace() else ()
    done = stackctl("doctor", "demo", "--json", home=tmp_path, prefix=prefix)
    report = json.loads(done.stdout)
    assert done.returncode == int(any(one["severity"] == "error" for one in report["hosts"][0]["findings"]))
    assert report["hosts"][0]["facts"]["kernel"] == os.uname().release
    assert list(tmp_path.rglob("*")) == []
    if prefix:
        assert changes(trace.read_text(errors="replace")) == []
    elif os.environ.get("CI") or shutil.which("strace"):
        pytest.fail("strace is not here, or may not trace")


@pytest.mark.slow
def test_the_verb_shows_and_saves(tmp_path: Path) -> None:
    done = stackctl("doctor", "demo", "--report", str(tmp_path / "a.md"), "-q", home=tmp_path)
    assert "local (local, test): prefill-0, decode-0, router-0" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("demo: 1 host, ")
    assert (tmp_path / "a.md").read_text().startswith("# stackctl doctor demo")
    printed = stackctl("doctor", "demo", "--report", "-", "--anonymous", "-q", home=tmp_path)
    assert printed.stdout.startswith("# stackctl doctor demo") and os.uname().nodename not in printed.stdout.split()
    assert stackctl("doctor", "demo", "-H", "nowhere", home=tmp_path).returncode == 2

"""How findings look: nothing of a host is taken for markup, and the sum is right."""

from __future__ import annotations

import pytest

from stackctl.core.doctor.values import Card, Disk, Evidence, Facts, Finding, HostReport, Report
from stackctl.output.console import Console
from stackctl.output.doctor import show_doctor

NASTY = Finding("PORT-IN-USE", "error", "pid 7: [bold]nc[/bold]", (Evidence("ss -l", "one\ntwo"),), "End it.", "a")


def shown(capsys: pytest.CaptureFixture[str], *hosts: HostReport) -> list[str]:
    show_doctor(Console(), Report("prod", hosts))
    return capsys.readouterr().out.splitlines()


def test_a_finding_with_evidence_and_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, HostReport("a", "local", roles=("single-0",), findings=(NASTY,)))
    assert lines == [
        "a (local, test): single-0",
        "  error PORT-IN-USE: pid 7: [bold]nc[/bold]",
        "      $ ss -l",
        "      one",
        "      two",
        "      remedy: End it.",
        "",
        "prod: 1 host, 1 error",
    ]


def test_facts_and_cards(capsys: pytest.CaptureFixture[str]) -> None:
    cards = (
        Card(0, "RTX [x]", memory_total=1 << 35, memory_used=1 << 30, compute="12.0"),
        Card(-1, fault="GPU is lost"),
    )
    facts = Facts(
        os="Debian", kernel="6.1", cards=cards, disks=(Disk("/m", "/"), Disk("~/.stackctl/prod", "/h", free=1 << 33))
    )
    lines = shown(capsys, HostReport("a", "local", facts=facts), HostReport("b", "x@y"))
    text = "\n".join(lines)
    assert "a (local, test): no role" in text and "nothing to find fault with" in text
    assert "1 x RTX [x], 32 GiB, sm_120; 1 x GPU is lost" in text
    assert "no /m, 8 GiB free for ~/.stackctl/prod" in text
    assert any(line.startswith("?     GPU is lost") for line in lines)
    assert lines[-1] == "prod: 2 hosts, no findings"

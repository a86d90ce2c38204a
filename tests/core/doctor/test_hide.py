from __future__ import annotations

import pytest

from stackctl.core.doctor.hide import anonymous, harmless, without_secrets
from stackctl.core.doctor.values import Card, CardProcess, Evidence, Facts, Finding, HostReport, Report


def report(words: str, **facts: object) -> Report:
    found = Finding("X", "error", words, (Evidence(words, words),), words, "gpu1")
    known = Facts(hostname="node7.lab.example", user="ops", **facts)  # type: ignore[arg-type]
    return Report("prod", (HostReport("gpu1", "ops@10.0.0.7:2222", facts=known, findings=(found,)),))


def after(change: object, words: str, **facts: object) -> str:
    changed: Report = change(report(words, **facts))  # type: ignore[operator]
    finding = changed.hosts[0].findings[0]
    assert finding.message == finding.remedy == finding.evidence[0].output == finding.evidence[0].command
    return finding.message


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("gpu1 and gpu12", "host1 and gpu12"),
        ("node7.lab.example, node7", "host1, host1"),
        ("ops looks, tops and ops-room do not", "user looks, tops and ops-room do not"),
        ("/home/anna/x /home/ben", "/home/user/x /home/user"),
        ("10.0.0.7 192.168.1.9:30000 127.0.0.1 0.0.0.0", "host1 ADDRESS:30000 127.0.0.1 0.0.0.0"),
        ("driver 580.95.05, sglang 0.5.15", "driver 580.95.05, sglang 0.5.15"),
        ("GPU-0123abcd-0000-1111-2222-0123456789ab", "GPU-***"),
        ("<serial>0123</serial>", "<serial>***</serial>"),
        ("pid 9 (eve)", "pid 9 (user)"),
        ("root stays", "root stays"),
        ("fe80::1%eth0 2001:db8::1 fd00:: 00:1a:2b:3c:4d:5e", "ADDRESS%eth0 ADDRESS ADDRESS ADDRESS"),
        ("0000:c1:00.0 12:30:00 sglang::router :::30000 ::1", "0000:c1:00.0 12:30:00 sglang::router :::30000 ::1"),
    ],
)
def test_names_are_replaced(words: str, shown: str) -> None:
    assert after(anonymous, words, cards=(Card(0, processes=(CardProcess(9, user="eve"),)),)) == shown


def test_numbers_and_switches_stay_what_they_are() -> None:
    before = report("x", cards=(Card(3, ecc=True, power_limit=600.0),))
    assert anonymous(before).hosts[0].facts.cards == before.hosts[0].facts.cards  # type: ignore[union-attr]


def test_secrets_go_the_longest_first_and_short_ones_stay() -> None:
    assert after(lambda it: without_secrets(it, ["abcd", "abcdef", "7"]), "abcdef abcd 7") == "*** *** 7"


def test_what_a_terminal_would_act_upon_is_made_visible() -> None:
    assert after(harmless, "a\x1b[2Jb\r\nc\td\u202ee\x07") == "a\\x1b[2Jb\nc\td\\x202ee\\x07"
    assert after(harmless, "a\udcffb\u2028c").encode() == b"a\\xdcffb\\x2028c"

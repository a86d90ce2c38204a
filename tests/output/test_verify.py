"""The picture of a report: verdict first, markers pointed at, 60 columns are enough."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from stackctl.core.verify.report import Finding, TestReport, Timings
from stackctl.output.console import Console
from stackctl.output.verify import show_report

BAD = TestReport(
    test="c60", kind="toolcalls", verdict="bad", reason="2 of 60 requests failed", url="http://127.0.0.1:31000",
    stack="demo", release="0123456789ab", variant="without patch:demo/one, flag:two", concurrency=60, bursts=1,
    bad_bursts=1, requests=60, failed=2, bound=0.12, classes={"leak": 1, "nonce": 1},
    control={"before": "20/20 clean", "after": "20/20 clean"},
    findings=(
        Finding("leak", "content", None, "b001-003", "bad", "markup", "so <｜DSML｜tool_calls> it", (3, 22)),
        Finding("missing_call", None, None, "b001-003", "bad", "0 of 1 calls"),
        Finding("usage_mismatch", "usage", "missing", "b001-004", "warn", "no usage event"),
        Finding("nonce", "arguments", "near", "b001-005", "bad", "expected N-abc", "N-abd", (4, 5)),
    ),
    timings=Timings(0.1, 0.2, 0.05, 123.0, 3.5), evidence="/somewhere/else",
)  # fmt: skip


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setenv("COLUMNS", "60")
    return Console()


def test_a_bad_one(console: Console, capsys: pytest.CaptureFixture[str]) -> None:
    show_report(console, BAD)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "bad  2 of 60 requests failed"
    assert max(map(cell_len, lines)) <= 60
    quote = lines.index("    so <｜DSML｜tool_calls> it")
    assert lines[quote + 1] == " " * 7 + "^" * 21  # a full-width bar takes two columns
    text = "\n".join(lines)
    assert text.count("b001-003") == 1 and "b001-004" not in text and "N-abd" in text
    assert "leak 1, nonce 1" in text and "12 %" in text and "without patch:demo/one" in text
    assert "/somewhere/else" in text


def test_a_long_quote_is_cut_around_its_mark(console: Console, capsys: pytest.CaptureFixture[str]) -> None:
    quote = "a" * 80 + "<tool_call>" + "b" * 80
    show_report(console, replace(BAD, findings=(Finding("leak", "content", None, "x", quote=quote, mark=(80, 91)),)))
    lines = capsys.readouterr().out.splitlines()
    shown = next(line for line in lines if "<tool_call>" in line)
    carets = lines[lines.index(shown) + 1]
    assert cell_len(shown) <= 60 and shown.index("<tool_call>") == carets.index("^")


def test_an_inconclusive_one_has_a_hint(console: Console, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = TestReport("c60", "toolcalls", "inconclusive", "nothing of demo is deployed", "", hint="stackctl deploy")
    show_report(console, nothing)
    assert capsys.readouterr().out.splitlines()[:2] == [
        "inconclusive  nothing of demo is deployed",
        "hint: stackctl deploy",
    ]

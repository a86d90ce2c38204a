from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner

from stackctl.cli import cli
from stackctl.commands.bisect import views as bisect_views
from stackctl.commands.bisect.search import BisectRequest, bisect
from stackctl.commands.bisect.views import StatusView, ViewRequest
from stackctl.commands.selection import Selection
from stackctl.core.bisect.events import decode, encode
from stackctl.errors import StackctlError, UsageError
from stackctl.output.bisect import show_log, show_report, show_status
from stackctl.output.console import Console
from stackctl.ports import Ports
from tests.commands.bisect_world import Machine
from tests.fakes import fake_ports

REQUEST = ViewRequest(Selection("demo"))


@pytest.fixture
def machine() -> Machine:
    return Machine(lambda elements: elements >= {"patch:demo/gamma", "flag:enable-tier"})


@pytest.fixture
def ports(machine: Machine) -> Ports:
    """After a whole bisect."""
    made = fake_ports()
    bisect(made, BisectRequest(Selection("demo")), machine.pipeline())
    return made


def test_log_holds_every_event_and_reads_back(ports: Ports, machine: Machine) -> None:
    view = bisect_views.log(ports, REQUEST, machine.load)
    assert [event["event"] for event in view.events[:4]] == ["started", "working", "served", "chosen"]
    assert view.events[-1]["event"] == "restored" and not view.torn
    text = ports.files.read(view.file).decode()
    log = decode(text, view.file)
    assert "".join(encode(entry.event, entry.at) + "\n" for entry in log.entries) == text


def test_status_of_a_finished_and_of_an_open_session(ports: Ports, machine: Machine) -> None:
    assert bisect_views.status(ports, REQUEST, machine.load).next == "nothing: it has ended"
    bisect(ports, BisectRequest(Selection("demo"), new=True, budget="1"), machine.pipeline())
    view = bisect_views.status(ports, REQUEST, machine.load)
    assert view.next == "full: full" and view.report.kind == "BUDGET"


def test_undo_opens_the_session_again_and_the_run_is_made_anew(ports: Ports, machine: Machine) -> None:
    before = bisect_views.last_report(ports, REQUEST, machine.load)
    undone = bisect_views.undo(ports, REQUEST, None, machine.load)
    assert undone.run == before.runs[-1].number
    assert undone.status.report.kind == "RUNNING" and len(undone.status.report.runs) == len(before.runs) - 1
    after = bisect(ports, BisectRequest(Selection("demo")), machine.pipeline())
    assert after.session == before.session and after.culprit == before.culprit
    assert after.runs[-1].number == before.runs[-1].number + 1


@pytest.mark.parametrize("run", [0, 99])
def test_a_run_that_is_not_there_cannot_be_undone(ports: Ports, machine: Machine, run: int) -> None:
    with pytest.raises(UsageError, match=f"has no run {run}"):
        bisect_views.undo(ports, REQUEST, run, machine.load)


@pytest.mark.parametrize("request_", [replace(REQUEST, test="other"), replace(REQUEST, session="x")])
def test_a_session_that_is_not_there_is_told(ports: Ports, machine: Machine, request_: ViewRequest) -> None:
    with pytest.raises(StackctlError, match="no bisect of demo"):
        bisect_views.last_report(ports, request_, machine.load)


@pytest.mark.parametrize("columns", ["60", "120"])
def test_what_is_shown_names_the_culprit_and_what_to_do(
    ports: Ports, machine: Machine, columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    console = Console()
    show_report(console, bisect_views.last_report(ports, REQUEST, machine.load))
    shown = capsys.readouterr().out
    assert "CONFIRMED" in shown and "patches show demo/gamma" in shown
    assert "stackctl deploy demo --without flag:enable-tier && stackctl test c60 demo" in shown
    assert "Bayes factor" in shown and "not tested" in shown
    show_log(console, bisect_views.log(ports, REQUEST, machine.load))
    view: StatusView = bisect_views.status(ports, REQUEST, machine.load)
    show_status(console, view)
    assert "next: nothing" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["bisect", "--help"], ["bisect", "status", "--help"], ["bisect", "demo", "--help"]])
def test_help(words: list[str]) -> None:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0 and "Usage: cli bisect" in result.output


@pytest.mark.parametrize("words", [["bisect", "--min-rate", "0"], ["bisect", "--prior", "odd"], ["bisect", "--nope"]])
def test_wrong_usage(words: list[str]) -> None:
    assert CliRunner().invoke(cli, words).exit_code == 2

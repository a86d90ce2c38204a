from __future__ import annotations

from dataclasses import replace

import pytest

from stackctl.commands.bisect.journal import newest
from stackctl.commands.bisect.run import alone
from stackctl.commands.bisect.search import BisectRequest, bisect, parse_variant, shown
from stackctl.commands.deploying.holding import Busy
from stackctl.commands.selection import Selection
from stackctl.core.bisect.events import Chosen, Learned, Observed
from stackctl.core.bisect.report import BisectReport
from stackctl.core.deploy.facts import Holder, Status
from stackctl.core.names import PatchName, ReleaseId
from stackctl.core.patches.values import Need
from stackctl.core.stack.resolved import BisectSpec, Element, HostSpec, Variant
from stackctl.core.verify.report import TestReport
from stackctl.errors import GateFailed, Held, Interrupted, PatchConflict, StackctlError, UsageError
from stackctl.ports import Ports
from tests.commands.bisect_world import Machine, stack
from tests.fakes import MemoryFiles, Somebody, fake_ports

PAIR = frozenset({"patch:demo/gamma", "flag:enable-tier"})
REQUEST = BisectRequest(Selection("demo"))


def pair(elements: frozenset[str]) -> bool:
    return elements >= PAIR


def run(machine: Machine, ports: Ports | None = None, request: BisectRequest = REQUEST) -> BisectReport:
    return bisect(ports or fake_ports(), request, machine.pipeline())


def choices(ports: Ports) -> list[tuple[str, tuple[str, ...]]]:
    events = [entry.event for entry in newest(ports, "/ws", "demo").entries]
    return [(event.phase, event.without) for event in events if isinstance(event, Chosen)]


@pytest.mark.parametrize(
    ("culprit", "kind"),
    [
        (PAIR, "CONFIRMED"),
        (frozenset({"patch:demo/beta"}), "CONFIRMED"),
        (frozenset({"flag:chunk"}), "CONFIRMED"),
        (frozenset({"patch:demo/delta", "patch:demo/beta"}), "CONFIRMED"),
        (frozenset[str](), "BASE"),
        (frozenset({"nothing has this"}), "NEVER FAILS"),
    ],
)
@pytest.mark.parametrize("prior", ["weighted", "uniform"])
def test_the_culprit_is_named(culprit: frozenset[str], kind: str, prior: str) -> None:
    machine = Machine(lambda elements: elements >= culprit)
    found = run(machine, request=replace(REQUEST, prior=prior))  # type: ignore[arg-type]
    assert found.kind == kind and found.exit == 0
    assert frozenset(found.culprit) == (culprit if kind == "CONFIRMED" else frozenset())
    assert len(found.runs) <= 22
    assert machine.serving is None


def test_the_report_tells_how_to_see_it_again_and_where_to_look() -> None:
    found = run(Machine(pair))
    assert [line.expect for line in found.reproduce] == ["clean", "clean", "bad"]
    assert found.reproduce[0].command == ("stackctl deploy demo --without flag:enable-tier && stackctl test c60 demo")
    assert found.look == ("stackctl patches show demo/gamma    # patches/demo/gamma.patch",)
    assert found.probability >= 0.97 and found.odds and found.odds > 30
    assert found.p.low > 0.5 and found.q.high < 0.2


def test_only_closed_variants_are_deployed() -> None:
    machine = Machine(pair)
    run(machine)
    for verb, variant in machine.asked:
        if verb == "deploy" and "patch:demo/alpha" in variant:
            assert "patch:demo/delta" in variant


def test_each_run_starts_afresh() -> None:
    """What serves already is stopped first; the second run of the full stack is such a one."""
    machine = Machine(pair)
    found = run(machine)
    verbs = [verb for verb, _ in machine.asked]
    assert verbs[:6] == ["deploy", "test", "deploy", "stop", "deploy", "test"]
    assert verbs.count("test") == len(found.runs) and verbs[-1] == "stop"


class Killed(BaseException):
    """kill -9: nothing of ours runs any more."""


@pytest.mark.parametrize("at", range(1, 16))
@pytest.mark.parametrize("verb", ["deploy", "test"])
def test_killed_at_any_point_it_goes_on_with_the_same_choices_and_the_same_verdict(verb: str, at: int) -> None:
    whole = fake_ports()
    wanted = run(Machine(pair), whole)

    ports = fake_ports()
    machine = Machine(pair)
    files = ports.files
    assert isinstance(files, MemoryFiles)
    snapshot: dict[str, bytes] = {}

    def stop_with_the_files_as_they_were(now: str, count: int) -> None:
        if now == verb and count == at:
            snapshot.update(files.data)
            raise Killed

    machine.before = stop_with_the_files_as_they_were
    with pytest.raises(Killed):
        run(machine, ports)
    files.data = snapshot  # what the dying process would have cleaned up never happened
    machine.before = lambda now, count: None
    found = run(machine, replace(ports, who=Somebody(pid=2)))
    assert (found.kind, found.culprit) == (wanted.kind, wanted.culprit)
    assert choices(ports) == choices(whole)


@pytest.mark.parametrize("lost", [1, 7, 40])
def test_a_torn_last_line_is_dropped_with_a_word(lost: int) -> None:
    ports = fake_ports()
    paused = run(Machine(pair), ports, replace(REQUEST, budget="6"))
    assert paused.kind == "BUDGET" and paused.exit == 1
    files = ports.files
    assert isinstance(files, MemoryFiles)
    lines = files.data[paused.file].split(b"\n")
    last = next(i for i in range(len(lines) - 1, 0, -1) if b'"observed"' in lines[i])
    files.data[paused.file] = b"\n".join(lines[: last + 1])[:-lost]
    found = run(Machine(pair), ports)
    assert found.kind == "CONFIRMED"
    assert any("torn" in line for line in ports.progress.lines)  # type: ignore[attr-defined]
    assert [row.number for row in found.runs] == list(range(1, len(found.runs) + 1))


def test_a_session_about_something_else_is_not_gone_on_with() -> None:
    ports = fake_ports()
    first = run(Machine(pair), ports, replace(REQUEST, budget="4 runs"))
    changed = stack(bisect=BisectSpec(test="c60", flags=("enable-tier",)))
    second = run(Machine(pair, stack=changed), ports)
    assert second.session != first.session and second.kind == "CONFIRMED"
    assert any("elements of the bisect" in line for line in ports.progress.lines)  # type: ignore[attr-defined]


def test_new_begins_anew_and_a_finished_one_is_left_alone() -> None:
    ports = fake_ports()
    first = run(Machine(pair), ports, replace(REQUEST, budget="4"))
    second = run(Machine(pair), ports, replace(REQUEST, new=True))
    third = run(Machine(pair), ports)
    assert len({first.session, second.session, third.session}) == 3


def test_two_processes_do_not_work_on_one_session() -> None:
    ports = fake_ports()
    run(Machine(pair), ports, replace(REQUEST, budget="4"))
    with pytest.raises(StackctlError, match="process 1 works on session"):
        run(Machine(pair), replace(ports, who=Somebody(pid=2, alive=(1,))))


def test_interrupted_it_stops_its_variant_and_says_what_goes_on() -> None:
    def interrupt(verb: str, count: int) -> None:
        if (verb, count) == ("test", 4):
            raise KeyboardInterrupt

    ports, machine = fake_ports(), Machine(pair, before=interrupt)
    with pytest.raises(Interrupted) as told:
        run(machine, ports)
    assert told.value.exit_code == 130 and "after 3 runs" in told.value.message
    assert "stackctl bisect demo --test c60 goes on" in str(told.value.hint)
    assert machine.serving is None
    machine.before = lambda verb, count: None
    found = run(machine, ports)
    assert found.kind == "CONFIRMED"
    assert choices(ports)[3] == (found.runs[3].phase, choices(ports)[3][1])


def test_a_second_interrupt_leaves_at_once_and_says_what_is_left() -> None:
    def interrupt(verb: str, count: int) -> None:
        if verb in ("stop", "restore") or (verb, count) == ("test", 1):
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as told:
        run(Machine(pair, before=interrupt))
    assert told.value.message == "bisect interrupted after 0 runs, and again: its variant is not stopped"
    machine = _production()
    machine.before = interrupt
    with pytest.raises(Interrupted, match="and again: release r1 that served before is not put back") as told:
        run(machine, request=replace(REQUEST, take_over=True))
    assert "goes on, and does it at its end" in str(told.value.hint)


@pytest.mark.parametrize("ends_with", ["r1", "rX"])
def test_a_cut_over_that_an_interrupt_left_going_is_waited_for(ends_with: str) -> None:
    """The host says r1 until its end: that alone does not mean that r1 will serve."""
    machine = _production()

    def interrupt(verb: str, count: int) -> None:
        if (verb, count) == ("deploy", 1):
            machine.hold = "the cut-over"
            raise KeyboardInterrupt
        if verb == "restore":
            machine.serving = ("demo", ReleaseId(ends_with), "")

    machine.before = interrupt
    with pytest.raises(Interrupted, match="release r1 serves again, as before"):
        run(machine, request=replace(REQUEST, take_over=True))
    assert machine.asked == [("deploy", ""), ("restore", "r1")]
    assert machine.serving and machine.serving[1] == "r1"


def test_what_cannot_be_put_back_is_told_with_what_goes_on() -> None:
    def away(verb: str, count: int) -> None:
        if (verb, count) == ("test", 1):
            raise KeyboardInterrupt
        if verb == "stop":
            raise StackctlError("nobody answers", "look at the host")

    with pytest.raises(StackctlError, match="nobody answers") as told:
        run(Machine(pair, before=away))
    assert told.value.hint == "look at the host; the session is kept: stackctl bisect demo --test c60 goes on"


@pytest.mark.parametrize(("pid", "orphan", "waits"), [(1, False, True), (7, True, True), (7, False, False)])
def test_only_a_cut_over_without_its_client_is_waited_for(pid: int, orphan: bool, waits: bool) -> None:
    ports = fake_ports()
    tries: list[int] = []
    holder = Holder("a1", "me@here", "here", pid, 0.0, "stackctl deploy")
    status = Status("a1", "deploy", "r1", "", "running", "gate", "", 0.0, 7, 1) if orphan else None

    def act() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise Busy("held", "wait", holder, status)
        return "done"

    if waits:
        assert alone(ports, act) == "done"
    else:
        with pytest.raises(Held):
            alone(ports, act)
    assert len(tries) == (3 if waits else 1)


def _production() -> Machine:
    serving = ("demo", ReleaseId("r1"), "without patch:demo/beta")
    host = HostSpec("here", "local", purpose="production")
    return Machine(pair, stack=stack(hosts={"here": host}), serving=serving, kept_releases={"r1": serving[2]})


def test_production_is_not_touched_unless_told_to_take_over() -> None:
    machine = _production()
    with pytest.raises(StackctlError, match="production"):
        run(machine)
    assert machine.asked == []


def test_what_served_is_put_back_whatever_happens() -> None:
    machine = _production()
    found = run(machine, request=replace(REQUEST, take_over=True))
    assert found.kind == "CONFIRMED"
    assert machine.serving and machine.serving[1] == "r1"

    def explode(verb: str, count: int) -> None:
        if (verb, count) == ("deploy", 5):
            raise Held("somebody deploys")

    machine = _production()
    machine.before = explode
    with pytest.raises(Held):
        run(machine, request=replace(REQUEST, take_over=True))
    assert machine.serving and machine.serving[1] == "r1"


def test_a_killed_take_over_puts_back_what_served_before_it_not_its_variant() -> None:
    ports, machine = fake_ports(), _production()
    files = ports.files
    assert isinstance(files, MemoryFiles)
    snapshot: dict[str, bytes] = {}
    left: list[object] = []

    def kill(verb: str, count: int) -> None:
        if (verb, count) == ("test", 4):
            snapshot.update(files.data)
            left.append(machine.serving)
            raise Killed

    machine.before = kill
    with pytest.raises(Killed):
        run(machine, ports, replace(REQUEST, take_over=True))
    files.data, machine.serving = snapshot, left[0]  # type: ignore[assignment]
    machine.before = lambda verb, count: None
    run(machine, ports, replace(REQUEST, take_over=True))
    assert machine.serving and machine.serving[1] == "r1"


def test_a_release_that_is_gone_is_made_anew_from_its_variant() -> None:
    machine = _production()
    machine.kept_releases = {}
    run(machine, request=replace(REQUEST, take_over=True))
    assert machine.serving and machine.serving[2] == "without patch:demo/beta"


def test_a_variant_that_cannot_be_built_costs_no_start_and_teaches_a_need() -> None:
    """gamma does not apply without beta, and nobody knew."""
    machine = Machine(
        pair, unbuildable=lambda elements: "patch:demo/gamma" in elements and "patch:demo/beta" not in elements
    )
    ports = fake_ports()
    found = run(machine, ports)
    assert found.kind == "CONFIRMED" and frozenset(found.culprit) == PAIR
    learned = [e.event.clause for e in newest(ports, "/ws", "demo").entries if isinstance(e.event, Learned)]
    assert [(clause.on, clause.off) for clause in learned] == [(("patch:demo/gamma",), ("patch:demo/beta",))]
    assert any("cannot be built" in note for note in found.notes)
    assert sum(row.counted == "unbuildable" for row in found.runs) == 1


def test_a_queue_that_does_not_apply_as_a_whole_is_refused() -> None:
    with pytest.raises(PatchConflict):
        run(Machine(pair, unbuildable=lambda elements: True))


def test_a_start_that_fails_is_no_verdict() -> None:
    def fail(verb: str, count: int) -> None:
        if (verb, count) in (("deploy", 5), ("deploy", 8)):
            raise GateFailed("the gate failed\nmany words")

    found = run(Machine(pair, before=fail))
    assert found.kind == "CONFIRMED" and frozenset(found.culprit) == PAIR
    lost = [row for row in found.runs if row.counted == "neither"]
    assert [row.number for row in lost] == [4, 7]
    assert lost[0].shown == "inconclusive: did not come up: the gate failed: many words"


def test_too_many_lost_starts_pause_the_session() -> None:
    def fail(verb: str, count: int) -> None:
        if verb == "deploy" and count >= 4:
            raise StackctlError("no card is free")

    ports = fake_ports()
    machine = Machine(pair, before=fail)
    assert run(machine, ports).kind == "INFRA"
    machine.before = lambda verb, count: None
    assert run(machine, ports).kind == "CONFIRMED"


def test_another_release_that_answers_is_no_verdict() -> None:
    def wrong(seen: TestReport) -> TestReport:
        return replace(seen, release="another")

    found = run(Machine(pair, report=wrong))
    assert found.kind == "INFRA"
    assert "release another answered" in found.runs[0].shown


def test_a_command_test_without_a_signature_can_be_bisected() -> None:
    plain = Machine(pair, report=lambda seen: replace(seen, signature=None, classes={}))
    found = run(plain, request=replace(REQUEST, test="smoke"))
    assert frozenset(found.culprit) == PAIR


def test_budgets() -> None:
    ports = fake_ports()
    assert len(run(Machine(pair), ports, replace(REQUEST, budget="5 runs")).runs) == 5
    assert run(Machine(pair), ports, replace(REQUEST, budget="1s")).kind == "BUDGET"
    with pytest.raises(UsageError, match="--budget soon"):
        run(Machine(pair), request=replace(REQUEST, budget="soon"))


@pytest.mark.parametrize(("test", "words"), [("nope", "no test nope"), (None, "which test")])
def test_the_test_must_be_known(test: str | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run(Machine(pair, stack=stack(bisect=BisectSpec())), request=replace(REQUEST, test=test))


def test_elements_left_out_by_the_user_stay_out() -> None:
    machine = Machine(pair)
    found = run(machine, request=replace(REQUEST, selection=Selection("demo", ("patch:demo/alpha",))))
    assert "patch:demo/alpha" not in found.members and "patch:demo/delta" not in found.members
    assert all("patch:demo/alpha" in variant for verb, variant in machine.asked if verb == "deploy")
    assert frozenset(found.culprit) == PAIR


def test_a_patch_that_is_no_element_leaves_with_what_it_needs_and_is_named_beside_it() -> None:
    needs = (Need(PatchName("demo/delta"), PatchName("demo/gamma"), "context"),)
    chosen = BisectSpec(test="c60", patches=tuple(map(PatchName, ("demo/alpha", "demo/beta", "demo/gamma"))))
    machine = Machine(lambda e: "patch:demo/delta" in e, stack=stack(bisect=chosen), needs=needs)
    found = run(machine)
    assert found.culprit == ("patch:demo/gamma",)
    assert found.alike == ("patch:demo/delta",)


def test_every_event_is_written_before_it_is_used() -> None:
    """A run is chosen on the disk before anything starts, and seen on the disk before the next is chosen."""
    order: list[str] = []

    class Watching(MemoryFiles):
        def append_line(self, path: str, line: str) -> None:
            super().append_line(path, line)
            order.append(line.split('"')[3])

    machine = Machine(pair, before=lambda verb, count: order.append(verb))
    run(machine, fake_ports(files=Watching()))
    first = order.index("chosen")
    assert order[:first] == ["started", "working", "served"]
    assert order[first : first + 4] == ["chosen", "deploy", "test", "observed"]


def test_the_number_of_choices_and_outcomes_agree() -> None:
    ports = fake_ports()
    found = run(Machine(pair), ports)
    events = [entry.event for entry in newest(ports, "/ws", "demo").entries]
    assert sum(isinstance(e, Chosen) for e in events) == sum(isinstance(e, Observed) for e in events) == len(found.runs)


@pytest.mark.parametrize(
    "variant",
    [
        Variant(),
        Variant(without=(Element("patch", "a/b"), Element("flag", "x", "decode"))),
        Variant(without=(Element("patch", "a/b"),), dropped=(Element("patch", "c/d"),)),
        Variant(without=(Element("patch", "a/b"),), dropped=(Element("patch", "c/d"),), added=(PatchName("with/e"),)),
        Variant(added=(PatchName("with/e"), PatchName("with/f"))),
    ],
)
def test_a_variant_is_read_back_from_what_status_says(variant: Variant) -> None:
    without, added = parse_variant(str(variant))
    assert without == tuple(map(str, variant.without))
    assert added == tuple(f"patch:{name}" for name in variant.added)


def test_a_run_is_shown_by_what_is_out_or_by_what_is_in_if_that_is_shorter() -> None:
    assert shown((), ("patch:a/x",)) == "full"
    assert shown(("patch:a/x", "flag:y"), ("patch:b", "patch:c", "env:d")) == "-a/x -flag:y"
    assert shown(("patch:b", "patch:c", "env:d"), ("patch:a/x",)) == "only a/x"
    assert shown(("patch:b",), ()) == "base"


def test_a_flag_that_the_stack_does_not_set_is_tried_too() -> None:
    """Left out, it has the flipped value: the fault is there as long as it is not set."""
    tried = stack(bisect=BisectSpec(test="c60", flip={"disable-overlap": True}))
    machine = Machine(lambda elements: "flag:disable-overlap" not in elements, stack=tried)
    found = run(machine)
    assert found.kind == "CONFIRMED" and found.culprit == ("flag:disable-overlap",)

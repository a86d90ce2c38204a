"""What runs against what should: each way to differ is one finding, and a host as it should be has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from stackctl.core.deploy.facts import Seen
from stackctl.core.deploy.record import Record
from stackctl.core.doctor.arguments import differences
from stackctl.core.doctor.running import findings
from stackctl.core.doctor.there import Answer, Container, Planned, There, parse_answers, parse_containers
from stackctl.core.doctor.values import Evidence, Finding, Listener
from stackctl.core.upstream.values import Flag, Upstream
from tests.core.deploy.releases import NEW, OLD, facts, last, record, release, running
from tests.core.doctor.hosts import engine, host

RELEASE, RECORD = release(), record()
PORTS = {30000: "prefill-0", 8998: "prefill-0", 30300: "decode-0", 31000: "router-0"}
PLANNED = Planned("main", NEW, RELEASE.launches, PORTS, RECORD.trees)
WORKERS = tuple(sorted(one.url for one in RECORD.launches if one.role != "router"))
ANSWERS = {
    "prefill-0": Answer(200, release=NEW, module=f"/home/ops/.stackctl/main/trees/{RECORD.tree}/python/sglang"),
    "decode-0": Answer(200, release=NEW),
    "router-0": Answer(200, workers=WORKERS),
}


def there(of: Record = RECORD, **changed: object) -> There:
    """This very release, whole and well."""
    engines = tuple(
        engine(
            one.instance, argv=("/opt/python", *one.argv, "--weight-version", of.release), pid=pid, release=of.release
        )
        for pid, one in enumerate(of.launches, 100)
        if one.role != "router"
    )
    router = engine("router-0", argv=("sglang::router",), pid=102, release=of.release)
    state = facts(current=of.release, status=last("committed"), records={of.release: of}, instances=running(of.release))
    well = There(host(engines=(*engines, router)), state, ANSWERS)
    return replace(well, **changed)  # type: ignore[arg-type]


def told(found: Sequence[Finding]) -> list[tuple[str, str]]:
    """Each with evidence, whatever it is."""
    assert all(proof.command and proof.output for one in found for proof in one.evidence or (Evidence("", ""),)), found
    return [(one.id, one.severity) for one in found if one.id != "RUNS-RELEASE"]


def test_as_it_should_be() -> None:
    (only,) = findings(PLANNED, there())
    assert (only.id, only.severity, only.section) == ("RUNS-RELEASE", "info", "running")
    assert "as the stack file says" in only.message


def test_nothing_runs() -> None:
    (only,) = findings(PLANNED, There(host(), facts()))
    assert only.id == "RUNS-NOTHING" and NEW in only.message and only.remedy == "stackctl deploy main"


def test_the_stack_file_says_another_release() -> None:
    launches = tuple(
        replace(one, argv=(*one.argv, "--tp-size", "4")) if one.instance == "decode-0" else one
        for one in PLANNED.launches[:2]
    )
    other = replace(PLANNED, release=OLD, launches=launches, trees=("f" * 40,))
    (found,) = findings(other, there())
    assert told([found]) == [("RUNS-OTHER-RELEASE", "warning")] and NEW in found.message and OLD in found.message
    rows = found.evidence[0].output.splitlines()
    assert rows[0] == "decode-0: --tp-size is 2, the stack says 4"
    assert rows[1] == "router-0 is not in the stack file any more" and rows[2].startswith("patched tree ")


def test_a_variant_is_meant_to_differ() -> None:
    variant = replace(RECORD, variant="without flag:tp-size")
    (found,) = findings(replace(PLANNED, release=OLD), there(variant))
    assert found.severity == "info" and "(without flag:tp-size)" in found.message


def test_a_stack_file_that_cannot_be_made_is_said() -> None:
    (found,) = findings(replace(PLANNED, release="", why="no such patch"), there())
    assert found.severity == "info" and found.message.endswith("cannot be made: no such patch")


def test_an_instance_is_gone() -> None:
    state = there().state
    dead = Seen(NEW, "decode-0", 0, False, 137)
    found = findings(PLANNED, there(state=replace(state, instances=(*running(NEW)[::2], dead))))
    assert told(found) == [("RUNS-GONE", "error")]
    assert "decode-0" in found[1].message and "exited with 137" in found[1].message
    absent = findings(PLANNED, there(state=replace(state, instances=running(NEW)[1:])))
    assert told(absent) == [("RUNS-GONE", "error")] and "exited" not in absent[1].message


def test_a_process_with_other_arguments_or_variables() -> None:
    well = there()
    first = well.facts.engines[0]
    changed = replace(first, argv=(*first.argv, "--tp-size", "8", "--extra"), env={"CUDA_VISIBLE_DEVICES": "6,7"})
    found = findings(PLANNED, there(facts=host(engines=(changed, *well.facts.engines[1:]))))
    assert told(found) == [("RUNS-OTHER-ARGUMENTS", "error")]
    assert found[1].evidence[0].output.splitlines() == [
        "--extra is not in its release",
        "--tp-size is 8, its release says 2",
        "CUDA_VISIBLE_DEVICES is '6,7', the stack says '0,1'",
    ]


@pytest.mark.parametrize(
    ("name", "answer", "id", "severity", "words"),
    [
        ("prefill-0", Answer(0, "timed out"), "RUNS-SILENT", "error", "prefill-0 runs and does not answer"),
        ("decode-0", Answer(503), "RUNS-SILENT", "error", "decode-0 runs and answers 503"),
        ("decode-0", Answer(200, release=OLD), "RUNS-ANOTHER", "error", f"release {OLD} answers, not {NEW}"),
        ("decode-0", Answer(200, release=NEW, differs=(("tp_size", 4, "2"),)), "RUNS-OTHER-VALUES", "warning", ""),
        ("decode-0", Answer(200, release=NEW, module="/usr/lib/x"), "RUNS-ELSEWHERE", "error", "from /usr/lib/x, not"),
        ("router-0", Answer(200, workers=WORKERS[:1]), "RUNS-WORKERS", "error", WORKERS[1]),
    ],
)  # fmt: skip
def test_each_answer_that_is_not_right(name: str, answer: Answer, id: str, severity: str, words: str) -> None:
    found = findings(PLANNED, there(answers={**ANSWERS, name: answer}))
    assert told(found) == [(id, severity)] and words in found[1].message and found[1].evidence


def test_nobody_was_asked_and_one_that_does_not_run_is_not_silent() -> None:
    assert told(findings(PLANNED, there(answers={}))) == []
    gone = there(state=replace(there().state, instances=running(NEW)[1:]), answers={**ANSWERS, "prefill-0": Answer()})
    assert told(findings(PLANNED, gone)) == [("RUNS-GONE", "error")]


def test_a_stray_of_another_release() -> None:
    state = there().state
    stray = Seen(OLD, "decode-0", 55, True, None)
    found = findings(PLANNED, there(state=replace(state, instances=(*state.instances, stray))))
    assert told(found) == [("RUNS-STRAY", "warning")] and OLD in found[1].message
    stopped = facts(status=last("stopped"), current=NEW, instances=(stray,))
    assert told(findings(PLANNED, There(host(), stopped))) == [("RUNS-NOTHING", "info"), ("RUNS-STRAY", "warning")]


def test_while_a_cut_over_goes_on_nothing_else_is_said() -> None:
    state = replace(there().state, cutover=True, instances=())
    assert told(findings(PLANNED, there(state=state))) == [("RUNS-CUTOVER", "info")]


def test_an_engine_that_was_started_by_hand_on_our_port() -> None:
    argv = ("python3", *PLANNED.launches[1].argv, "--mem-fraction-static", "0.9")
    foreign = engine("", argv=argv, ours=False, pid=900, release="", stack="", container="deadbeef1234")
    on = (Listener(30300, "0.0.0.0", 900), Listener(30300, "::", 900), Listener(9999, "0.0.0.0", 900))
    found = findings(PLANNED, There(host(engines=(foreign,), ports=on), facts()))
    assert told(found) == [("RUNS-NOTHING", "info"), ("RUNS-BY-HAND", "error")]
    assert "port 30300 of decode-0" in found[1].message and "container deadbeef1234" in found[1].message
    assert found[1].evidence[1].output == "--mem-fraction-static 0.9 is not in the stack"
    same = replace(foreign, argv=argv[:-2], stack="other")
    box = {"deadbeef1234": Container("box", "sglang:x")}
    (_, other) = findings(PLANNED, There(host(engines=(same,), ports=on), facts(), containers=box))
    assert other.evidence[1].output == "box of image sglang:x, without a label of stackctl"
    assert other.evidence[2].output == "the same arguments" and "of the stack other" in other.message
    nginx = There(host(ports=(Listener(30300, "0.0.0.0", 5, "root", "nginx"),)), facts())
    assert told(findings(PLANNED, nginx)) == [("RUNS-NOTHING", "info")]  # the section of ports says so
    other = There(host(engines=(foreign,), ports=on), facts(status=last("running"), cutover=True))
    assert told(findings(PLANNED, other)) == [("RUNS-CUTOVER", "info"), ("RUNS-BY-HAND", "error")]
    unread = There(host(engines=(foreign,), ports=on), facts(), fault="no")
    assert told(findings(PLANNED, unread)) == [("RUNS-UNREAD", "warning"), ("RUNS-BY-HAND", "error")]
    closed = There(host(home="/x: Permission denied"), facts(), fault="Permission denied")
    assert findings(PLANNED, closed) == ()  # that the folder is closed is said once


def test_a_command_line_of_an_odd_process_is_one_line() -> None:
    odd = engine("", argv=("vllm", "a\n  error FAKE: b\r"), ours=False, pid=900, release="", stack="")
    (_, hand) = findings(PLANNED, There(host(engines=(odd,), ports=(Listener(30300, pid=900),)), facts()))
    assert hand.evidence[0].output == "vllm a\\n  error FAKE: b\\r"


TABLE = Upstream(
    "sglang",
    "0.5.15",
    "argparse",
    (
        Flag(("--tensor-parallel-size", "--tp-size"), "tp_size", type="int"),
        Flag(("--enable-metrics",), "enable_metrics", nargs=0),
        Flag(("--model-path", "--model"), "model_path"),
    ),
)


@pytest.mark.parametrize(
    ("there", "wanted", "told"),
    [
        ("--tp-size 2 --model /m", "--model-path /m --tensor-parallel-size 2", ()),
        ("--tp-si 2", "--tensor-parallel-size=2", ()),  # abbreviated
        ("--tp-size 2", "--tensor-parallel-size 4", ("--tensor-parallel-size is 2, the stack says 4",)),
        ("--enable-metrics --tp-size 1", "--tp-size 1", ("--enable-metrics is not in the stack",)),
        ("--new-flag 1", "--new-flag 2", ("--new-flag is 1, the stack says 2",)),
    ],
)
def test_a_flag_is_the_same_however_it_is_written(there: str, wanted: str, told: tuple[str, ...]) -> None:
    first, second = (("python3", "-m", "sglang.launch_server", *words.split()) for words in (there, wanted))
    assert differences(first, second, table=TABLE) == told


def test_a_flag_by_its_other_name_is_no_difference_of_an_engine_by_hand() -> None:
    decode = PLANNED.launches[1]
    other = tuple("--tp-size" if word == "--tensor-parallel-size" else word for word in decode.argv)
    hand = engine("", argv=("python3", *other, "--model", "x"), ours=False, pid=900, release="", stack="")
    there = There(host(engines=(hand,), ports=(Listener(30300, pid=900),)), facts())
    (_, with_table) = findings(replace(PLANNED, table=TABLE), there)
    assert with_table.evidence[1].output.splitlines() == ["--model-path is x, the stack says /models/m"]
    assert PLANNED.table_of(PLANNED.launches[1]) is None
    router = next(one for one in PLANNED.launches if one.role == "router")
    assert replace(PLANNED, table=TABLE).table_of(router) is None


@pytest.mark.parametrize(("release", "severity"), [(NEW, "info"), (OLD, "warning"), ("", "warning")])
def test_a_container_of_this_stack_says_its_release(release: str, severity: str) -> None:
    labels = {"io.stackctl.stack": "main", **({"io.stackctl.release": release} if release else {})}
    about = parse_containers({"c0ffee": {"name": "main-decode-0", "image": "sglang:x", "labels": labels}})
    about["other"] = Container("other", "vllm:y", {"io.stackctl.stack": "another"})
    (_, found) = findings(PLANNED, There(host(), facts(), containers=about))
    assert told([found]) == [("RUNS-CONTAINER", severity)]
    assert "main-decode-0 of image sglang:x, io.stackctl." in found.evidence[0].output
    assert "without a label of stackctl" in str(Container("x", "y"))


def test_many_differences_are_cut() -> None:
    well = there()
    first = well.facts.engines[0]
    more = [word for n in range(20) for word in (f"--f{n}", "1")]
    found = findings(PLANNED, there(facts=host(engines=(replace(first, argv=(*first.argv, *more)),))))
    assert found[1].evidence[0].output.splitlines()[-1] == "… and 8 more"


def test_command_lines() -> None:
    assert differences(("python", "-m", "a", "--x=1", "--y_z"), ("-m", "a", "--x", "1", "--y-z")) == ()
    assert differences(("python", "-m", "b", "--y"), ("-m", "a", "--x", "1", "2")) == (
        "b runs, the stack says a",
        "--x 1 2 of the stack is missing",
        "--y is not in the stack",
    )
    assert differences(("-m", "a", "--x"), ("-m", "a", "--x", "1")) == ("--x is bare, the stack says 1",)


def test_answers_are_read() -> None:
    said = {
        "single-0": {
            "status": 200, "why": "", "release": "r", "module": "/t", "differs": [["tp_size", 4, "2"]],
            "workers": [],
        }
    }  # fmt: skip
    assert parse_answers(said) == {"single-0": Answer(200, "", "r", "/t", (("tp_size", 4, "2"),))}

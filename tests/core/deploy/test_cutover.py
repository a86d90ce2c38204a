"""The script against its golden text; shells and shellcheck read it; what it writes is read back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from stackctl.core.deploy.cutover import Cutover, Kind, launch_script, release_files, script
from stackctl.core.deploy.journal import entries, seen, start_seconds
from stackctl.core.deploy.record import from_json, to_json
from stackctl.core.stack.resolved import Timeouts
from tests.core.deploy.releases import NEW, OLD, record, release
from tests.fakes import RepositoryTemplates
from tests.workspaces import GOLDEN, golden

ROOT = "/home/ops/.stackctl/ma in"
TEMPLATE = RepositoryTemplates().text("cutover.sh.j2", "/ws")
SHELLCHECK = Path(sys.executable).with_name("shellcheck")
INSTANCE = Path(__file__).parents[3] / "stackctl" / "onhost" / "instance.sh"


@pytest.mark.parametrize(("kind", "new", "old"), [("deploy", NEW, OLD), ("deploy", NEW, ""), ("stop", "", "")])
def test_the_script_is_the_golden_one(kind: Kind, new: str, old: str) -> None:
    cutover = Cutover("main", "a77e", kind, ROOT, "/opt/py thon", f"{ROOT}/probes.py", new, old, Timeouts())
    name = f"{kind}{'-first' if kind == 'deploy' and not old else ''}.sh"
    golden(GOLDEN / "cutover" / name, script(TEMPLATE, cutover))


@pytest.mark.parametrize("path", [INSTANCE, *sorted((GOLDEN / "cutover").glob("*.sh"))], ids=lambda path: path.name)
def test_shells_and_shellcheck_accept_it(path: Path) -> None:
    for shell in ("sh", "bash"):
        subprocess.run([shell, "-n", str(path)], check=True, timeout=30)
    done = subprocess.run([SHELLCHECK, "-s", "sh", path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_a_release_folder_says_how_it_starts() -> None:
    made = release()
    files = release_files(made, record(made), ROOT, {"instance.sh": "x"})
    assert set(files) == {*made.scripts, "instance.sh", "launch.sh", "gate.json", "record.json"}
    assert launch_script(record(made), ROOT).splitlines()[1:] == [
        "engines='prefill-0 decode-0'",
        "router=router-0",
        "cards='0 1 2 3'",
        "release_python=/opt/python",
        f"tree='{ROOT}/trees/{made.tree.tree}'",
    ]


def test_a_record_is_read_back_and_others_are_none() -> None:
    assert from_json(json.loads(to_json(record()))) == record()
    assert from_json({"format": 99}) is None and from_json(None) is None and from_json([]) is None


STATUS = {
    "attempt": "a1", "kind": "deploy", "release": NEW, "old": "", "state": "running", "step": "gate", "message": "",
    "since": 5, "pid": 77, "start": 1234, "steps": [
        {"name": "stop", "phase": "done", "seconds": 3.0}, {"name": "start", "phase": "done", "seconds": 1.5},
        {"name": "gate", "phase": "done", "seconds": 0.25}],
}  # fmt: skip
STAT = "77 (sh (x) y) S 1 77 77 0 -1 4 1 0 0 0 0 0 0 0 20 0 1 0 1234 1 1\n"


def test_what_polling_sees() -> None:
    line = json.dumps(STATUS) + "\n"
    found = seen(line + STAT, "a1")
    assert found.status is not None and found.alive and start_seconds(found.status) == 1.75
    assert not seen(line, "a1").alive
    assert not seen(line + STAT.replace("1234", "9999"), "a1").alive  # another process with that number
    assert not seen(line + STAT.replace(" S ", " Z "), "a1").alive
    assert seen(line + STAT, "other").status is None
    assert seen("", "a1").status is None and seen(line[:40], "a1").status is None


def test_half_a_line_of_a_journal_tells_nothing() -> None:
    line = json.dumps({"time": 1, "attempt": "a", "kind": "deploy", "release": "r", "step": "s", "phase": "begin"})
    assert [entry.phase for entry in entries(f"{line}\n{line[:30]}\nnonsense\n{line}")] == ["begin", "begin"]

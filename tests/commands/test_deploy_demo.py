"""The shipped demo for real: the stand-in behind the real router, on ports of the test's own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackctl.onhost import procs
from tests.commands.deployed import free_port

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


class Demo:
    """A copy of the demo's files, and the command line in it."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder, self.home = folder, home
        for name in ("patches/demo", "stacks/standin"):
            shutil.copytree(ROOT / name, folder / name)
        first = free_port()
        text = (ROOT / "stacks" / "demo.yaml").read_text()
        self.file = folder / "stacks" / "demo.yaml"
        self.file.write_text(re.sub(r"\b310(\d\d)\b", lambda port: str(first + int(port[1])), text))

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "stackctl", *words]
        return subprocess.run(argv, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)

    def deploy(self, *words: str) -> dict[str, object]:
        done = self.run("deploy", "demo", "--json", "--yes", *words)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    def processes(self) -> list[int]:
        return sorted(procs.ours(str(self.home / ".stackctl" / "demo")))


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Demo]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("STACKCTL_HOME", str(tmp_path / "store"))
    made = Demo(tmp_path / "workspace", home)
    yield made
    made.run("stop", "demo")
    assert made.processes() == []


def test_it_serves_varies_rolls_back_and_leaves_nothing(demo: Demo) -> None:
    plain = demo.deploy()
    assert demo.deploy()["outcome"] == "kept"
    varied = demo.deploy("--without", "patch:demo/metrics-pool-gauges")
    assert varied["previous"] == plain["release"]
    variant = (
        "without patch:demo/metrics-pool-gauges (and patch:demo/metrics-second-tier, which needs what was left out)"
    )
    assert varied["variant"] == variant
    assert variant in " ".join(demo.run("status", "demo").stdout.split())
    demo.file.write_text(demo.file.read_text().replace("chunked-prefill-size: 256", "chunked-prefill-size: none"))
    broken = demo.run("deploy", "demo")
    assert broken.returncode == 5, broken.stderr
    assert "prefill-0 exited with 2 while it started" in broken.stderr and "chunked-prefill-size" in broken.stderr
    found = json.loads(demo.run("status", "demo", "--json").stdout)
    assert found["release"] == varied["release"] and {one["state"] for one in found["instances"]} == {"running"}
    stopped = demo.run("stop", "demo")
    assert stopped.returncode == 0 and "6 processes" in stopped.stdout
    assert demo.processes() == []


def test_doctor_knows_what_the_deploy_saved(demo: Demo) -> None:
    plain = demo.deploy()
    saved = demo.home / ".stackctl" / "demo" / "facts.jsonl"
    assert json.loads(saved.read_text())["release"] == plain["release"]
    (host,) = json.loads(demo.run("doctor", "demo", "--json").stdout)["hosts"]
    said = {one["id"]: one for one in host["findings"] if one["section"] in ("running", "drift")}
    assert list(said) == ["RUNS-RELEASE"] and "as the stack file says" in said["RUNS-RELEASE"]["message"]
    since = demo.run("doctor", "demo", "--since", str(plain["release"]), "--exit-code")
    assert since.returncode == 0 and "local: as it was since the deploy of" in since.stdout


def test_json_changes_nothing_without_yes(demo: Demo) -> None:
    assert demo.run("deploy", "demo", "--json").returncode == 2
    plan = demo.run("deploy", "demo", "--json", "-n")
    assert json.loads(plan.stdout)["outcome"] == "planned"
    assert not (demo.home / ".stackctl").exists()

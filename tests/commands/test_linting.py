"""The linter over a whole stack: a small tree that is sglang's in shape, patches that add a flag, releases, SARIF."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from stackctl.commands.check import CheckRequest, CheckResult, check
from stackctl.commands.linting.sarif import repository, save_sarif
from stackctl.commands.selection import Selection
from stackctl.errors import StackctlError
from stackctl.output.console import Console
from stackctl.output.stack import show_check
from stackctl.ports import Ports
from stackctl.wiring import real_ports
from tests.fakes import Told

SERVER_ARGS = """\
import argparse
import dataclasses


@dataclasses.dataclass
class ServerArgs:
    model_path: str

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        parser.add_argument("--model-path", type=str, required=True)
        parser.add_argument("--served-model-name", type=str)
        parser.add_argument("--host", type=str, default="127.0.0.1")
        parser.add_argument("--port", type=int, default=30000)
        parser.add_argument("--weight-version", type=str)
        parser.add_argument("--crash-dump-folder", type=str)
        parser.add_argument("--kv-cache-dtype", type=str, default="auto", choices=["auto", "fp8_e4m3"])
"""
PATCH = """\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: A <a@b.example>
Date: Mon, 2 Mar 2026 09:00:00 +0000
Subject: [PATCH] Add a flag

Area: tests
Why: It is a test.
Upstream: Inappropriate a test
Remove-when: never
---
 python/sglang/srt/server_args.py | 1 +
 1 file changed, 1 insertion(+)

diff --git a/python/sglang/srt/server_args.py b/python/sglang/srt/server_args.py
index {old}..{new} 100644
--- a/python/sglang/srt/server_args.py
+++ b/python/sglang/srt/server_args.py
@@ -16,3 +16,4 @@ class ServerArgs:
         parser.add_argument("--weight-version", type=str)
         parser.add_argument("--crash-dump-folder", type=str)
         parser.add_argument("--kv-cache-dtype", type=str, default="auto", choices=["auto", "fp8_e4m3"])
+        parser.add_argument("--of-a-patch", action="store_true")
"""
ADDED = '        parser.add_argument("--of-a-patch", action="store_true")\n'
STACK = """\
base: {base}
{patches}
model: {{path: /m, name: m}}
serve:
  flags:
    crash-dump-folder: /tmp/x
    of-a-patch: true
    kv-cache-dtype: {dtype}
roles: {{single: {{host: here, port: 30000}}}}
hosts: {{here: {{address: local}}}}
"""


def blob(text: str) -> str:
    """As git names these contents."""
    return hashlib.sha1(f"blob {len(text)}\0{text}".encode()).hexdigest()


@pytest.fixture
def ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ports:
    """A workspace below a folder with a tree, and a store of its own."""
    monkeypatch.setenv("STACKCTL_HOME", str(tmp_path / "home"))
    srt = tmp_path / "work" / "stacks" / "base" / "python" / "sglang" / "srt"
    srt.mkdir(parents=True)
    (srt / "server_args.py").write_text(SERVER_ARGS)
    (tmp_path / "work" / "patches" / "t").mkdir(parents=True)
    (tmp_path / "work" / "patches" / "t" / "flag.patch").write_text(
        PATCH.format(old=blob(SERVER_ARGS), new=blob(SERVER_ARGS + ADDED))
    )
    monkeypatch.chdir(tmp_path / "work")
    return real_ports(Told())


def checked(ports: Ports, *, strict: bool = False, **values: str) -> CheckResult:
    given = {"base": "{path: base}", "patches": "patches: [t/flag]", "dtype": "auto", **values}
    Path("stacks/main.yaml").write_text(STACK.format(**given))
    return check(ports, CheckRequest(Selection("main"), strict=strict))


def told(result: CheckResult) -> list[str]:
    return [f"{one.where}: {one.severity} {one.rule}: {one.message}" for one in result.findings]


def test_a_flag_of_a_patch_is_known_and_without_the_patch_it_is_not(ports: Ports) -> None:
    assert [one.rule for one in checked(ports).findings] == ["VERSION-UNKNOWN"]
    without = checked(ports, patches="")
    assert told(without)[1:] == [
        "stacks/main.yaml:7:5: error FLAG-UNKNOWN: this sglang has no flag --of-a-patch",
    ]
    assert without.exit == 2


def test_what_people_call_a_commit_is_its_release(ports: Ports) -> None:
    def git(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
        done = subprocess.run(("git", "-C", "stacks/base", *who, *words), check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "x")
    git("tag", "v0.5.15")
    base = f"{{git: {Path.cwd()}/stacks/base, ref: v0.5.15, commit: {git('rev-parse', 'HEAD')}}}"
    found = told(checked(ports, base=base, dtype="fp8_e5m2"))
    assert found == [
        "stacks/main.yaml:8:5: error CHOICE: fp8_e5m2 is not a value of --kv-cache-dtype in sglang 0.5.15",
    ]


def test_strict_takes_a_warning_for_an_error(ports: Ports) -> None:
    plain = checked(ports, strict=True)
    assert plain.exit == 0  # information is no warning
    text = "patches: [t/flag]\nlint: {severity: {VERSION-UNKNOWN: warning}}"
    assert checked(ports, patches=text).exit == 0
    assert checked(ports, strict=True, patches=text).exit == 2


def test_sarif_tells_files_from_the_root_of_the_repository(ports: Ports, tmp_path: Path) -> None:
    result = checked(ports, patches="")
    assert repository(ports, str(tmp_path / "work")) == str(tmp_path / "work")
    (tmp_path / ".git").mkdir()
    assert repository(ports, str(tmp_path / "work")) == str(tmp_path)
    printed = json.loads(save_sarif(ports, result.findings, result.ignored, "-"))
    places = [each["locations"][0]["physicalLocation"] for each in printed["runs"][0]["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"work/stacks/main.yaml"}
    assert save_sarif(ports, result.findings, result.ignored, "out.sarif") == ""
    assert json.loads(Path("out.sarif").read_text()) == printed
    assert save_sarif(ports, (), (), "out.sarif") == ""  # again, over its own
    with pytest.raises(StackctlError, match=r"stacks/main\.yaml is there and is no SARIF file"):
        save_sarif(ports, (), (), "stacks/main.yaml")


def test_a_finding_is_one_line_with_its_hint_below_and_the_last_line_judges(
    ports: Ports, capsys: pytest.CaptureFixture[str]
) -> None:
    show_check(Console(), checked(ports, dtype="fp8_e4m2"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == [
        "stacks/main.yaml:8:5: error CHOICE: fp8_e4m2 is not a value of --kv-cache-dtype in this sglang",
        "    hint: did you mean fp8_e4m3?",
        "stacks/main.yaml: 1 error, 1 note: a deploy would refuse it",
    ]
    show_check(Console(), checked(ports))
    assert capsys.readouterr().out.splitlines()[-1] == "stacks/main.yaml: sound (1 note)"


def test_the_end_of_a_check_says_what_a_deploy_does(ports: Ports, capsys: pytest.CaptureFixture[str]) -> None:
    result = checked(ports, patches="")
    show_check(Console(), result)
    assert capsys.readouterr().out.endswith("1 error, 1 note: a deploy would refuse it\n")
    show_check(Console(), replace(result, variant="without patch:t/flag"))
    assert capsys.readouterr().out.endswith("1 error, 1 note: a variant is deployed all the same\n")

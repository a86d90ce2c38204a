"""A host over SSH, against a real sshd of another user on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stackctl.adapters.host import RealHosts
from stackctl.adapters.process import LocalProcess
from stackctl.core.stack.resolved import HostSpec
from stackctl.errors import StackctlError
from stackctl.ports import Host
from tests.adapters.sshhost import ROOT, ssh_host

pytestmark = pytest.mark.ssh
HOSTS = RealHosts(LocalProcess())


@pytest.fixture(scope="module")
def spec() -> Iterator[HostSpec]:
    with ssh_host() as found:
        yield found


@pytest.fixture
def host(spec: HostSpec) -> Iterator[Host]:
    opened = HOSTS.open(spec)
    yield opened
    opened.run(["rm", "-rf", "t"])
    opened.close()


def test_programs_words_codes_and_bytes(host: Host) -> None:
    words = ["a b", "$HOME", "'", '"', "*", ";", "\n", "-n"]
    assert host.run(["printf", "%s|", *words]).stdout.decode() == "".join(f"{word}|" for word in words)
    done = host.run(["sh", "-c", "cat; echo err >&2; exit 3"], input=b"\0\xff")
    assert (done.code, done.stdout, done.stderr) == (3, b"\0\xff", b"err\n")
    assert host.run(["no-such-program"]).code == 127


def test_much_in_both_directions_at_once(host: Host) -> None:
    data = bytes(range(256)) * 40_000
    assert host.run(["cat"], input=data).stdout == data
    noise = 'i=0; while [ $i -lt 30000 ]; do echo "line of noise $i" >&2; i=$((i+1)); done; cat >/dev/null; echo end'
    done = host.run(["sh", "-c", noise], input=data)
    assert done.stdout == b"end\n" and done.stderr.count(b"\n") == 30_000
    assert host.run(["true"], input=data).ok  # a program need not read


def test_files_are_whole(host: Host) -> None:
    host.put("~/t/a b/it's", b"\0one", 0o600)
    assert host.get("~/t/a b/it's") == b"\0one" and host.get("~/t/none") is None
    assert host.run(["stat", "-c", "%a", "t/a b/it's"]).stdout == b"600\n"


def test_the_workspace_is_out_of_its_sight(host: Host) -> None:
    assert not host.run(["ls", str(ROOT)]).ok


def test_a_detached_program_outlives_the_connection(host: Host, spec: HostSpec) -> None:
    host.put("~/t/x", b"")
    host.start_detached(["sh", "-c", "while [ ! -e t/go ]; do sleep 0.02; done; echo went >t/went"])
    host.close()
    host.put("~/t/go", b"")
    deadline = time.monotonic() + 10
    while host.get("~/t/went") is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_wait_has_an_end_and_the_next_call_works(host: Host) -> None:
    with pytest.raises(StackctlError, match=r"box \(stackctl-demo@127.0.0.1:\d+\): no answer in time"):
        host.run(["sleep", "30"], timeout=0.5)
    assert host.run(["echo", "hi"]).stdout == b"hi\n"


def test_a_connection_that_broke_is_made_again(host: Host) -> None:
    with pytest.raises(StackctlError, match=r"box .*: "):
        host.run(["sh", "-c", "kill -9 $PPID; sleep 5"], timeout=10)
    assert host.run(["echo", "hi"]).stdout == b"hi\n"


def test_an_unknown_host_key_is_refused(spec: HostSpec, tmp_path: Path) -> None:
    nobody = tmp_path / "known_hosts"
    nobody.write_text("")
    with pytest.raises(StackctlError, match="its host key is not known here") as refused:
        HOSTS.open(replace(spec, known_hosts=str(nobody))).run(["true"])
    assert refused.value.hint and "ssh-keyscan -p 22220 127.0.0.1 >> " in refused.value.hint
    assert nobody.read_text() == ""


def test_another_host_key_is_refused(spec: HostSpec, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True, timeout=30)
    other = tmp_path / "known_hosts"
    other.write_text(f"[127.0.0.1]:22220 {(tmp_path / 'key.pub').read_text()}")
    with pytest.raises(StackctlError, match="someone else answers"):
        HOSTS.open(replace(spec, known_hosts=str(other))).run(["true"])
    with pytest.raises(StackctlError, match="does not accept our key"):
        HOSTS.open(replace(spec, identity=str(tmp_path / "key"))).run(["true"])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"address": "x@127.0.0.1:1"}, r"box \(x@127.0.0.1:1\): "),
        ({"address": "x@no-such-host.invalid"}, "the name is not known here"),
        ({"identity": "/no/such/key"}, "box .*: "),
        ({"known_hosts": "/no/such/file"}, "box .*: "),
    ],
)
def test_each_way_not_to_get_there_names_the_host(spec: HostSpec, changed: dict[str, str], words: str) -> None:
    with pytest.raises(StackctlError, match=words):
        HOSTS.open(replace(spec, **changed)).run(["true"])  # type: ignore[arg-type]


def test_a_host_that_says_nothing_is_given_up(spec: HostSpec) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"x@127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(StackctlError, match=r"box .*: "):
            HOSTS.open(replace(spec, address=address)).run(["true"])
        assert time.monotonic() - began < 30


def test_the_demo_deploys_tests_and_stops_over_it(spec: HostSpec) -> None:
    def stackctl(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "stackctl", *words]
        return subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, timeout=200, check=False)

    try:
        done = stackctl("deploy", "demo-ssh")
        assert done.returncode == 0, done.stderr
        assert stackctl("deploy", "demo-ssh").stdout.count("passed its gate again") == 1
        assert "decode-0   box   running" in stackctl("status", "demo-ssh").stdout
        assert stackctl("test", "c60-toolcalls", "demo-ssh").returncode == 1
        assert "RUNS-RELEASE" in stackctl("doctor", "demo-ssh").stdout
        release = json.loads(stackctl("status", "demo-ssh", "--json").stdout)["release"]
        since = stackctl("doctor", "demo-ssh", "--since", release, "--exit-code")
        assert since.returncode == 0 and "box: as it was since the deploy of" in since.stdout, since.stdout
    finally:
        done = stackctl("stop", "demo-ssh")
    assert done.returncode == 0, done.stderr
    found = HOSTS.open(spec).run(["sh", "-c", "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"]).stdout
    assert b"standin.launch_server" not in found and b"sglang::router" not in found

"""This machine as a host: a bare environment, whole files, detached programs."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from stackctl.adapters.host import RealHosts
from stackctl.adapters.process import LocalProcess
from stackctl.core.stack.resolved import HostSpec
from stackctl.errors import StackctlError
from stackctl.ports import Host


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SECRET_OF_MY_SHELL", "x")
    return RealHosts(LocalProcess()).open(HostSpec("here", "local"))


def test_a_program_starts_in_the_home_with_a_bare_environment(host: Host, tmp_path: Path) -> None:
    assert host.run(["pwd"]).stdout.decode().strip() == str(tmp_path)
    assert "SECRET_OF_MY_SHELL" not in host.run(["env"]).stdout.decode()


def test_words_are_not_for_a_shell(host: Host) -> None:
    words = ["a b", "$HOME", "'", '"', "*", ";", "\n", "-n"]
    done = host.run(["printf", "%s|", *words], input=b"ignored")
    assert done.stdout.decode() == "".join(f"{word}|" for word in words)


def test_codes_and_both_outputs(host: Host) -> None:
    done = host.run(["sh", "-c", "cat; echo err >&2; exit 3"], input=b"\0\xff")
    assert (done.code, done.stdout, done.stderr, done.ok) == (3, b"\0\xff", b"err\n", False)
    assert host.run(["no-such-program"]).code == 127


def test_files_are_whole_or_not_there(host: Host, tmp_path: Path) -> None:
    host.put("~/a/b c/it's", b"\0one", 0o600)
    path = tmp_path / "a/b c/it's"
    assert path.read_bytes() == b"\0one" and stat.S_IMODE(path.stat().st_mode) == 0o600
    host.put(str(path), b"two")
    assert host.get("~/a/b c/it's") == b"two" and [one.name for one in path.parent.iterdir()] == ["it's"]
    assert host.get("~/none") is None and host.get("~/none/below") is None
    (tmp_path / "file").write_text("")
    with pytest.raises(StackctlError, match="here: cannot write ~/file/x: "):
        host.put("~/file/x", b"")
    with pytest.raises(StackctlError, match="here: cannot read ~/a: "):
        host.get("~/a")


def test_what_is_no_file_or_closed_to_us_is_not_missing(host: Host, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StackctlError, match="here: cannot read ~/pipe: it is a pipe"):
        host.get("~/pipe")
    (tmp_path / "shut" / "in").mkdir(parents=True)
    (tmp_path / "shut").chmod(0)
    try:
        if os.geteuid() == 0:  # nothing is closed to root
            assert host.get("~/shut/in/x") is None
        else:
            with pytest.raises(StackctlError, match="cannot read ~/shut/in/x: shut: Permission denied"):
                host.get("~/shut/in/x")
    finally:
        (tmp_path / "shut").chmod(0o700)


def test_what_takes_too_long_is_ended_and_told(host: Host) -> None:
    began = time.monotonic()
    with pytest.raises(StackctlError, match=r"here: .* took longer than 0.2 s"):
        host.run(["sleep", "30"], timeout=0.2)
    assert time.monotonic() - began < 10


def test_a_detached_program_leads_a_session_and_does_not_keep_us(host: Host, tmp_path: Path) -> None:
    script = 'echo "$$ $(cut -d" " -f6 "/proc/$$/stat")" >said.new; mv said.new said; read line; echo "$line" >read'
    host.start_detached(["sh", "-c", script])
    deadline = time.monotonic() + 10
    while not (tmp_path / "read").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    pid, session = (tmp_path / "said").read_text().split()
    assert pid == session and (tmp_path / "read").read_text() == "\n"

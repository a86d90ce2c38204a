"""The program that looks at a host: what it finds here, and the proof that it changes nothing and tells no secret."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stackctl.core.deploy.bundle import NEEDS, bundle
from stackctl.core.doctor.read import Times, look_of
from stackctl.onhost import doctor, doctor_files, doctor_procs, doctor_run
from stackctl.onhost.doctor_run import Program, run

SOURCES = Path(doctor.__file__).parent
REQUEST: dict[str, Any] = {"paths": ["~/.stackctl/demo", "/usr/share"], "images": ["a/b:c"], "packages": ["pytest"]}
# calls that make, change or take away something that has a name
CHANGES = re.compile(
    r"^\d+\s+(?:creat|mkdir|mkdirat|rename|renameat|renameat2|unlink|unlinkat|rmdir|link|linkat|symlink|symlinkat|mknod|"
    r"mknodat|truncate|chmod|fchmodat|fchmodat2|chown|lchown|fchownat|utime|utimes|futimesat|utimensat|setxattr|"
    r"lsetxattr|removexattr|lremovexattr|mount|umount2|swapon|acct)\("
)
OPENED = re.compile(
    r"^\d+\s+open(?:at2?)?\((?:[^,\"]*, )?\"(?P<path>(?:[^\"\\]|\\.)*)\".*?(?P<flags>O_[A-Z_|]+|flags=[^,}]*)"
)
HARMLESS = ("/dev/null", "/dev/tty")


def text() -> str:
    return bundle("doctor", {name: (SOURCES / f"{name}.py").read_text() for name in ("doctor", *NEEDS["doctor"])})


def ask(home: Path, *prefix: str, **request: Any) -> dict[str, Any]:
    """As a host is asked."""
    words = {**REQUEST, "root": f"{home}/.stackctl/demo", "python": sys.executable, **request}
    argv = [*prefix, "python3", "-B", "-I", "-S", "-c", text(), json.dumps(words)]
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "NCCL_P2P_LEVEL": "SYS", "MY_PASSWORD": "hunter22"}
    done = subprocess.run(
        argv, env={**env, "SGLANG_API_KEY": "k-7"}, cwd=home, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(json.loads(done.stdout))


def strace() -> bool:
    if not shutil.which("strace"):
        return False
    return subprocess.run(["strace", "-f", "true"], capture_output=True, check=False).returncode == 0


def changes(trace: str) -> list[str]:
    """Lines of a trace that changed something, or opened something to do so."""
    found = []
    for line in trace.splitlines():
        named = re.match(r"^\d+\s+bind\(\d+, \{sa_family=AF_UNIX, sun_path=\"", line)  # an abstract one begins with @
        opened = OPENED.match(line)
        writes = opened and re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_TMPFILE", opened["flags"])
        if named or CHANGES.match(line) or (writes and opened and opened["path"] not in HARMLESS):
            found.append(line)
    return found


def test_the_trace_is_read_right() -> None:
    """The proof below rests on this: what writes is seen, what reads is not."""
    bad = (
        '7 openat(AT_FDCWD, "/a", O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC, 0666) = 3',
        '7 openat(AT_FDCWD, "/a \\"b", O_RDWR) = 3',
        '7 open("/a", O_RDONLY|O_CREAT, 0600) = 3',
        '7 mkdir("/a", 0777) = -1 EEXIST (File exists)',
        '7 unlinkat(AT_FDCWD, "/a", 0) = 0',
        '7 bind(3, {sa_family=AF_UNIX, sun_path="/run/a"}, 12) = 0',
    )
    good = (
        '7 openat(AT_FDCWD, "/a", O_RDONLY|O_CLOEXEC) = 3',
        '7 openat(AT_FDCWD, "/dev/null", O_RDWR) = 3',
        '7 bind(3, {sa_family=AF_UNIX, sun_path=@"a"}, 12) = 0',
        '7 stat("/a", {st_mode=S_IFREG|0644}) = 0',
        '7 execve("/usr/bin/mkdir", ["mkdir"], 0x7f) = 0',
    )
    assert changes("\n".join((*bad, *good))) == list(bad)


@pytest.mark.slow
def test_it_writes_nothing_at_all(tmp_path: Path) -> None:
    """Every call of it and of all that it starts, by strace; and the home is as it was."""
    if not strace():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("strace is not here, or may not trace")
    (tmp_path / ".stackctl" / "demo").mkdir(parents=True)
    (tmp_path / ".stackctl" / "demo" / "env").write_text("ROUTER_API_KEY='very-secret'\n")
    before = sorted((str(path), path.stat().st_mtime_ns) for path in tmp_path.rglob("*"))
    trace = tmp_path.parent / f"{tmp_path.name}.trace"
    ask(tmp_path, "strace", "-f", "-s", "4096", "-e", "trace=%file,bind", "-o", str(trace))
    said = trace.read_text(errors="replace")
    subprocess.run(
        ["strace", "-f", "-e", "trace=%file", "-o", f"{trace}.2", "sh", "-c", "echo >a; mv a b; rm b"], cwd=tmp_path
    )
    assert len(changes(Path(f"{trace}.2").read_text())) == 3  # this strace writes what is looked for
    assert said.count("execve(") > 1 and "openat(" in said
    assert changes(said) == []
    assert sorted((str(path), path.stat().st_mtime_ns) for path in tmp_path.rglob("*")) == before


def test_what_it_says_here_can_be_read(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        said = ask(tmp_path)
        port = server.getsockname()[1]
    facts = look_of("local", said, Times(said["begin"], said["end"])).facts
    assert facts.hostname == os.uname().nodename and facts.kernel == os.uname().release
    assert facts.python.path == sys.executable and facts.python.packages == {"pytest": pytest.__version__}
    assert facts.limits["nofile"].soft and facts.memory_total and facts.shm_total
    assert [disk.place for disk in facts.disks] == [str(tmp_path), "/usr/share"]
    mine = next(one for one in facts.ports if one.port == port)
    assert (mine.pid, mine.address, mine.ours) == (os.getpid(), "127.0.0.1", False)
    assert facts.clock.offset is not None and abs(facts.clock.offset) < 0.5


def test_no_secret_leaves_the_host(tmp_path: Path) -> None:
    """Of the environment, of the secrets file, of command lines."""
    (tmp_path / ".stackctl" / "demo").mkdir(parents=True)
    (tmp_path / ".stackctl" / "demo" / "env").write_text("ROUTER_API_KEY='very-secret'\n")
    code = "import socket\ns = socket.create_server(('127.0.0.1', 0))\nprint(s.getsockname()[1], flush=True)\ninput()"
    words = [
        "--api-key",
        "key-one",
        "--hf-token=key-two",
        "http://me:key-three@h/",
        "very-secret",
        "sglang.launch_server",
        "export HF_TOKEN=key-four; x --password key-five",
        "new\n  error FAKE: a line of its own",
    ]
    argv = [sys.executable, "-c", code, *words]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        port = int(server.stdout.readline())
        said = ask(tmp_path)
        server.communicate("\n")
    listener = next(one for one in said["listeners"] if one["port"] == port)
    assert "--api-key ***" in listener["command"] and "--hf-token=***" in listener["command"]
    everything = json.dumps(said)
    for secret in ("key-one", "key-two", "key-three", "key-four", "key-five", "very-secret", "hunter22", "k-7"):
        assert secret not in everything
    assert "\n" not in listener["command"]
    assert said["variables"] == {"NCCL_P2P_LEVEL": "SYS", "SGLANG_API_KEY": "***"}


def test_what_nccl_conf_calls_a_key_stays_there(tmp_path: Path) -> None:
    """And so in what is saved, for a quick look reads it too."""
    conf = "NCCL_P2P_LEVEL=SYS\nMC_API_KEY=conf-key\nMC_METADATA_SERVER = redis://me:conf-pw@h/0\nMY_OWN=conf-other\n"
    (tmp_path / ".nccl.conf").write_text(conf)
    for quick in (False, True):
        said = ask(tmp_path, quick=quick)
        kept = {"MC_API_KEY": "***", "MC_METADATA_SERVER": "redis://***@h/0", "NCCL_P2P_LEVEL": "SYS"}
        assert {**said["nccl_conf"], **kept} == said["nccl_conf"] and "conf-" not in json.dumps(said)


@pytest.mark.parametrize(("name", "why"), [("file", "Not a directory"), ("loop", "Not a directory"), ("new", "")])
def test_a_folder_that_nothing_can_be_kept_in(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    told = doctor_files.closed(f"{tmp_path}/{name}/demo")
    assert told == (f"{tmp_path}/{name}: {why}" if why else "")


def test_a_folder_of_another_user(tmp_path: Path) -> None:
    """As another user where root asks, for whom nothing is closed."""
    (tmp_path / "shut").mkdir(mode=0o700)
    code = f"from stackctl.onhost.doctor_files import closed\nprint(closed({str(tmp_path / 'shut' / 'demo')!r}))"
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody").pw_uid
        tmp_path.parent.parent.chmod(0o755)
        tmp_path.parent.chmod(0o755)
        tmp_path.chmod(0o755)
        code = f"import os; import stackctl.onhost.doctor_files; os.setuid({nobody})\n{code}"
    else:
        (tmp_path / "shut").chmod(0)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path}/shut: Permission denied\n"


def test_a_quick_look_leaves_out_what_passes(tmp_path: Path) -> None:
    said = ask(tmp_path, quick=True)
    assert said["listeners"] == [] == said["engines"]
    assert {"dmesg", "chronyc", "docker-info"}.isdisjoint(one["name"] for one in said["commands"])


def test_an_interpreter_that_is_not_there_is_a_fact(tmp_path: Path) -> None:
    said = ask(tmp_path, python="/nowhere/bin/python")
    assert said["python"] == {"path": "/nowhere/bin/python", "fault": "No such file or directory"}


def test_programs_that_are_missing_fail_or_hang() -> None:
    assert run(Program("a", ("no-such-program",)))["missing"]
    failed = run(Program("b", ("sh", "-c", "echo out; echo err >&2; exit 3")))
    assert (failed["code"], failed["stdout"], failed["stderr"]) == (3, "out\n", "err\n")
    hung = run(Program("c", ("sleep", "30"), 0.1))
    assert (hung["code"], hung["cut"]) == (None, 0.1) and hung["seconds"] < 5
    long = run(Program("d", ("head", "-c", str(3 << 20), "/dev/zero")))
    assert len(long["stdout"]) == doctor_run.LIMIT


def test_nvidia_smi_is_not_asked_without_a_driver() -> None:
    """It would load the driver and make device files."""
    asked = [one.argv[0] for one in doctor_run.programs([], driver=False)]
    assert "nvidia-smi" not in asked and "docker" in asked
    assert [one.argv[0] for one in doctor_run.programs([], driver=True)].count("nvidia-smi") == 4


def test_no_program_of_the_list_has_a_flag_that_changes_something() -> None:
    change = {"-pm", "-pl", "-mig", "-r", "--gpu-reset", "-e", "-lgc", "-ac", "run", "pull", "-C", "-c"}
    for one in doctor_run.programs(["x"], driver=True):
        assert not change & set(one.argv)


def test_only_lines_that_anybody_reads_travel() -> None:
    assert doctor_run.without_clocks("<a/><supported_clocks>\n<x/></supported_clocks><b/>") == "<a/><b/>"
    bridge = "00:01.1 PCI bridge: AMD\n\tACSCap:\tSrcValid+\n\t\tACSCtl:\tSrcValid+ ReqRedir-\n\n"
    card = "01:00.0 3D controller: N\n\t\tACSCtl: SrcValid+\n"
    assert doctor_run.bridges(bridge + card) == "00:01.1 PCI bridge: AMD\n\tACSCtl:\tSrcValid+ ReqRedir-"
    assert doctor_run.kernel_lines("a\n[1] NVRM: Xid (PCI:1): 79\nb") == "[1] NVRM: Xid (PCI:1): 79"


def test_engines_of_others_are_found_once(tmp_path: Path) -> None:
    """The one that was started, not its workers; and a shell that only speaks of one is none."""
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "__init__.py").write_text("")
    code = "import os, sys\npid = os.fork()\nif pid: print(os.getpid(), flush=True)\nsys.stdin.read()\n"
    (package / "launch_server.py").write_text(code)
    argv = [sys.executable, "-m", "sglang.launch_server", "--api-key", "k"]
    with subprocess.Popen(argv, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        pid = int(server.stdout.readline())
        found = [one for one in doctor_procs.engines(set()) if one["pid"] == pid or pid in _parents(one["pid"])]
        server.stdin.close()
    assert [one["pid"] for one in found] == [pid]
    assert found[0]["argv"][1:] == ["-m", "sglang.launch_server", "--api-key", "***"]
    assert found[0]["instance"] == "" and found[0]["since"] > 0


def _parents(pid: int) -> list[int]:
    found = doctor_procs.procs.stat(pid)
    return [found.parent, *_parents(found.parent)] if found and found.parent > 1 else []


def test_containers_are_known_by_their_group() -> None:
    assert doctor_procs.container(f"0::/system.slice/docker-{'ab' * 32}.scope\n") == "ab" * 6
    assert doctor_procs.container("0::/user.slice\n") == ""


def test_site_folders_of_an_environment_and_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("include-system-site-packages = false\n")
    python = str(tmp_path / "bin" / "python")
    assert doctor.site_folders(python, "3.12.3", "/usr") == [f"{tmp_path}/lib/python3.12/site-packages"]
    (tmp_path / "pyvenv.cfg").write_text("include-system-site-packages = true\n")
    assert len(doctor.site_folders(python, "3.12.3", "/usr")) == 6


def test_packages_are_read_from_their_metadata(tmp_path: Path) -> None:
    for name in ("sglang_router-0.3.2.dist-info", "torch-2.11.0+cu130.dist-info", "Old.Thing-1.0-py3.11.egg-info"):
        (tmp_path / name).mkdir()
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_text("__version__ = '2.11.0+cu130'\ncuda: Optional[str] = '13.0'\n")
    folders = [str(tmp_path / "none"), str(tmp_path)]
    assert doctor.installed("sglang-router", folders) == "0.3.2"
    assert doctor.installed("torch", folders) == "2.11.0+cu130"
    assert doctor.installed("old-thing", folders) == "1.0"
    assert doctor.installed("sglang", folders) is None
    assert doctor.torch_cuda(folders) == "13.0"


def test_the_type_of_a_file_system() -> None:
    assert doctor_files.kind("/proc/self") == "proc"
    assert doctor_files.disk("/no/such/place")["place"] == "/"

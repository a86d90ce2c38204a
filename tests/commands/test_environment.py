"""An environment of the stack's own, made for real from wheels that lie in a folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from stackctl.commands.deploying.restart import restart
from stackctl.commands.deploying.rollback import RollbackRequest, rollback
from stackctl.commands.deploying.status import status
from stackctl.commands.environment import (
    engine_python,
    environment_faults,
    environment_wanted,
    installed_torch,
    make_environment,
)
from stackctl.commands.gather import load
from stackctl.commands.site import Site, site_of
from stackctl.errors import StackctlError
from tests.adapters.sshhost import ssh_host
from tests.commands.deployed import World, wait_for
from tests.wheels import wheel

pytestmark = pytest.mark.slow
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
REAL = "iniconfig==2.0.0 --hash=sha256:b6a85871a79d2e3b22d2d1b94ac2824226a63c6b741c88f7ae975f18b6778374\n"


class Workshop:
    """A world whose stack asks for an environment: two small packages and a torch, from `wheels`; `uv` is ours."""

    def __init__(self, world: World, wheels: Path, uv: Path) -> None:
        self.world, self.wheels, self.uv = world, wheels, uv
        self.hashes = {
            "alpha": wheel(wheels, "alpha", "1.0", {"alpha/__init__.py": "LETTER = 'a'\n"}),
            "beta": wheel(wheels, "beta", "2.0", {"beta.py": "LETTER = 'b'\n"}),
            "torch": wheel(wheels, "torch", "2.9.0+cpu", {"torch/__init__.py": "__version__ = '2.9.0+cpu'\n"}),
        }
        self.lock()
        self.use()

    def lock(self, **other: str) -> None:
        """The requirements; `other` hashes replace the right ones."""
        hashes = {**self.hashes, **other}
        pins = {"alpha": "1.0", "beta": "2.0", "torch": "2.9.0"}
        lines = (f"{name}=={pin} --hash=sha256:{hashes[name]}\n" for name, pin in pins.items())
        (self.world.folder / "stacks" / "lock.txt").write_text("".join(lines))

    def use(self, **changed: object) -> None:
        self.world.write(more=f'python: {{version: "{VERSION}", requirements: lock.txt}}', **changed)

    @contextmanager
    def site(self) -> Iterator[Site]:
        with site_of(self.world.ports, load(self.world.ports, self.world.selection)) as site:
            yield site

    def make(self) -> Path:
        """Make it; its folder."""
        with self.site() as site:
            make_environment(site)
            return Path(engine_python(site)).parent.parent

    def where(self) -> Path:
        with self.site() as site:
            return Path(engine_python(site)).parent.parent

    def is_wanted(self) -> bool:
        with self.site() as site:
            return bool(environment_wanted(site))

    def faults(self, folder: Path) -> tuple[str, ...]:
        with self.site() as site:
            return environment_faults(site, f"{folder}/bin/python")


@pytest.fixture
def workshop(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    wheels, uv = tmp_path / "wheels", tmp_path / "bin" / "uv"
    for folder in (wheels, uv.parent):
        folder.mkdir()
    uv.write_text("#!/bin/sh\necho this uv can do nothing >&2\nexit 2\n")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}:{os.environ['PATH']}")
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    for name, value in {"CONFIG_FILE": os.devnull, "NO_INDEX": "1", "FIND_LINKS": str(wheels), "RETRIES": "0"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    return Workshop(world, wheels, uv)


def blocking(workshop: Workshop) -> Path:
    """Let `uv` wait, the first time, until somebody opens this FIFO."""
    gate = workshop.uv.with_name("gate")
    os.mkfifo(gate)
    workshop.uv.write_text(
        f"#!/bin/sh\n[ -e {gate} ] || exit 2\necho Resolved 2 packages\ncat {gate}\nrm -f {gate}\nexit 2\n"
    )
    return gate


def in_background(what: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            what()
        except StackctlError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, failed


def test_it_is_made_once_and_says_what_it_is(workshop: Workshop) -> None:
    assert workshop.is_wanted()
    folder = workshop.make()
    python = folder / "bin" / "python"
    ask = "import alpha, beta, torch; print(alpha.LETTER + beta.LETTER, torch.__version__, alpha.__cached__)"
    said = subprocess.run([python, "-B", "-c", ask], capture_output=True, text=True, timeout=60, check=True).stdout
    letters, version, cached = said.split()
    assert (letters, version) == ("ab", "2.9.0+cpu") and Path(cached).exists()
    with workshop.site() as site:
        assert installed_torch(site) == {"version": "2.9.0+cpu", "sha256": workshop.hashes["torch"]}
    record = json.loads((folder / "stackctl-environment.json").read_text())
    assert record["installer"] == "pip" and "torch-2.9.0+cpu.dist-info" in record["distributions"]
    told = workshop.world.told.lines
    assert any("make the environment" in line and "3 packages" in line for line in told)
    assert any(line.startswith("here:") and " s  " in line for line in told)
    told.clear()
    assert workshop.make() == folder and not workshop.is_wanted() and told == []
    assert workshop.faults(folder) == ()
    damage(workshop, folder)


def damage(workshop: Workshop, whole: Path) -> None:
    """Everything that can be missing is named, in a copy."""
    folder = whole.parent / "environments" / "copy"  # a name that is one of ours
    shutil.copytree(whole, folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "alpha" / "__init__.py").write_text("")
    (site / "beta.py").unlink()
    assert workshop.faults(folder) == (
        f"{site}/alpha/__init__.py has another size than installed",
        f"{site}/beta.py is gone",
    )
    shutil.rmtree(site / "beta-2.0.dist-info")
    (site / "alpha-1.0.dist-info" / "RECORD").unlink()
    (folder / "bin" / "python").unlink()
    bare, gone, unreadable = workshop.faults(folder)
    assert bare == f"{folder}/bin/python is gone" and gone == "beta-2.0.dist-info is gone"
    assert unreadable.startswith(f"{site}/alpha-1.0.dist-info/RECORD cannot be read")
    (folder / "stackctl-environment.json").write_text("{")
    assert workshop.faults(folder) == (f"{folder}: no record, so it is half-built",)


def test_a_second_builder_waits_for_the_first(workshop: Workshop) -> None:
    gate = blocking(workshop)
    first, failed = in_background(workshop.make)
    log = workshop.where().with_suffix(".log")
    wait_for(lambda: log.exists() and "Resolved 2" in log.read_text(), 60)
    with workshop.site() as site:
        assert site.ask("environment", {"do": "build", "dir": str(workshop.where())}, b"{}") == {"started": False}
    second, also_failed = in_background(workshop.make)
    assert workshop.is_wanted()
    gate.write_text("")
    for thread in (first, second):
        thread.join(120)
    assert not failed and not also_failed and not workshop.is_wanted()
    assert log.read_text().count("making an environment") == 1


def test_one_that_was_killed_half_way_is_never_used(workshop: Workshop) -> None:
    gate = blocking(workshop)
    client, failed = in_background(workshop.make)
    folder = workshop.where()
    log = folder.with_suffix(".log")
    wait_for(lambda: log.exists() and "Resolved 2" in log.read_text(), 60)
    os.kill(int(folder.with_suffix(".building").read_text()), signal.SIGKILL)
    with workshop.site() as site:  # what it started still writes there
        assert site.ask("environment", {"do": "state", "dir": str(folder)})["state"] == "building"
    gate.write_text("")
    client.join(60)
    assert "its builder was killed; its last words: Resolved 2 packages" in str(failed[0])
    assert (folder / "bin" / "python").exists() and workshop.is_wanted()
    assert workshop.faults(folder) == (f"{folder}: no record, so it is half-built",)
    assert workshop.make() == folder and workshop.faults(folder) == ()


def test_what_does_not_match_its_hash_is_told_in_the_installers_words(workshop: Workshop) -> None:
    workshop.lock(beta="0" * 64)
    with pytest.raises(StackctlError) as refused:
        workshop.make()
    assert "DO NOT MATCH THE HASHES" in refused.value.message and "beta==2.0" in refused.value.message
    assert workshop.hashes["beta"] in refused.value.message and workshop.is_wanted()
    assert "begins anew" in (refused.value.hint or "")


def test_without_a_network_it_says_so(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # where nobody listens
    monkeypatch.setenv("PIP_RETRIES", "1")
    (workshop.wheels / "torch-2.9.0+cpu-py3-none-any.whl").unlink()
    with pytest.raises(StackctlError) as refused:
        workshop.make()
    assert "No matching distribution found for torch==2.9.0" in refused.value.message
    assert (refused.value.hint or "").startswith("No package index answers there.")


def test_a_python_that_is_not_there_is_told(workshop: Workshop) -> None:
    workshop.world.write(more='python: {version: "3.7", requirements: lock.txt}')
    with pytest.raises(StackctlError, match=r"no Python 3\.7 with venv here"):
        workshop.make()


@pytest.mark.net
def test_a_real_package_from_the_real_index(world: World) -> None:
    (world.folder / "stacks" / "lock.txt").write_text(REAL)
    world.write(more=f'python: {{version: "{VERSION}", requirements: lock.txt}}')
    with site_of(world.ports, load(world.ports, world.selection)) as site:
        make_environment(site)
        python = engine_python(site)
        assert environment_faults(site, python) == () and installed_torch(site) == {}
    subprocess.run([python, "-c", "import iniconfig"], check=True, timeout=60)


@pytest.mark.net
@pytest.mark.ssh
def test_on_another_machine_it_goes_on_without_a_connection(world: World) -> None:
    (world.folder / "stacks" / "lock.txt").write_text(REAL)
    world.write(more=f'python: {{version: "{VERSION}", requirements: lock.txt}}')
    stack = load(world.ports, world.selection)
    with ssh_host() as spec:
        bare = replace(spec, python=None)
        host = world.ports.hosts.open(bare)
        site = Site(world.ports, host, replace(stack, hosts={"here": bare}), spec.python or "")
        try:
            make_environment(site)
            python = engine_python(site)
            assert python.startswith("/var/lib/stackctl-demo/.local/share/stackctl/environments/")
            assert environment_faults(site, python) == ()
            assert host.run((python, "-c", "import iniconfig")).ok
        finally:
            host.run(("rm", "-rf", ".local/share/stackctl"))
            host.close()


def test_an_incomplete_one_starts_nothing(workshop: Workshop) -> None:
    world = workshop.world
    first = world.deploy()
    workshop.use(flags="page-size: 7")
    second = world.deploy()
    assert status(world.ports, world.selection).torch == f"2.9.0+cpu (sha256 {workshop.hashes['torch'][:12]})"
    (beta,) = workshop.where().glob("lib/python*/site-packages/beta.py")
    beta.unlink()
    wanted = f"the environment of .* is not whole: {beta} is gone"
    with pytest.raises(StackctlError, match=wanted):
        restart(world.ports, world.selection)
    with pytest.raises(StackctlError, match=wanted):
        rollback(world.ports, RollbackRequest(world.selection))
    with pytest.raises(StackctlError, match=wanted):
        world.deploy()
    workshop.use(flags="page-size: 8")
    with pytest.raises(StackctlError, match=wanted):
        world.deploy()
    assert world.answers() == second.release != first.release and world.is_free()

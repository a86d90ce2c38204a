"""What a host answers that is not what we hoped for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from stackctl.commands.deploying.holding import held
from stackctl.commands.site import Site, site_of
from stackctl.core.deploy.values import Release
from stackctl.core.stack.resolved import HostSpec, ResolvedStack
from stackctl.errors import StackctlError
from stackctl.ports import Completed, Host
from tests.core.deploy.releases import release
from tests.fakes import RepositoryTemplates, Told, fake_ports


class Answering:
    """`ports.Host` that gives one answer to every program."""

    def __init__(self, spec: HostSpec, code: int, stdout: str, stderr: str = "") -> None:
        self.spec = spec
        self._said = (code, stdout.encode(), stderr.encode())
        self.asked: list[tuple[str, ...]] = []
        self.closed = False

    def run(self, argv: Sequence[str], *, input: bytes = b"", timeout: float = 60.0) -> Completed:
        self.asked.append(tuple(argv))
        return Completed(tuple(argv), *self._said)

    def close(self) -> None:
        self.closed = True


class One:
    """`ports.Hosts` with one host."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def open(self, spec: HostSpec) -> Host:
        self._host.spec = spec
        found: Host = self._host
        return found


def stack() -> ResolvedStack:
    made: Release = release()
    return made.stack


def look(code: int, stdout: str, stderr: str = "") -> Site:
    host = Answering(stack().hosts["gpu1"], code, stdout, stderr)
    with site_of(fake_ports(hosts=One(host), templates=RepositoryTemplates()), stack()) as site:
        site.look()
    return site


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "words"),
    [
        (127, "", "sh: not found", "gpu1: there is no interpreter /opt/python"),
        (126, "", "", "gpu1: there is no interpreter /opt/python"),
        (1, "", "Traceback\nSyntaxError: invalid syntax\n", "gpu1: /opt/python failed there: SyntaxError: invalid"),
        (1, "", "OSError: [Errno 28] No space left on device\n", "^gpu1: No space left on device$"),
        (1, "", "PermissionError: [Errno 13] Permission denied: '/x'\n", "^gpu1: Permission denied: '/x'$"),
        (0, "Welcome to gpu1!", "", "gpu1: /opt/python failed there: exit 0"),
        (0, json.dumps({"platform": "darwin"}), "", "gpu1 runs darwin: stackctl deploys to Linux hosts only"),
        (0, json.dumps({"root": "/x"}), "", "was written by another version of stackctl"),
    ],
)
def test_each_is_told_with_the_hosts_name(code: int, stdout: str, stderr: str, words: str) -> None:
    with pytest.raises(StackctlError, match=words):
        look(code, stdout, stderr)


def test_the_connection_is_closed_whatever_happens() -> None:
    host = Answering(stack().hosts["gpu1"], 1, "")
    with (
        pytest.raises(ZeroDivisionError),
        site_of(fake_ports(hosts=One(host), templates=RepositoryTemplates()), stack()),
    ):
        raise ZeroDivisionError
    assert host.closed


def test_several_hosts_are_refused_and_so_is_one_without_interpreter() -> None:
    one = stack()
    far = replace(one.engines[1], host="gpu2")
    both = replace(one, engines=(one.engines[0], far), hosts={**one.hosts, "gpu2": one.hosts["gpu1"]})
    with (
        pytest.raises(StackctlError, match=r"several hosts \(gpu1, gpu2\): not in this version"),
        site_of(fake_ports(), both),
    ):
        pass
    bare = replace(one, hosts={"gpu1": replace(one.hosts["gpu1"], python=None)})
    host = Answering(bare.hosts["gpu1"], 0, "")
    with pytest.raises(StackctlError, match="gpu1 names no interpreter"), site_of(fake_ports(hosts=One(host)), bare):
        pass


class Leaving(Answering):
    """A host that is away after so many answers."""

    def __init__(self, answers: int) -> None:
        super().__init__(stack().hosts["gpu1"], 0, json.dumps({"taken": True}))
        self._left = answers

    def run(self, argv: Sequence[str], *, input: bytes = b"", timeout: float = 60.0) -> Completed:
        if self._left == 0:
            raise StackctlError("gpu1: nobody answers")
        self._left -= 1
        return super().run(argv, input=input, timeout=timeout)


@pytest.mark.parametrize(("answers", "lines"), [(0, 0), (1, 1)])
def test_a_hold_is_missed_only_where_it_was_taken(answers: int, lines: int) -> None:
    ports = fake_ports(hosts=One(Leaving(answers)), templates=RepositoryTemplates())
    with (
        pytest.raises(StackctlError, match="nobody answers"),
        site_of(ports, stack()) as site,
        held(site, "stackctl deploy"),
    ):
        raise StackctlError("nobody answers")
    told = cast(Told, ports.progress).lines
    assert len(told) == lines and all("could not be freed" in line and "hold release" in line for line in told)

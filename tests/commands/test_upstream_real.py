"""Tables of real releases: the given ones with no difference, and the numbers of those that are only counted."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stackctl.app import App
from stackctl.commands.base import fetch_base, pin_release
from stackctl.commands.linting.tables import upstream_of
from stackctl.core.upstream.values import Upstream
from tests.fakes import LocalFilesAt

pytestmark = [pytest.mark.slow, pytest.mark.net]
CASES = Path(__file__).parents[1] / "cases" / "flags"
# arguments, option strings | registered, ad hoc, own, deprecated | tool, reasoning, attention, quantization, moe
COUNTS = {
    "0.5.9": ((331, 341), (209, 153, 73, 12), (23, 14, 17, 23, 9)),
    "0.5.12": ((387, 402), (295, 168, 79, 12), (28, 21, 20, 28, 12)),
    "0.5.15": ((437, 451), (430, 189, 86, 19), (31, 23, 22, 32, 13)),
    "0.5.18": ((488, 506), (543, 219, 90, 29), (35, 27, 23, 32, 17)),
    "0.5.20": ((494, 513), (623, 245, 104, 35), (40, 32, 24, 31, 19)),
    "0.5.23": ((531, 559), (770, 245, 97, 18), (45, 37, 25, 31, 22)),
}
# its help says "Replaces the deprecated --grpc-mode": the given table takes it for deprecated itself
NOT_DEPRECATED = {"--smg-grpc-mode"}


@cache
def table(version: str, home: Path) -> Upstream:
    """Made anew: a kept one would show nothing."""
    ports = App().ports
    tree = fetch_base(ports, pin_release(ports, f"sglang=={version}"))
    return upstream_of(replace(ports, files=LocalFilesAt(home, home)), tree)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.mark.parametrize("version", ["0.5.12", "0.5.15", "0.5.23"])
def test_flags_are_the_given_ones(version: str, home: Path) -> None:
    given: list[dict[str, Any]] = json.loads((CASES / f"sglang-{version}.json").read_text())["flags"]
    read = {flag.name: flag for flag in table(version, home).flags}
    assert set(read) == {one["names"][0] for one in given}
    for one in given:
        flag = read[one["names"][0]]
        assert list(flag.names) == one["names"]
        assert (flag.dest, flag.nargs, flag.default, flag.required) == tuple(
            one[key] for key in ("dest", "nargs", "default", "required")
        ), flag.name
        wanted = None if one["choices"] is None else [str(each) for each in one["choices"]]
        assert (None if flag.choices is None else list(flag.choices)) == wanted, flag.name
        assert flag.deprecated is (one["deprecated"] and flag.name not in NOT_DEPRECATED), flag.name
        assert one["use"] in (None, flag.use) if "use" in one else True, flag.name


def test_variables_are_the_given_ones(home: Path) -> None:
    given = json.loads((CASES / "env-0.5.15.json").read_text())
    read = table("0.5.15", home).env.values()
    assert {one.name for one in read if one.registered} == set(given["registry"])
    assert {one.name for one in read if one.source == "ad hoc" and not one.indirect} == set(given["read_elsewhere"])
    old = {one.name: one.use for one in read if one.source == "deprecated"}
    assert set(old) == set(given["deprecated"])
    assert all(use in (None, old[name]) for name, use in given["deprecated"].items())


@pytest.mark.parametrize("version", COUNTS)
def test_numbers(version: str, home: Path) -> None:
    read = table(version, home)
    direct = [one for one in read.env.values() if one.source == "ad hoc" and not one.indirect]
    registries = ("tool-call-parser", "reasoning-parser", "attention-backend", "quantization", "moe-runner-backend")
    assert (
        (len(read.flags), len(read.by_name)),
        (
            sum(one.registered for one in read.env.values()),
            len(direct),
            sum(one.name.startswith(("SGLANG_", "SGL_")) for one in direct),
            sum(one.source == "deprecated" for one in read.env.values()),
        ),
        tuple(len(read.registries[name]) for name in registries),
    ) == COUNTS[version]
    assert (read.version, read.unknown) == (version, ())


@pytest.mark.parametrize(
    ("version", "generation"), [("0.5.12", "argparse"), ("0.5.15", "annotated"), ("0.5.20", "namespaces")]
)
def test_the_generation_is_told_from_the_tree(version: str, generation: str, home: Path) -> None:
    assert table(version, home).generation == generation

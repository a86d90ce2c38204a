"""The commands of the corpus, each finding compared, at the three releases whose right tables are given."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from packaging.version import Version

from stackctl.core.upstream.stored import history_from_json
from stackctl.core.upstream.values import EnvVar, History, Span, Upstream
from tests.core.lint.setups import TABLES, table
from tests.launch_corpus import FILES, Case, cases, said, wanted

HISTORY = Path(__file__).parents[3] / "stackctl" / "data" / "history.json"


@cache
def history() -> History:
    return history_from_json(HISTORY.read_bytes())


@cache
def tables(version: str) -> Upstream:
    """The given flags, and the variables that the history says this release has."""
    spans = history().env.items()
    env = {name: EnvVar(name, "registry") for name, lives in spans if any(_lives(one, version) for one in lives)}
    return replace(table(version), env=env)


def _lives(span: Span, version: str) -> bool:
    return Version(span.first) <= Version(version) and (span.gone is None or Version(version) < Version(span.gone))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(one, id=f"{one.id}-{one.version}-{one.card.arch if one.card else 'any'}")
        for version in TABLES
        for file in FILES
        for one in cases(version, file)
    ],
)
def test_every_error_and_warning_is_the_one_that_is_expected(case: Case) -> None:
    assert said(case, tables(case.version), history()) == wanted(case)


def test_the_corpus_is_whole() -> None:
    first, second = ([*cases("0.5.15", file)] for file in FILES)
    assert len({one.id for one in first}) == 36
    assert sum(len(wanted(one)) for one in first) > 30
    assert len({one.id for one in second}) == 47
    assert not {one.command for one in first} & {one.command for one in second}

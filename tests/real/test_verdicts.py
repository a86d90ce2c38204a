"""The test tells right from wrong on the real engine: the good queue, and the base's own defect.

A planted fault is found by test_bisect.py; tests/bench/cpu_table.py tries each at one request and at sixty.
"""

from __future__ import annotations

import pytest

from tests.real.conftest import Cli

pytestmark = [pytest.mark.real, pytest.mark.timeout(2400)]


def test_the_good_queue_is_clean(cli: Cli, stack: str) -> None:
    cli.ok("deploy", stack)
    report = cli.report("c60-toolcalls", stack, code=0)
    assert report["failed"] == 0 and report["requests"] >= report["needed"] > 200
    assert report["control"]["before"].endswith("clean")
    assert cli.report("text-and-call", stack, code=0)["failed"] == 0


def test_the_untouched_base_loses_text_before_a_call(cli: Cli, stack: str) -> None:
    variant = ("--without", "patch:parser/dsv4-keep-text")
    cli.ok("deploy", stack, *variant)
    report = cli.run("test", "text-and-call", stack, *variant, "--json")
    assert report.returncode in (1, 125)  # bad; or its control failed too, which the base does now and then
    assert "wrong_text" in report.stdout

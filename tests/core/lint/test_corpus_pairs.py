"""Public commands together with the roles that they were written for: pairs that are right, and one that is not."""

from __future__ import annotations

import pytest

from stackctl.core.command.findings import findings
from stackctl.core.command.launches import launches
from stackctl.core.command.setup import Ground, readings
from stackctl.core.command.shell import commands
from stackctl.core.command.words import Text
from stackctl.core.lint.catalogue import RULES
from stackctl.core.stack.source import parse
from stackctl.core.upstream.values import History
from tests.core.lint.setups import TABLES, table
from tests.launch_corpus import FILE

ROUTER = "python3 -m sglang_router.launch_router --host 127.0.0.1 --port 8000 --pd-disaggregation"
PAIRS = {
    "pr8063": ("pr8063-prefill", "pr8063-decode"),
    "mooncake": ("doc-pd-mooncake-prefill", "doc-pd-mooncake-decode"),
}


def command(name: str) -> str:
    listed = parse(FILE.name, FILE.read_bytes()).value["commands"]
    assert isinstance(listed, list)
    return next(str(one["command"]) for one in listed if one["id"] == name)


def told(script: list[str], version: str) -> list[tuple[str, str]]:
    """Errors and warnings of a script that starts all of these."""
    ground = Ground(table(version), History(()), None)
    found = readings(launches(commands(Text("serve.sh", " &\n".join(script)))), ground)
    every = [one for reading in found for one in findings(reading, RULES)]
    return [(one.rule, one.message) for one in every if one.severity in ("error", "warning")]


@pytest.mark.parametrize("version", TABLES)
@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_from_the_documentation_are_clean(pair: str, version: str) -> None:
    prefill, decode = (command(one) for one in PAIRS[pair])
    port = "30200" if pair == "pr8063" else "30001"
    router = f"{ROUTER} --prefill http://127.0.0.1:30000 8998 --decode http://127.0.0.1:{port}"
    assert told([prefill, decode, router], version) == []


@pytest.mark.parametrize("version", TABLES)
def test_a_bootstrap_port_that_the_router_was_not_told(version: str) -> None:
    prefill = command("i9266-glm-prefill")
    decode = prefill.replace("prefill", "decode").replace('--disaggregation-bootstrap-port "30089"', "--base-gpu-id 8")
    decode = decode.replace('--port "30000"', "--port 30001")
    urls = "--prefill http://10.0.0.1:30000 {} --decode http://10.0.0.2:30001"
    found = [
        one for one in told([prefill, decode, f"{ROUTER} {urls.format(8998)}"], version) if one[0].startswith("PD-")
    ]
    assert found == [
        ("PD-BOOTSTRAP-PAIR", "prefill bootstraps on port 30089, and the router tells decode 8998: no transfer begins")
    ]
    right = told([prefill, decode, f"{ROUTER} {urls.format(30089)}"], version)
    assert not [one for one in right if one[0].startswith("PD-")]

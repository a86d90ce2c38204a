"""Public commands together with the roles that they were written for: pairs that are right, and one that is not."""

from __future__ import annotations

import pytest

from stackctl.core.stack.source import parse
from stackctl.core.upstream.values import History
from tests.core.lint.setups import TABLES, table
from tests.launch_corpus import FILES, FOLDER, Case, said

ROUTER = "python3 -m sglang_router.launch_router --host 127.0.0.1 --port 8000 --pd-disaggregation"
PAIRS = {
    "pr8063": ("pr8063-prefill", "pr8063-decode", 30200),
    "mooncake": ("doc-pd-mooncake-prefill", "doc-pd-mooncake-decode", 30001),
}


def command(name: str) -> str:
    listed = parse(FILES[0], (FOLDER / FILES[0]).read_bytes()).value["commands"]
    assert isinstance(listed, list)
    return next(str(one["command"]) for one in listed if one["id"] == name)


def told(script: list[str], version: str) -> set[str]:
    """Rules that have an error or a warning for a script that starts all of these."""
    case = Case("pair", " &\n".join(script), version, None, None, frozenset())
    return set(said(case, table(version), History(())))


@pytest.mark.parametrize("version", TABLES)
@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_from_the_documentation_are_clean(pair: str, version: str) -> None:
    prefill, decode, port = PAIRS[pair]
    router = f"{ROUTER} --prefill http://127.0.0.1:30000 8998 --decode http://127.0.0.1:{port}"
    assert told([command(prefill), command(decode), router], version) == set()


@pytest.mark.parametrize("version", TABLES)
def test_a_bootstrap_port_that_the_router_was_not_told(version: str) -> None:
    prefill = command("i9266-glm-prefill")
    decode = prefill.replace("prefill", "decode").replace('--disaggregation-bootstrap-port "30089"', "--base-gpu-id 8")
    decode = decode.replace('--port "30000"', "--port 30001")
    router = f"{ROUTER} --prefill http://10.0.0.1:30000 8998 --decode http://10.0.0.2:30001"
    alone = told([prefill], version)
    assert told([prefill, decode, router], version) == alone | {"PD-BOOTSTRAP-PAIR"}
    assert told([prefill, decode, router.replace("8998", "30089")], version) == alone

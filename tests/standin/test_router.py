"""Prefill, decode and the real router: bursts of sixty on the good tree, and what is left after abort storms."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.standin import client, fleet

TREE = Path(__file__).resolve().parents[2] / "stacks/standin"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=[(fleet.TIER,), ()], ids=["tier", "no-tier"])
def served(request: pytest.FixtureRequest) -> Iterator[fleet.Fleet]:
    with fleet.pair(TREE, (*request.param, "--weight-version", "w9"), ("--weight-version", "w9")) as three:
        yield three


def test_the_router_takes_both_for_what_they_are(served: fleet.Fleet) -> None:
    workers = fleet.get(f"{served.url}/workers")["workers"]
    assert {(each["url"], each["worker_type"]) for each in workers} == {
        (served.prefill, "prefill"),
        (served.decode, "decode"),
    }


def test_sixty_at_once_are_all_right(served: fleet.Fleet) -> None:
    before = served.pools()["prefill"]
    assert client.bursts(served.url, [60, 60, 60]) == [Counter(ok=60)] * 3
    after = served.pools()["prefill"]
    tier = fleet.get(f"{served.prefill}/server_info")["enable_hierarchical_cache"]
    assert (after["evictions"] - before["evictions"] > 30) == tier


def test_four_prompts_fit_and_one_is_alone(served: fleet.Fleet) -> None:
    before = served.pools()["prefill"]["evictions"]
    assert client.bursts(served.url, [4, 1, 4]) == [Counter(ok=4), Counter(ok=1), Counter(ok=4)]
    assert served.pools()["prefill"]["evictions"] == before


def test_the_weight_version_comes_through_the_router(served: fleet.Fleet) -> None:
    async def ask() -> dict[str, object]:
        url = f"{served.url}/v1/chat/completions"
        async with client.connect() as session, session.post(url, json=client.body(client.wanted("w", 1))) as answer:
            return json.loads(await answer.text())  # type: ignore[no-any-return]

    assert asyncio.run(ask())["metadata"] == {"weight_version": "w9"}


def test_abort_storms_lose_no_page(served: fleet.Fleet) -> None:
    async def storm(finished: int) -> None:
        """36 of 60 hang up when so many have their answer; the rest must be right."""
        async with client.connect() as session:
            wanted = [client.wanted(f"storm-{finished}", number) for number in range(60)]
            tasks = [asyncio.create_task(client.ask(session, served.url, values)) for values in wanted]
            while sum(task.done() for task in tasks) < finished:
                await asyncio.wait([task for task in tasks if not task.done()], return_when=asyncio.FIRST_COMPLETED)
            for task in tasks[:36]:
                task.cancel()
            found = await asyncio.gather(*tasks, return_exceptions=True)
            assert set(found[36:]) == {"ok"}

    for finished in (0, 1, 6, 20):
        asyncio.run(storm(finished))
    assert client.bursts(served.url, [60]) == [Counter(ok=60)]
    for pool in served.pools().values():
        assert (pool["free"], pool["waiting"], pool["second_tier"]) == (pool["pages"], 0, 0)


def test_a_prompt_above_half_the_pool_is_a_400(served: fleet.Fleet) -> None:
    async def ask() -> tuple[int, str]:
        body = {"model": "m", "messages": [{"role": "user", "content": "x " * 20000}]}
        async with client.connect() as session, session.post(f"{served.url}/v1/chat/completions", json=body) as answer:
            return answer.status, await answer.text()

    status, text = asyncio.run(ask())
    assert status == 400, text

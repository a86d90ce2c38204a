"""A burst of chat requests, each with a nonce of its own, and one word on what came back."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import aiohttp

CITIES = ("Paris", "Lisbon", "Graz", "Turin", "Oslo")
PROPERTIES = {
    "nonce": {"type": "string"},
    "count": {"type": "integer"},
    "city": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}},
}


def _tool(name: str, text: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": PROPERTIES}
    return {"type": "function", "function": {"name": name, "description": text, "parameters": parameters}}


TOOLS = [_tool("record_nonce", "Store a reference."), _tool("look_up_city", "Find a city."), _tool("cancel", "Cancel.")]


def wanted(seed: str, number: int) -> dict[str, Any]:
    digest = hashlib.sha256(f"{seed}:{number}".encode()).hexdigest()
    values: dict[str, Any] = {"nonce": f"N-{digest[:11]}", "count": 10 + number, "city": CITIES[number % len(CITIES)]}
    return values | ({"tags": ["tram", "harbour"]} if number % 4 == 3 else {})


def order(values: dict[str, Any]) -> str:
    pairs = [f"{key} {json.dumps(value)}" for key, value in values.items()]
    words = f"{', '.join(pairs[:-1])} and {pairs[-1]}"
    return f"Call record_nonce exactly once with {words}. Do not write any text."


def body(values: dict[str, Any], **more: Any) -> dict[str, Any]:
    system = f"Visit {values['nonce']}. You keep the archive. " + "The archive keeps one line for every visit. " * 12
    messages = [{"role": "system", "content": system}, {"role": "user", "content": order(values)}]
    return {"model": "m", "messages": messages, "tools": TOOLS, "max_tokens": 256, "temperature": 0, **more}


async def ask(session: aiohttp.ClientSession, url: str, values: dict[str, Any]) -> str:
    """`ok`, `contaminated` (the nonce of another request), `damaged`, or `error STATUS`."""
    try:
        async with session.post(f"{url}/v1/chat/completions", json=body(values, stream=True)) as answer:
            text = await answer.text()
            return judge(text, values) if answer.status == 200 else f"error {answer.status}"
    except aiohttp.ClientError as error:
        return f"error {type(error).__name__}"


def judge(text: str, values: dict[str, Any]) -> str:
    said = reply(text)
    try:
        arguments = json.loads(said["arguments"])
    except ValueError:
        return "damaged"
    shape = (said["name"], said["content"], said["finish"])
    if arguments == values and shape == ("record_nonce", "", "tool_calls"):
        return "ok"
    nonce = arguments.get("nonce") if isinstance(arguments, dict) else None
    return "contaminated" if str(nonce).startswith("N-") and nonce != values["nonce"] else "damaged"


def reply(text: str) -> dict[str, str]:
    """A stream put together; a second call's text lands behind the first one's, and is no JSON then."""
    said = {"name": "", "arguments": "", "content": "", "finish": ""}
    for line in text.splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                said["finish"] = choice["finish_reason"] or said["finish"]
                said["content"] += choice["delta"].get("content") or ""
                for call in choice["delta"].get("tool_calls") or ():
                    for key in ("name", "arguments"):
                        said[key] += call["function"].get(key) or ""
    return said


def connect() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True))


async def one_burst(url: str, count: int, seed: str) -> Counter[str]:
    async with connect() as session:
        return Counter(await asyncio.gather(*(ask(session, url, wanted(seed, number)) for number in range(count))))


def bursts(url: str, sizes: Sequence[int], seed: str = "seed") -> list[Counter[str]]:
    """One burst after the other."""

    async def all_of_them() -> list[Counter[str]]:
        return [await one_burst(url, size, f"{seed}:{number}") for number, size in enumerate(sizes)]

    return asyncio.run(all_of_them())

"""What a release must answer before it counts as up: gate.json, made from what was rendered. onhost/probe.py asks it.

A gate that only asks /health would pass a deployment whose KV transfer is dead, or the old release; so it asks for
real generations through the router, and who answered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stackctl.core.deploy.record import RecordedLaunch
from stackctl.core.deploy.values import Release
from stackctl.core.stack.resolved import ResolvedStack
from stackctl.core.verify.cases import TOOLS
from stackctl.core.verify.expected import case
from stackctl.core.verify.expected import parse as parse_cases

TOOL = TOOLS[0]
COUNT, CITY = 42, "Paris"
CHARS_PER_TOKEN = 6  # more than any tokenizer needs for plain English, so that a long prompt is long enough
DEFAULT_CHUNK = 2048  # tokens, when the stack does not say
POOL_SHARE = 0.4  # of --max-total-tokens that one prompt may take
TINY_TOKEN = 4  # characters: the most that a token can be short of what was thought
SENTENCE = "The archive keeps one line for every visit and never changes it later. "
SKIPPED = frozenset({"host", "port", "weight-version"})


def gate_config(release: Release, launches: Sequence[RecordedLaunch], tree: str, sources: Sequence[str] = ()) -> str:
    """gate.json. `tree`: absolute folder of the tree on the host; `sources`: those of the other sources."""
    stack = release.stack
    config = {
        "release": release.id,
        "url": launches[-1].inside,
        "tree": tree,
        "sources": list(sources),
        "probe": stack.timeouts.probe,
        "launches": [
            {
                "instance": launch.instance,
                "role": launch.role,
                "url": launch.url,
                "ask": launch.inside,
                "ready": "/liveness" if launch.role == "router" else "/health",
                "expect": {} if launch.role == "router" else expected(launch.argv),
            }
            for launch in launches
        ],
        "requests": asked(stack, launches),
        **({} if stack.model.pins is None else {"model": stack.model.path}),
    }
    return json.dumps(config, indent=1, sort_keys=True) + "\n"


def asked(stack: ResolvedStack, launches: Sequence[RecordedLaunch]) -> list[dict[str, object]]:
    """Tool calls with nonces; for a model that cannot do as it is told, prompts whose answers are known."""
    if stack.gate.cases is None:
        return requests(stack.gate.requests, stack.model.name, long_prompt(launches))
    entries = parse_cases(stack.gate.cases, stack.gate.expect or "")
    return [_known(entry, stack.model.name, stream=n > 0) for n, entry in enumerate(entries[: stack.gate.requests])]


def _known(entry: Mapping[str, Any], model: str, *, stream: bool) -> dict[str, object]:
    known = case(entry, model, str(entry["id"]))
    calls = [[call.name, call.arguments] for call in known.known.expected]
    text = known.known.answer.content if known.known.answer else None
    body = {**json.loads(known.body), "stream": stream}
    if not stream:
        body.pop("stream_options", None)
    expect = {"calls": calls, "finish": entry["expect"]["finish"], "text": text}
    return {"name": f"case {entry['id']}", "body": body, "expect": expect}


def expected(argv: Sequence[str]) -> dict[str, bool | str | list[str]]:
    """Flags of a command line as /server_info names them: `--tp-size 4` -> tp_size "4"; a bare flag is true."""
    found: dict[str, bool | str | list[str]] = {}
    for flag, values in flags_of(argv).items():
        if flag not in SKIPPED:
            found[flag.replace("-", "_")] = True if not values else values[0] if len(values) == 1 else list(values)
    return found


def flags_of(argv: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Long options with the words that follow them, `--x=y` too; a repeated one replaces, as argparse does."""
    found: dict[str, tuple[str, ...]] = {}
    name = ""
    for word in argv:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found[name] = (value,) if equals else ()
        elif name:
            found[name] = (*found[name], word)
    return found


def long_prompt(launches: Sequence[RecordedLaunch]) -> int:
    """Tokens of a prompt that is longer than a page and than the prefill chunk, but fits into the pool."""
    flags = [flags_of(launch.argv) for launch in launches if launch.role != "router"]

    def largest(name: str) -> int:
        return max((int(values[0]) for item in flags for values in (item.get(name, ()),) if _number(values)), default=0)

    wanted = max(largest("page-size"), largest("chunked-prefill-size") or DEFAULT_CHUNK) + 100
    pools = [int(item["max-total-tokens"][0]) for item in flags if _number(item.get("max-total-tokens", ()))]
    fits = int(min(pools) * POOL_SHARE * TINY_TOKEN / CHARS_PER_TOKEN) if pools else wanted
    return min(wanted, fits)


def _number(values: Sequence[str]) -> bool:
    return len(values) == 1 and values[0].isdigit()


def requests(count: int, model: str, long: int) -> list[dict[str, object]]:
    """One that is not streamed (only those say which release answered), a long one, then plain ones; at least three."""
    asked = [_request("not streamed", model, "", stream=False)]
    asked.append(_request("long prompt", model, SENTENCE * (1 + long * CHARS_PER_TOKEN // len(SENTENCE)), stream=True))
    return asked + [_request(f"stream {n}", model, "", stream=True) for n in range(1, max(2, count - 1))]


def _request(name: str, model: str, before: str, *, stream: bool) -> dict[str, object]:
    ask = f'Call record_nonce exactly once with nonce "N-{{nonce}}", count {COUNT} and city "{CITY}".'
    body: dict[str, object] = {
        "model": model,
        # the nonce comes first: a prefix that an earlier gate left in a cache must not answer for the rest
        "messages": [{"role": "user", "content": f"Reference {{nonce}}. {before}{ask} Do not write any text."}],
        "tools": [TOOL],
        "temperature": 0,
        "max_tokens": 256,
    }
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    arguments = {"nonce": "N-{nonce}", "count": COUNT, "city": CITY}
    expect = {"calls": [["record_nonce", arguments]], "finish": "tool_calls"}
    return {"name": name, "body": body, "expect": expect}

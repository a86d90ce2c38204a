"""Generated prompts: one obvious tool call each, with a nonce that no other request has.

Pure: a seed and a counter make the prompt, the request body and the right answer. The tool is offered beside
distractors with `tool_choice: auto`; forcing it would switch to grammars that hide damage. The prompts never
mention markup.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackctl.core.verify import text as texts
from stackctl.core.verify.known import ExpectedCall, Known, Tool
from stackctl.core.verify.nonces import nonce, number

ARMS = ("private-prefix", "shared-prefix", "mixed-lengths", "abort")
CITIES = ("Paris", "Lisbon", "Graz", "Turin", "Oslo", "Quito", "Bergen", "Porto", "Lyon", "Malmo", "Ghent", "Basel")
TAGS = ("harbour", "tram", "market", "museum", "bridge", "garden", "station", "tower")
CHARS_PER_TOKEN = 4
# of 16 requests of the arm mixed-lengths, which of the lengths: mostly short ones, one of the longest
_LENGTH_OF = (0, 1, 0, 2, 0, 1, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1)


def _tool(name: str, description: str, properties: Mapping[str, Any], required: Sequence[str]) -> Tool:
    parameters = {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS: tuple[Tool, ...] = (
    _tool(
        "record_nonce",
        "Store one reference with a count and a city.",
        {
            "nonce": {"type": "string"},
            "count": {"type": "integer"},
            "city": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        ("nonce", "count", "city"),
    ),
    _tool("look_up_city", "Find a city.", {"city": {"type": "string"}}, ("city",)),
    _tool("cancel_order", "Cancel an order by its number.", {"order": {"type": "string"}}, ("order",)),
    _tool("list_rooms", "List the free rooms of a house.", {"house": {"type": "string"}}, ("house",)),
)

_SENTENCES = (
    "The archive keeps one line for every visit and never changes it later.",
    "A clerk reads the reference aloud, writes it down and reads it once more.",
    "Counts are whole numbers; a city is written as its people write it.",
    "Nothing is guessed: what the visitor says is what the line holds.",
    "In the evening the lines are bound, and the next morning starts a new sheet.",
    "When two visitors come at once, each of them gets a sheet of his own.",
    "Old sheets lie in the cellar, in the order in which they were bound.",
    "Whoever looks for a line asks for its reference and for nothing else.",
)
_SHARED = 2400  # characters that all prompts of the arm shared-prefix have in common: more than two pages


@dataclass(frozen=True)
class Case:
    """One request to send and what must come back. `group`: prompts of about one length, for the control."""

    known: Known
    body: bytes
    arm: str
    group: str


@dataclass(frozen=True)
class Recipe:
    """What all generated requests of a run have in common."""

    seed: str
    model: str
    max_tokens: int = 256
    lengths: tuple[int, ...] = (200, 2000, 8000, 32000)


def case(recipe: Recipe, arm: str, counter: int, request_id: str) -> Case:
    """Request `counter` of the run: its nonce stands at the start (not for a shared prefix), middle and end."""
    own = nonce(recipe.seed, counter)
    arguments = _arguments(recipe.seed, counter, own)
    messages, group = _messages(recipe, arm, counter, own)
    messages[-1]["content"] += order("record_nonce", arguments)
    known = Known(
        id=request_id,
        expected=(ExpectedCall("record_nonce", arguments),),
        tools=TOOLS,
        max_tokens=recipe.max_tokens,
        nonce=own,
        case=request_id,
        scripts=texts.scripts("".join(m["content"] for m in messages)),
    )
    return Case(known, body(recipe.model, messages, recipe.max_tokens, TOOLS), arm, group)


def _arguments(seed: str, counter: int, own: str) -> dict[str, Any]:
    value = number(seed, counter, "arguments")
    arguments: dict[str, Any] = {"nonce": own, "count": 10 + value % 90, "city": CITIES[value // 90 % len(CITIES)]}
    if counter % 4 == 3:  # array leaves find other bugs than plain ones
        first = value // 2000 % len(TAGS)
        arguments["tags"] = [TAGS[first], TAGS[(first + 3) % len(TAGS)]]
    return arguments


def order(tool: str, arguments: Mapping[str, Any]) -> str:
    """The sentence that asks for the call: `Call T exactly once with nonce "N-…", count 42 and city "Paris". …`"""
    pairs = [f"{k} {json.dumps(v, ensure_ascii=False, separators=(',', ':'))}" for k, v in arguments.items()]
    words = ", ".join(pairs[:-1]) + (" and " if pairs[:-1] else "") + pairs[-1]
    return f"Call {tool} exactly once with {words}. Do not write any text."


def _filler(characters: int, offset: int) -> str:
    sentences: list[str] = []
    size = 0
    while size < characters:
        sentences.append(_SENTENCES[(offset + len(sentences)) % len(_SENTENCES)])
        size += len(sentences[-1]) + 1
    return " ".join(sentences)


def _messages(recipe: Recipe, arm: str, counter: int, own: str) -> tuple[list[dict[str, str]], str]:
    if arm == "shared-prefix" or (arm == "abort" and counter % 2):
        system = "You keep the archive. " + _filler(_SHARED, 0)
        return [_message("system", system), _message("user", f"This visit has the reference {own}. ")], arm
    characters, group = 640, arm
    if arm == "mixed-lengths":
        which = min(_LENGTH_OF[counter % len(_LENGTH_OF)], len(recipe.lengths) - 1)
        characters, group = recipe.lengths[which] * CHARS_PER_TOKEN, f"{arm}-{recipe.lengths[which]}"
    half = _filler(characters // 2, counter)
    system = f"Visit {own}. You keep the archive. {half} The reference of this visit is {own}. {half}"
    return [_message("system", system), _message("user", "")], group


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def body(model: str, messages: Sequence[Mapping[str, Any]], max_tokens: int, tools: Sequence[Tool]) -> bytes:
    """A streamed chat request, greedy, with usage; the same values give the same bytes."""
    fields: dict[str, Any] = {
        "model": model,
        "messages": list(messages),
        "max_tokens": max_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if tools:
        fields |= {"tools": list(tools), "tool_choice": "auto"}
    return json.dumps(fields, ensure_ascii=False).encode()


def canary(model: str) -> bytes:
    """A tiny request that is not streamed: does the engine still make tokens?"""
    message = _message("user", "Say yes.")
    return json.dumps({"model": model, "messages": [message], "max_tokens": 8, "temperature": 0}).encode()

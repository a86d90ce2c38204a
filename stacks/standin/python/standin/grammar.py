"""The "model": it makes the calls that the last user turn of a prompt asks for, and nothing else.

    Call NAME … with KEY VALUE, KEY VALUE and KEY VALUE.

NAME is a tool that the prompt offers, KEY a name, VALUE a JSON value: "text", number, true, false, null, list,
object. It does not think, sample, or know any other language.
"""

from __future__ import annotations

import json
import re

from standin.tokens import MARK

NO_CALL = "I make the calls that a prompt asks for; this one asks for none."
REASONING = "The turn says which call to make."

_CALL = re.compile(r"\bCall\s+([A-Za-z_][\w.-]*)")
_KEY = re.compile(r"(?:\s|,|\band\b)*([A-Za-z_]\w*)\s+(?=[\"\[{\d-]|true\b|false\b|null\b)")
_TURN = re.compile(r"<｜User｜>((?:(?!<｜User｜>).)*)<｜Assistant｜>(<think>|</think>)?\s*\Z", re.DOTALL)
_JSON = json.JSONDecoder()

Call = tuple[str, dict[str, object]]


def answer_to(prompt: str) -> str:
    """What the model says after a rendered prompt: reasoning if the prompt opens it, then markup or a sentence."""
    turn = _TURN.search(prompt)
    if turn is None:
        return NO_CALL
    calls = [call for call in calls_of(turn[1]) if f'{{"name": "{call[0]}"' in prompt]
    said = render(calls) if calls else NO_CALL
    return f"{REASONING}</think>{said}" if turn[2] == "<think>" else said


def calls_of(text: str) -> list[Call]:
    """Every `Call NAME …` of a text, in order; a call without `with` has no arguments."""
    starts = list(_CALL.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return [(start[1], _arguments(text[start.end() : end])) for start, end in zip(starts, ends, strict=False)]


def _arguments(text: str) -> dict[str, object]:
    found: dict[str, object] = {}
    opening = re.search(r"\bwith\b", text)
    at = opening.end() if opening else len(text)
    while key := _KEY.match(text, at):
        try:
            found[key[1]], at = _JSON.raw_decode(text, key.end())
        except json.JSONDecodeError:
            break
    return found


def render(calls: list[Call]) -> str:
    """DeepSeek-V4's markup: strings as they are, all else as JSON."""
    lines = [f"<{MARK}tool_calls>"]
    for name, arguments in calls:
        lines.append(f'<{MARK}invoke name="{name}">')
        lines += [_parameter(key, value) for key, value in arguments.items()]
        lines.append(f"</{MARK}invoke>")
    return "\n".join([*lines, f"</{MARK}tool_calls>"])


def _parameter(key: str, value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    kind = "true" if isinstance(value, str) else "false"
    return f'<{MARK}parameter name="{key}" string="{kind}">{text}</{MARK}parameter>'

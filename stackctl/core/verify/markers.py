"""Tool-call markup of many model families, as data, and the search for it in text that a client can see.

Markup that reaches a client is a leak, whole or damaged: other bars, doubled or lost bars, a lost `<`, a lost DSML
token. Words about tools in prose are no markup. It looks at output only; prompts legitimately hold markers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

BARS = "|｜‖│∣ǀ￨"  # ASCII, U+FF5C, U+2016, U+2502, U+2223, U+01C0, U+FFE8

# Canonical spellings. `|` stands for any bar, `_` inside bars also for U+2581.
FAMILIES: dict[str, tuple[str, ...]] = {
    "deepseek-v3": (
        "<|tool_calls_begin|>", "<|tool_calls_end|>", "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_sep|>",
        "<|tool_outputs_begin|>", "<|tool_outputs_end|>", "<|tool_output_begin|>", "<|tool_output_end|>",
    ),
    "deepseek-v4": (
        "<tool_calls>", "</tool_calls>", "<function_calls>", "</function_calls>", "<tool_result>", "</tool_result>",
        "<|begin_of_sentence|>", "<|end_of_sentence|>", "<|User|>", "<|Assistant|>",
    ),
    "kimi": (
        "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_argument_begin|>",
        "<|open|>", "<|sep|>", "<|close|>",
    ),
    "hermes": ("<tool_call>", "</tool_call>", "</function>", "</parameter>"),
    "glm": ("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<|observation|>"),
    "minimax": ("<minimax:tool_call>", "</minimax:tool_call>", "]<]minimax[>[", "</invoke>"),
    "gpt-oss": (
        "<|channel|>", "<|start|>", "<|message|>", "<|call|>", "<|return|>", "<|constrain|>", "<|end|>",
    ),
    "llama": ("<|python_tag|>", "<|eot_id|>", "<|eom_id|>", "<|start_header_id|>", "<|end_header_id|>"),
    "mistral": ("[TOOL_CALLS]", "[/TOOL_CALLS]"),
    "chatml": ("<|im_start|>", "<|im_end|>", "<|endoftext|>"),
    "gemma": ("<|tool_call>", "<tool_call|>"),
    "lfm2": ("<|tool_call_start|>",),
    "cohere": ("<|START_ACTION|>", "<|END_ACTION|>"),
    "internlm": ("<|action_start|>", "<|action_end|>"),
    "dots": ("<dots_function_call>", "</dots_function_call>"),
    "muse": ("<atem:function_calls>", "</atem:function_calls>"),
    "iquest": ("<iquest_tool_call>", "</iquest_tool_call>"),
    "apertus": ("<|tools_prefix|>", "<|tools_suffix|>"),
    "k2-v3": ("<ifm|tool_call>", "</ifm|tool_call>"),
}  # fmt: skip

_BAR = f"[{re.escape(BARS)}]"

# What is no fixed spelling: tags with names in them, and the DSML token in all its damage.
PATTERNS: dict[str, tuple[str, ...]] = {
    "deepseek-v4": (
        rf"</?{_BAR}*DSML{_BAR}*\s?(?:tool_calls|function_calls|invoke|parameter|calls)\b",
        rf"{_BAR}+DSML{_BAR}+",
        rf"</?{_BAR}+DSML|</?DSML{_BAR}+",
        r"DSML(?:tool_calls|function_calls|invoke\s+name=|parameter\s+name=)",
        rf"</?{_BAR}+\s?(?:tool_calls|function_calls|calls|invoke|parameter)\b",
        r"<(?:invoke|parameter)\s+name=",
    ),
    "gigachat": (rf"{_BAR}+GCML{_BAR}+", r"</?GCML(?:tool_calls|invoke|parameter)"),
    "qwen-coder": (r"<function=[\w.\-]+>", r"<parameter=[\w.\-]+>"),
}

THINK = re.compile(r"</?think>")


@dataclass(frozen=True)
class Hit:
    """A marker at `start:end` of the text that was searched."""

    family: str
    start: int
    end: int


def _spelling(marker: str) -> str:
    """One canonical spelling with its damages, as a pattern."""
    barred = re.fullmatch(r"<\|([\w]+)\|>", marker)
    if not barred:
        return re.escape(marker).replace(r"\|", f"{_BAR}+")
    word = re.escape(barred[1]).replace("_", "[_▁]")
    damaged = rf"<?{_BAR}+{word}{_BAR}+>"
    # without bars only where the word alone is no word of a language
    return damaged + (rf"|<{_BAR}*{word}{_BAR}*>" if "_" in barred[1] else "")


def _pattern(parts: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{part})" for part in parts))


_COMPILED = {
    family: _pattern([*map(_spelling, FAMILIES.get(family, ())), *PATTERNS.get(family, ())])
    for family in (*FAMILIES, *(f for f in PATTERNS if f not in FAMILIES))
}
_CAN_BEGIN = re.compile(f"[<\\]\\[{re.escape(BARS)}]|DSML")


def find_marker(text: str) -> Hit | None:
    """The first marker of any family. Search accumulated text: one event alone seldom holds a whole marker."""
    if not _CAN_BEGIN.search(text):
        return None
    hits = [
        Hit(family, match.start(), match.end())
        for family, pattern in _COMPILED.items()
        if (match := pattern.search(text))
    ]
    return min(hits, key=lambda hit: (hit.start, -hit.end), default=None)


def find_think(text: str) -> Hit | None:
    """A tag of the reasoning channel where a client can see it."""
    match = THINK.search(text)
    return Hit("think", match.start(), match.end()) if match else None

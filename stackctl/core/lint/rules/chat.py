"""Rules on what renders the prompt and what reads the answer: chat template, tool-call parser and reasoning parser.

A wrong one of these starts, serves, and answers worse: calls are not found, or the model reads a prompt that it was
not trained on. Nothing is said where the model is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stackctl.core.lint.known.asked import at_flag
from stackctl.core.lint.known.evidence import source
from stackctl.core.lint.known.prompt import ENCODERS, FORCED, decides, encoder_of, generation, known, renderer
from stackctl.core.lint.known.wording import engine
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.lint.values import Hit, Rule

TOOL, REASONING = "tool-call-parser", "reasoning-parser"
PAIRS: Final = {  # the encoder of a model -> tool-call parser, reasoning parser
    "dsv4": ("deepseekv4", "deepseek-v4"),
    "dsv41": ("deepseekv41", "deepseek-v41"),
}
CONFUSED: Final = ("dsv4", "dsv41", "dsv32")  # generations of one maker, whose names are taken for each other
SERVING_CHAT: Final = source("0.5.15", "srt/entrypoints/openai/serving_chat.py#L291")
ENCODING: Final = source("0.5.23", "srt/entrypoints/openai/chat_encoding.py")
REASONING_PARSERS: Final = source("0.5.15", "srt/parser/reasoning_parser.py#L1080")


def _template_ignored(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        found = renderer(setup, process)
        if found is None or not found.ignored or found.template is None:
            continue
        other = generation(found.template)
        misfit = other is not None and other not in ENCODERS[found.kind].split()
        yield Hit(
            f"{found.template} does not shape the prompt: {engine(setup)} renders it with {ENCODERS[found.kind]}, "
            f"because {found.by}" + (f"; and the template is one for {other}" if misfit else ""),
            at_flag(process, "chat-template"),
            "leave it out (in a stack `chat_template: native`): the encoder is part of sglang",
        )


def _template_replaces(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        wanted, found = encoder_of(setup, process), renderer(setup, process)
        if wanted is not None and found is not None and found.kind == "conversation":
            yield Hit(
                f"{found.template} is a conversation template, and it goes before {ENCODERS[wanted]}: the prompt is "
                "not the one that the model was trained on",
                at_flag(process, "chat-template"),
                "leave it out (in a stack `chat_template: native`)",
            )


def _forces_encoding(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        parser, wanted = process.text(TOOL), encoder_of(setup, process)
        if parser not in FORCED or not decides(setup, process, parser):
            continue
        kind = FORCED[parser][0]
        if kind not in CONFUSED:
            continue
        if wanted in PAIRS and kind != wanted:
            right = PAIRS[wanted][0]
        elif setup.model.family in ("deepseek-v3", "deepseek-v3.2") and kind != "dsv32":
            right = "deepseekv32 or deepseekv31, as the model is"
        else:
            continue
        yield Hit(
            f"tool-call parser {parser} makes {engine(setup)} render the prompt with {ENCODERS[kind]}, whatever the "
            f"model: the wrong prompt for {setup.model.architecture or setup.model.family}",
            at_flag(process, TOOL),
            f"write {right}",
        )


def _pair(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        yield from _other_kind(process, TOOL, REASONING)
        yield from _other_kind(process, REASONING, TOOL)
        kind = encoder_of(setup, process)
        if kind in PAIRS:
            yield from _not_the_pair(setup, process, PAIRS[kind])


def _other_kind(process: Process, name: str, other: str) -> Iterator[Hit]:
    """A tool-call parser by the name of a reasoning parser, or the other way round."""
    value, own, others = process.text(name), known(process, name), known(process, other)
    if process.given(name) is None or value is None or not own or value in own or value not in others:
        return
    near = sorted(one for one in own if _plain(one) == _plain(value))
    right = f"write {near[0]}" if near else f"--{name} takes other names than --{other}"
    yield Hit(f"{value} is a {_said(other)}, not a {_said(name)}", at_flag(process, name), right, "error")


def _not_the_pair(setup: Setup, process: Process, pair: tuple[str, str]) -> Iterator[Hit]:
    for name, right in zip((TOOL, REASONING), pair, strict=True):
        value, names = process.text(name), known(process, name)
        if value in (None, "auto", right) or value not in names or right not in names:
            continue
        if name == TOOL and value in FORCED:
            continue  # it decides the prompt too: PARSER-FORCES-ENCODING
        sibling = name == REASONING and value == "deepseek-v3"
        if sibling and setup.version is None:
            continue
        same = sibling and setup.at("<0.5.17")
        what = "is the same class as it here, and another one from 0.5.17 on" if same else "looks for other marks"
        yield Hit(
            f"the model answers in the form of {right}; {_said(name)} {value} {what}",
            at_flag(process, name),
            f"write {right}",
            "info" if same else None,
        )


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _said(name: str) -> str:
    return name.replace("-parser", " parser")


RULES = (
    Rule(
        "CHAT-TEMPLATE-IGNORED",
        "warning",
        _template_ignored,
        "a chat template beside a parser or a model that has an encoder of its own",
        "From 0.5.12 on the tool-call parser decides first (deepseekv4, deepseekv32, deepseekv41, kimi_k3), then the "
        "architecture; once one of them has chosen an encoder, a Jinja template no longer makes the prompt. It is "
        "still read to guess the form of message parts and of thinking, so it is not harmless either.",
        (SERVING_CHAT, ENCODING),
    ),
    Rule(
        "CHAT-TEMPLATE-REPLACES",
        "warning",
        _template_replaces,
        "a conversation template before a model's own encoder",
        "A built-in name (chatml, llama-2 …) or a .json file is taken before parser and architecture are asked. A "
        ".jinja file is not.",
        (
            source("0.5.15", "srt/entrypoints/openai/serving_chat.py#L708"),
            source("0.5.15", "srt/managers/template_manager.py"),
        ),
    ),
    Rule(
        "PARSER-FORCES-ENCODING",
        "error",
        _forces_encoding,
        "the tool-call parser of another DeepSeek generation",
        "From 0.5.12 on the parser chooses the prompt before the model is looked at: deepseekv32 on V4 opens tool "
        "blocks with `function_calls`, V4 was trained on `tool_calls`. It serves, and calls tools worse.",
        (SERVING_CHAT, ENCODING),
    ),
    Rule(
        "PARSER-PAIR",
        "warning",
        _pair,
        "tool-call and reasoning parser that do not belong together",
        "Tool-call parsers are spelled without a hyphen (deepseekv4), reasoning parsers with one (deepseek-v4). "
        "The class of deepseek-v4 is that of deepseek-v3 up to 0.5.16 and its own from 0.5.17 on.",
        (REASONING_PARSERS, source("0.5.15", "srt/function_call/function_call_parser.py")),
    ),
)

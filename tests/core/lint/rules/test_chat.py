"""What renders the prompt, by parser, model, template and release, and what rules say of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stackctl.core.lint.known.prompt import generation, missing_template, renderer
from stackctl.core.lint.rules import chat
from stackctl.core.lint.setup import ModelView
from tests.core.lint.heard import Case, asked, judged
from tests.core.lint.rows import STACK
from tests.core.lint.setups import setup, table

RULES = chat.RULES
UNKNOWN = ModelView("/models/m")
V32 = ModelView("/models/DeepSeek-V3.2", "deepseek-v3.2", source="name")
V41 = ModelView("/models/V4.1", "deepseek-v4.1", source="stack")
GLM = ModelView("/models/GLM-5", "glm-dsa", source="name")
BARE, TEMPLATED = replace(V32, has_chat_template=False), replace(V32, has_chat_template=True)
KIMI = ModelView("/models/k3", architecture="KimiK3ForConditionalGeneration", source="folder")
V4, V4_PARSER = ModelView("/models/DeepSeek-V4-Flash", "deepseek-v4", source="name"), "--tool-call-parser deepseekv4"
V32_PARSER = "--tool-call-parser deepseekv32"
TEMPLATE = "--chat-template examples/chat_template/tool_chat_template_deepseekv32.jinja"


@pytest.mark.parametrize(
    ("version", "model", "command", "kind"),
    [
        # the tool-call parser first
        ("0.5.15", UNKNOWN, V4_PARSER, "dsv4"),
        ("0.5.15", V32, V4_PARSER, "dsv4"),
        ("0.5.15", V4, V32_PARSER, "dsv32"),
        ("0.5.12", UNKNOWN, V4_PARSER, "dsv4"),
        ("0.5.11", TEMPLATED, V32_PARSER, "jinja"),
        ("0.5.12", TEMPLATED, V32_PARSER, "dsv32"),
        ("0.5.23", UNKNOWN, "--tool-call-parser deepseekv41", "dsv41"),
        # then the architecture
        ("0.5.15", V4, "", "dsv4"),
        ("0.5.15", V4, "--tool-call-parser qwen", "dsv4"),
        ("0.5.20", V41, "", "dsv4"),
        ("0.5.21", V41, "", "dsv41"),
        ("0.5.23", V41, V4_PARSER, "dsv4"),
        ("0.5.17", KIMI, "", "kimi_k3"),
        ("0.5.16", KIMI, "", None),
        # then DeepSeek-V3 without a template
        ("0.5.9", BARE, "", "dsv32"),
        ("0.5.15", BARE, "", "dsv32"),
        ("0.5.15", BARE, TEMPLATE, "jinja"),
        ("0.5.15", TEMPLATED, "", "jinja"),
        ("0.5.15", V32, "", None),
        # else Jinja
        ("0.5.15", GLM, "", "jinja"),
        ("0.5.15", UNKNOWN, "", None),
        # a template changes nothing of that, unless it is a conversation template
        ("0.5.15", V4, TEMPLATE, "dsv4"),
        ("0.5.15", V4, "--chat-template chatml", "conversation"),
        ("0.5.15", V4, "--chat-template /t/v4.json --tool-call-parser deepseekv4", "conversation"),
        ("0.5.15", V4, "--chat-template /t/v4.txt", None),
        ("0.5.15", V4, "--chat-template v4.j2", None),
        # a parser that is guessed from the template
        ("0.5.15", V4, TEMPLATE + " --tool-call-parser auto", None),
        ("0.5.15", V4, "--tool-call-parser auto", "dsv4"),
    ],
)
def test_what_renders_the_prompt(version: str, model: ModelView, command: str, kind: str | None) -> None:
    made = setup(version=version, model=model, single=command)
    found = renderer(made, made.processes[0])
    assert (found.kind if found else None) == kind


def test_a_fork_without_a_release_shows_by_its_parsers_what_it_knows() -> None:
    blind = replace(table(), version=None)
    made = replace(setup(model=V4, single=f"{V4_PARSER} {TEMPLATE}"), upstream=blind)
    judged(made, Case("CHAT-TEMPLATE-IGNORED", {}, "chat-template@single-0", ("this sglang",), "warning"), RULES)
    older = tuple(replace(one, choices=("deepseekv32",)) if one.choices else one for one in blind.flags)
    without = replace(blind, flags=older)
    made = replace(made, upstream=without, processes=tuple(replace(one, table=without) for one in made.processes))
    assert renderer(made, made.processes[0]) is None


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tool_chat_template_deepseekv32.jinja", "DeepSeek-V3.2"),
        ("tool_chat_template_deepseekv31.jinja", "DeepSeek-V3.1"),
        ("tool_chat_template_deepseekv3.jinja", "DeepSeek-V3"),
        ("tool_chat_template_deepseekr1.jinja", "DeepSeek-R1"),
        ("DeepSeek-V4.jinja", "DeepSeek-V4"),
        ("deepseek-v4.1.jinja", "DeepSeek-V4.1"),
        ("chat_template.jinja", None),
        ("r1.jinja", None),
    ],
)
def test_a_templates_name(name: str, told: str | None) -> None:
    assert generation(name) == told


@pytest.mark.parametrize(
    ("name", "parser", "words"),
    [
        ("tool_chat_template_deepseekv32.jinja", "deepseekv4", "write `chat_template: native`"),
        ("tool_chat_template_llama4.jinja", "llama3", "not in its wheel"),
        ("mine.jinja", "qwen", None),
        ("mine.jinja", None, None),
    ],
)
def test_a_template_that_is_not_there(name: str, parser: str | None, words: str | None) -> None:
    told = missing_template(name, parser)
    assert told is None if words is None else words in (told or "")


def chat(rule: str, command: str, place: str = "", *says: str, severity: str = "warning", **more: Any) -> Case:
    return Case(rule, {"single": command}, place and f"{place}@single-0", says, severity, {"model": V4, **more})


CASES = [
    chat(
        "CHAT-TEMPLATE-IGNORED",
        f"{V4_PARSER} {TEMPLATE}",
        "chat-template",
        "tool_chat_template_deepseekv32.jinja does not shape the prompt",
        "sglang 0.5.15 renders it with its DeepSeek-V4 encoder, because the tool-call parser is deepseekv4",
        "one for DeepSeek-V3.2",
        "chat_template: native",
    ),
    chat("CHAT-TEMPLATE-IGNORED", TEMPLATE, "chat-template", "the model is DeepSeek-V4"),
    chat("CHAT-TEMPLATE-IGNORED", f"{V4_PARSER} {TEMPLATE}", "chat-template", model=UNKNOWN, version="0.5.12"),
    chat("CHAT-TEMPLATE-IGNORED", f"{V4_PARSER} {TEMPLATE}", model=UNKNOWN, version="0.5.11"),
    chat("CHAT-TEMPLATE-IGNORED", V4_PARSER),
    chat("CHAT-TEMPLATE-IGNORED", TEMPLATE, model=UNKNOWN),
    chat("CHAT-TEMPLATE-IGNORED", "--chat-template chatml"),
    chat("CHAT-TEMPLATE-REPLACES", "--chat-template chatml", "chat-template", "goes before its DeepSeek-V4 encoder"),
    chat("CHAT-TEMPLATE-REPLACES", "--chat-template chatml", model=GLM),
    chat("CHAT-TEMPLATE-REPLACES", TEMPLATE),
    chat(
        "PARSER-FORCES-ENCODING",
        V32_PARSER,
        "tool-call-parser",
        "with its DeepSeek-V3.2 encoder",
        "write deepseekv4",
        severity="error",
    ),
    chat("PARSER-FORCES-ENCODING", V4_PARSER, "tool-call-parser", "deepseek-v3.2", severity="error", model=V32),
    chat(
        "PARSER-FORCES-ENCODING",
        V4_PARSER,
        "tool-call-parser",
        "write deepseekv41",
        severity="error",
        model=V41,
        version="0.5.23",
    ),
    chat("PARSER-FORCES-ENCODING", V32_PARSER, model=V32),
    chat("PARSER-FORCES-ENCODING", V4_PARSER),
    chat("PARSER-FORCES-ENCODING", V4_PARSER, model=UNKNOWN),
    chat("PARSER-FORCES-ENCODING", "--tool-call-parser deepseekv3"),
    chat("PARSER-FORCES-ENCODING", V32_PARSER, version="0.5.11"),
    chat(
        "PARSER-PAIR",
        "--tool-call-parser deepseek-v4 --reasoning-parser deepseekv4",
        "tool-call-parser@single-0 reasoning-parser",
        "is a",
        severity="error",
    ),
    chat("PARSER-PAIR", "--tool-call-parser qwen", "tool-call-parser", "in the form of deepseekv4"),
    chat("PARSER-PAIR", "--reasoning-parser deepseek-v3", "reasoning-parser", "same class", severity="info"),
    chat("PARSER-PAIR", "--reasoning-parser deepseek-v3", "reasoning-parser", "other marks", version="0.5.17"),
    chat("PARSER-PAIR", V4_PARSER + " --reasoning-parser deepseek-v4"),
    chat("PARSER-PAIR", "--tool-call-parser qwen --reasoning-parser qwen3", model=UNKNOWN),
    chat("PARSER-PAIR", "--tool-call-parser deepseek_v4"),  # no parser's name at all: CHOICE
    chat("PARSER-PAIR", V32_PARSER),  # PARSER-FORCES-ENCODING
    chat("PARSER-PAIR", "--tool-call-parser auto"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_chat_setting(case: Case) -> None:
    asked(case, RULES)


def test_the_other_kinds_names_are_put_right() -> None:
    made = setup(model=UNKNOWN, single="--tool-call-parser deepseek-v4 --reasoning-parser deepseekv4")
    hints = [(hit.message, hit.hint) for rule in RULES if rule.id == "PARSER-PAIR" for hit in rule.check(made)]
    assert hints == [
        ("deepseek-v4 is a reasoning parser, not a tool-call parser", "write deepseekv4"),
        ("deepseekv4 is a tool-call parser, not a reasoning parser", "write deepseek-v4"),
    ]


def test_a_stacks_template_has_the_users_name() -> None:
    serve = replace(STACK.serve, chat_template="/w/stacks/tool_chat_template_deepseekv32.jinja")
    made = setup(single=f"{V4_PARSER} --chat-template chat-template-0123456789ab.jinja")
    says = ("tool_chat_template_deepseekv32.jinja does not shape",)
    case = Case("CHAT-TEMPLATE-IGNORED", {}, "chat-template@single-0", says, "warning")
    judged(replace(made, stack=replace(STACK, serve=serve)), case, RULES)


def test_parsers_whose_names_could_not_be_read_are_left_alone() -> None:
    flags = tuple(replace(one, choices=None) for one in table().flags)
    made = setup(single="--tool-call-parser deepseek-v4")
    blind = replace(table(), flags=flags)
    made = replace(made, upstream=blind, processes=tuple(replace(one, table=blind) for one in made.processes))
    judged(made, Case("PARSER-PAIR", {}), RULES)

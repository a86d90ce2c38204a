"""What turns a chat request into the prompt: the question that a template, a parser and a model answer together.

sglang asks the tool-call parser first, then the model's architecture, and only then looks at a Jinja template; a
conversation template (a built-in name, or a .json file) goes before all of them. Read in the releases 0.5.9 to 0.5.23:
`srt/entrypoints/openai/serving_chat.py`, from 0.5.16 on `chat_encoding.py` beside it, and `template_manager.py`.
It refuses to guess: where the model or the release is not known there is no answer.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Final, Literal

from stackctl.core.lint.setup import ModelView, Process, Setup

Kind = Literal["dsv4", "dsv41", "dsv32", "kimi_k3", "inkling", "conversation", "jinja"]

FORCED: Final[dict[str, tuple[Kind, str]]] = {  # tool-call parser -> its encoder, and the releases in which it decides
    "deepseekv4": ("dsv4", ">=0.5.12"),
    "deepseekv32": ("dsv32", ">=0.5.12"),
    "deepseekv41": ("dsv41", ">=0.5.21"),
    "kimi_k3": ("kimi_k3", ">=0.5.17"),
}
ENCODERS: Final[dict[Kind, str]] = {
    "dsv4": "its DeepSeek-V4 encoder",
    "dsv41": "its DeepSeek-V4.1 encoder",
    "dsv32": "its DeepSeek-V3.2 encoder",
    "kimi_k3": "its Kimi-K3 encoder",
    "inkling": "its Inkling encoder",
    "conversation": "a conversation template",
    "jinja": "a Jinja template",
}
OTHER_FILES: Final = (".jinja2", ".j2", ".txt", ".tmpl", ".tpl")  # sglang stops at these
GENERATIONS: Final = (  # in the name of a template
    (r"v4[._]?1(?![0-9])", "DeepSeek-V4.1"),
    (r"v4(?![0-9])", "DeepSeek-V4"),
    (r"v3[._]?2(?![0-9])", "DeepSeek-V3.2"),
    (r"v3[._]?1(?![0-9])", "DeepSeek-V3.1"),
    (r"v3(?![0-9])", "DeepSeek-V3"),
    (r"r1(?![0-9])", "DeepSeek-R1"),
)


@dataclass(frozen=True)
class Rendering:
    """`by`: what decided, as words. `template`: the name of the file that `--chat-template` gives, if it is given.

    `ignored`: there is a template, and the prompt does not come from it.
    """

    kind: Kind
    by: str
    template: str | None = None

    @property
    def ignored(self) -> bool:
        return self.template is not None and self.kind not in ("conversation", "jinja")


def renderer(setup: Setup, process: Process) -> Rendering | None:
    """What renders the chat prompt of an engine; None when that cannot be known."""
    template = template_of(setup, process)
    option = process.given("chat-template")
    file = option.values[0] if option is not None and template is not None else None
    if file is not None and not file.endswith(".jinja"):
        is_conversation = file.endswith(".json") or not ("/" in file or file.endswith(OTHER_FILES))
        return Rendering("conversation", f"--chat-template {template}", template) if is_conversation else None
    parser = process.text("tool-call-parser")
    if parser == "auto" and template is not None:
        return None  # the parser is then guessed from the template
    if parser in FORCED and decides(setup, process, parser):
        return Rendering(FORCED[parser][0], f"the tool-call parser is {parser}", template)
    kind = _of_model(setup, process, template is not None)
    return None if kind is None else Rendering(kind, _because(kind, setup.model), template)


def template_of(setup: Setup, process: Process) -> str | None:
    """The chat template's file name, as the user knows it: a stack's is copied under another one."""
    option = process.given("chat-template")
    if option is None or not option.values:
        return None
    told = setup.stack.serve.chat_template if setup.stack is not None else None
    return posixpath.basename(told or option.values[0].rstrip("/"))


def decides(setup: Setup, process: Process, parser: str) -> bool:
    """Whether this base knows the parser's encoder. A fork that says no release shows it by knowing the parser."""
    if setup.version is not None:
        return setup.at(FORCED[parser][1])
    return parser in known(process, "tool-call-parser")


def known(process: Process, name: str) -> tuple[str, ...]:
    """The values that a flag may have; empty when they could not be read."""
    flag = process.table.by_name.get(f"--{name}") if process.table else None
    return (flag.choices or ()) if flag is not None and "choices" not in flag.unknown else ()


def encoder_of(setup: Setup, process: Process) -> Kind | None:
    """The encoder that the model itself asks for; None when it has none, or that is not known."""
    kind = _of_model(setup, process, with_template=False)
    return kind if kind != "jinja" else None


def _of_model(setup: Setup, process: Process, with_template: bool) -> Kind | None:
    model = setup.model
    architecture = model.architecture or ""
    if model.family == "deepseek-v4.1" and decides(setup, process, "deepseekv41"):
        return "dsv41"
    if model.is_v4 and decides(setup, process, "deepseekv4"):
        return "dsv4"
    if "KimiK3" in architecture and decides(setup, process, "kimi_k3"):
        return "kimi_k3"
    if "InklingForConditionalGeneration" in architecture and setup.at(">=0.5.16"):
        return "inkling"
    if model.family in ("deepseek-v3", "deepseek-v3.2"):
        has_template = True if with_template else model.has_chat_template
        return None if has_template is None else "jinja" if has_template else "dsv32"
    return "jinja" if model.family is not None and not model.is_v4 else None


def _because(kind: Kind, model: ModelView) -> str:
    if kind == "jinja":
        return "the model has no encoder of its own"
    named = model.architecture or {"deepseek-v4": "DeepSeek-V4", "deepseek-v4.1": "DeepSeek-V4.1"}.get(
        model.family or "", "DeepSeek-V3 without a template"
    )
    return f"the model is {named}"


def generation(template: str) -> str | None:
    """The model that a template's name says it is for."""
    if "deepseek" not in template.lower():
        return None
    name = template.lower()
    return next((told for pattern, told in GENERATIONS if re.search(rf"deepseek[-_ ]?{pattern}", name)), None)


def missing_template(name: str, parser: str | None) -> str | None:
    """What to do about a template that is not there; None when nothing better than that can be said."""
    if parser in FORCED:
        kind, since = FORCED[parser]
        return (
            f"with tool_call_parser {parser}, sglang from {since.removeprefix('>=')} on renders the prompt with "
            f"{ENCODERS[kind]} and uses no template: write `chat_template: native`"
        )
    if posixpath.basename(name).startswith("tool_chat_template_"):
        return "sglang's example templates are not in its wheel: copy the file beside the stack, or write `native`"
    return None

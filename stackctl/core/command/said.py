"""What one process says, in the words of a stack: flags that become keys, other flags, variables, cards, secrets.

What a stack cannot say is a problem with the place of its word; all of them are collected.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from stackctl.core.command.launches import Launch
from stackctl.core.command.words import Word
from stackctl.core.lint.setup import Option, Process
from stackctl.core.stack.wording import ENV_MADE, FLAG, SECRET_NAME, SECRET_VALUE
from stackctl.errors import Problem, Where

OF_ENGINE = frozenset(
    ("model-path", "model", "served-model-name", "tool-call-parser", "reasoning-parser", "chat-template", "host",
     "port", "weight-version", "disaggregation-mode", "disaggregation-bootstrap-port")
)  # fmt: skip
OF_ROUTER = frozenset(("host", "port", "pd-disaggregation", "prefill", "decode", "worker-urls", "mini-lb"))
PORT, ROUTER_PORT = 30000, 8000  # that sglang takes when nobody says one

Value = bool | str | list[str]


@dataclass
class Said:
    """`keys`: by flag, what a stack says elsewhere. `left_out`: words that it does not take over, for a comment."""

    process: Process
    launch: Launch
    host: str = ""
    keys: dict[str, str] = field(default_factory=dict)
    flags: dict[str, Value] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    gpus: tuple[int, ...] = ()
    secrets: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def port(self) -> int:
        return self.number("port", ROUTER_PORT if self.process.role == "router" else PORT)

    def number(self, key: str, default: int) -> int:
        text = self.keys.get(key, "")
        return int(text) if re.fullmatch(r"\d{1,5}", text) and 0 < int(text) < 65536 else default

    def problem(self, message: str, where: Where | None, hint: str | None = None) -> None:
        self.problems.append(Problem(message, where, hint=hint))


def said(process: Process, launch: Launch, words: Sequence[Word]) -> Said:
    """`words`: of the process; those of the launch that are not among them are only there under a condition."""
    places = {one.where for one in words}
    made = Said(process, launch, left_out=[one.text for one in launch.args if one.where not in places])
    for one in words:
        if one.unknown:
            hint = "set it in the file, or write the value into the command"
            made.problem(f"what {' '.join(one.unknown)} is cannot be known here", one.where, hint)
    for option in process.options:
        _option(made, option, words[option.position].where)
    for word in _left(made):
        made.problem(f"`{word}` belongs to no flag: a stack cannot say it", launch.where)
    for name in ("port", "disaggregation-bootstrap-port"):
        if (text := made.keys.get(name)) and made.number(name, 0) == 0:
            made.problem(f"--{name} {text} is no port", launch.where)
    _environment(made)
    visible = made.env.get("CUDA_VISIBLE_DEVICES", "")
    if re.fullmatch(r"\d+(,\d+)*", visible) and "base-gpu-id" not in made.flags:
        made.gpus = tuple(map(int, visible.split(",")))
        del made.env["CUDA_VISIBLE_DEVICES"]
    return made


def _left(made: Said) -> list[str]:
    """Words that no option took; the model of `sglang serve MODEL` is none of them."""
    left = list(made.process.left)
    if made.process.module == "sglang serve" and left and made.process.argv[:1] == (left[0],):
        made.keys.setdefault("model-path", left.pop(0))
    return left


def _option(made: Said, option: Option, where: Where) -> None:
    name = (option.flag.name if option.flag else option.word).lstrip("-")
    is_router = made.process.role == "router"
    if FLAG.fullmatch(name) is None:
        made.problem(f"{option.word} is not how a flag is written in a stack", where, "hyphens, no underscores")
    elif name in (OF_ROUTER if is_router else OF_ENGINE):
        before = made.keys.get(name, "") if is_router else ""
        made.keys[name] = " ".join([before, *option.values]).strip()
    elif SECRET_NAME.search(name) or any(SECRET_VALUE.search(value) for value in option.values):
        proxy = "sglang takes no key from a variable, so let a proxy that asks for one stand before the port"
        hint = f"leave it out: {proxy}" if name.endswith("api-key") else "leave it out, or give it under `secrets:`"
        made.problem(f"{option.word} holds a secret, and a stack file holds none", where, hint)
    elif (option.flag is not None and option.flag.nargs == 0) or not option.values:
        made.flags[name] = True
    else:
        made.flags[name] = list(option.values) if len(option.values) > 1 else option.values[0]


def _environment(made: Said) -> None:
    for name, one in made.launch.env.items():
        if one.unknown in ((f"${name}",), (f"${{{name}}}",)) or SECRET_NAME.search(name):
            made.secrets.add(name)
        elif one.unknown:
            made.problem(f"what {name} is cannot be known here: {one.text}", one.where)
        elif name in ENV_MADE or name.startswith("STACKCTL_"):
            made.left_out.append(f"{name}={one.text} (stackctl sets it itself)")
        elif SECRET_VALUE.search(one.text):
            made.problem(f"{name} looks like a secret, and a stack file holds none", one.where)
        elif re.search(r"[\x00-\x1f\x7f]", one.text):
            made.problem(f"{name} has several lines: a stack cannot say it", one.where)
        else:
            made.env[name] = one.text

"""Finds launches of sglang engines and routers among the commands of a script, whatever stands around them.

A launch begins at `-m MODULE`, `sglang serve`, `sglang-router` or launch_server.py; what is before it (nohup, numactl,
ssh, docker run …) tells only of variables, machine and container. Programs that merely name it (grep, echo, pkill) are
passed over. A word that is itself a script (`bash -c '…'`) is read in its turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stackctl.core.command.container import Container, container_of
from stackctl.core.command.script import commands
from stackctl.core.command.words import Simple, Text, Value, Word, remarked
from stackctl.errors import Where

ENGINE, ROUTER, SERVE, MINI_LB = (
    "sglang.launch_server", "sglang_router.launch_router", "sglang serve", "sglang.srt.disaggregation.mini_lb",
)  # fmt: skip
DIFFUSION = "sglang serve --model-type diffusion"  # another server, with other flags
ROUTERS = (ROUTER, MINI_LB, "sglang.srt.disaggregation.launch_lb")
PROGRAMS = {"sglang-router": ROUTER, "smg": ROUTER, "amg": ROUTER}
UNDERSTOOD = (
    "python -m sglang.launch_server …", "sglang serve …", "python -m sglang_router.launch_router …", "sglang-router …",
)  # fmt: skip
ONLY_NAME_IT = frozenset(
    ("pkill", "pgrep", "kill", "killall", "grep", "egrep", "fgrep", "rg", "ps", "echo", "printf", "sed", "awk", "cat",
     "logger", "which", "pip", "pip3", "git", "die", "log")
)  # fmt: skip
TAKES_WORD = frozenset("BbcDEeFIiJLlmOoPpQRSWw")  # options of ssh that a value follows
MAX_DEPTH = 6


@dataclass(frozen=True)
class Launch:
    """`args`: after the module. `env`: what this file sets for it; `env_open`: a file that was not read sets more."""

    module: str
    program: Word
    args: tuple[Word, ...]
    env: Mapping[str, Word] = field(default_factory=dict)
    branches: tuple[tuple[int, int], ...] = ()
    machine: str | None = None
    container: Container | None = None
    env_open: bool = False
    played: str = ""

    @property
    def is_router(self) -> bool:
        return self.module in ROUTERS

    @property
    def where(self) -> Where:
        return self.program.where


def launches(found: Iterable[Simple], engine_module: str = ENGINE) -> tuple[Launch, ...]:
    """In the order of the file; `engine_module`: what the base is started as."""
    open_env = False
    launched: list[Launch] = []
    for simple in found:
        first = simple.words[0].text if simple.words else ""
        open_env = open_env or first in ("source", ".")
        launched += (
            replace(one, env_open=one.env_open or open_env, played=simple.played)
            for one in _of(simple, engine_module, 0)
        )
    return tuple(launched)


def _of(simple: Simple, engine: str, depth: int) -> Iterator[Launch]:
    words = simple.words
    if not words or _base(words[0].text) in ONLY_NAME_IT:
        return
    start = next((at for at in range(len(words)) if _begins(words, at, engine) is not None), None)
    if start is not None:
        module, behind = _begins(words, start, engine) or ("", start)
        env, machine, container, is_open = _around(simple, words[:start])
        program = words[start - 1] if words[start].text.startswith("-m") and start else words[start]
        args = _served(words[behind:]) if module == SERVE else words[behind:]
        module = DIFFUSION if args is None else module
        yield Launch(module, program, args or (), env, simple.branches, machine, container, is_open)
        return
    for at, one in enumerate(words):
        if depth < MAX_DEPTH and "sglang" in one.text and (" " in one.text.strip() or "\n" in one.text):
            yield from _inside(simple, at, engine, depth)


def _inside(simple: Simple, at: int, engine: str, depth: int) -> Iterator[Launch]:
    """A word that is a script: of a shell, ssh, tmux, eval."""
    one = simple.words[at]
    env, machine, container, is_open = _around(simple, simple.words[:at])
    source = Text(one.where.file, one.text, one.where.line or 1, (one.where.column or 1) + one.quote)
    exported = {name: Value(remarked(word), word.where) for name, word in env.items()}
    for inner in commands(source, exported=exported):
        inner = replace(inner, branches=simple.branches + inner.branches)
        for launch in _of(inner, engine, depth + 1):
            yield replace(
                launch,
                machine=launch.machine or machine,
                container=launch.container or container,
                env_open=launch.env_open or is_open,
            )


def _begins(words: Sequence[Word], at: int, engine: str) -> tuple[str, int] | None:
    """The module, and where its arguments begin."""
    text = words[at].text
    following = words[at + 1].text if at + 1 < len(words) else ""
    if text == "-m" and following in (engine, ENGINE, *ROUTERS):
        return following, at + 2
    if text.startswith("-m") and text[2:] in (engine, ENGINE, *ROUTERS):
        return text[2:], at + 1
    if text.endswith("sglang/launch_server.py"):
        return ENGINE, at + 1
    name = _base(text)
    if name == "sglang" and following == "serve":
        return SERVE, at + 2
    if name in PROGRAMS and following != "server" and (at == 0 or following == "launch" or following.startswith("-")):
        return PROGRAMS[name], at + 1 + (following == "launch")
    return None


def _served(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """The arguments without `serve`'s own `--model-type`; None for a diffusion server, which has other flags."""
    kept: list[Word] = []
    at = 0
    while at < len(words):
        name, equals, value = words[at].text.partition("=")
        if name == "--model-type":
            at += not equals
            value = value if equals else words[at].text if at < len(words) else ""
            if value == "diffusion":
                return None
        else:
            kept.append(words[at])
        at += 1
    return tuple(kept)


def _around(simple: Simple, before: Sequence[Word]) -> tuple[dict[str, Word], str | None, Container | None, bool]:
    """Variables, machine and container that the words before a launch tell of, and whether there may be more."""
    machine = simple.machine or _ssh(before)
    container = container_of(before, simple.env)
    if container is not None:
        return dict(container.env) | _assigned(before[container.behind :]), machine, container, container.env_open
    env = {} if machine and not simple.machine else dict(simple.env)
    return env | _assigned(before), machine, simple.container, simple.env_open


def _assigned(before: Sequence[Word]) -> dict[str, Word]:
    """`NAME=value` words, as `env` and `sudo` take them."""
    found: dict[str, Word] = {}
    for one in before:
        name, equals, value = one.text.partition("=")
        if equals and name.isidentifier():
            at = Where(one.where.file, one.where.line, one.where.column)
            found[name] = Word(value, at, one.width, tuple(hole for hole in one.unknown if hole in value))
    return found


def _ssh(before: Sequence[Word]) -> str | None:
    """The machine of `ssh [options] [user@]machine command`."""
    at = next((number for number, one in enumerate(before) if _base(one.text) == "ssh"), None)
    if at is None:
        return None
    at += 1
    while at < len(before) and before[at].text.startswith("-"):
        at += 2 if len(before[at].text) == 2 and before[at].text[1] in TAKES_WORD else 1
    return before[at].text.rpartition("@")[2] if at < len(before) else None


def _base(text: str) -> str:
    return text.rstrip("/").rpartition("/")[2]

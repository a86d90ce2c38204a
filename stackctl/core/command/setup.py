"""Makes Setups of launches, as the rules of the linter read them, and leads their hits back to words of the file.

Rules know nothing of holes: a flag or variable whose value is unknown, or that is there under a condition only, is
taken out of what they see, and every hit that is about it, or speaks of it, is dropped. Silence is the price of not
guessing; `Reading.unknown` says what it was paid for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from stackctl.core.command.launches import Launch
from stackctl.core.command.words import Word
from stackctl.core.lint.argv import read
from stackctl.core.lint.model_name import model_of_name
from stackctl.core.lint.setup import Card, ModelView, Option, Process, ProcessRole, Setup
from stackctl.core.upstream.values import History, Upstream

LOCAL = "local"
MODEL_FLAGS = ("--model-path", "--model")
ROLES: Mapping[str, ProcessRole] = {"prefill": "prefill", "decode": "decode"}


@dataclass(frozen=True)
class Ground:
    """What launches are read against. `model`: what the user says it is, else what its path says."""

    upstream: Upstream
    history: History
    card: Card | None = None
    model: ModelView | None = None


@dataclass(frozen=True)
class Reading:
    """One deployment: launches that belong together, by the ids of their processes.

    `sure`: without what is only there under a condition, of `words`; `whole`: with it. `silenced`: names (of flags
    without dashes, of variables) about which nothing is said. `open_args`, `open_env`: processes that may have more
    than was read.
    """

    sure: Setup
    whole: Setup
    launches: Mapping[str, Launch]
    words: Mapping[str, tuple[Word, ...]]
    silenced: frozenset[str] = frozenset()
    open_args: frozenset[str] = frozenset()
    open_env: frozenset[str] = frozenset()
    unknown: tuple[Word, ...] = ()


@dataclass
class _Made:
    """A process in both ways of reading it."""

    sure: Process
    whole: Process
    words: tuple[Word, ...]
    silenced: set[str] = field(default_factory=set)
    unknown: list[Word] = field(default_factory=list)
    open_args: bool = False


def readings(found: Sequence[Launch], ground: Ground) -> tuple[Reading, ...]:
    """Prefill, decode and their router are one deployment; so are engines of one model. Others stand alone."""
    counts: dict[str, int] = {}
    groups: dict[str, list[tuple[Launch, _Made]]] = {}
    for launch in found:
        role = _role(launch, ground.upstream)
        index = counts.get(role, 0)
        counts[role] = index + 1
        made = _made(launch, role, index, ground)
        group = "" if role != "single" else f"single {_model_word(made.whole) or ''}"
        groups.setdefault(group, []).append((launch, made))
    together = groups.get("", [])
    if together and all(launch.is_router for launch, _ in together) and len(groups) == 2:
        only = next(name for name in groups if name)
        groups = {only: groups[only] + together}
    return tuple(_reading(group, ground) for group in groups.values())


def _reading(group: Sequence[tuple[Launch, _Made]], ground: Ground) -> Reading:
    roles = {made.sure.role for _, made in group}
    complete = {"prefill", "decode"} <= roles or {"single", "router"} <= roles
    model = ground.model or _model([made.whole for _, made in group])

    def setup(processes: Iterable[Process]) -> Setup:
        return Setup(ground.upstream, ground.history, tuple(processes), model, complete=complete)

    return Reading(
        setup(made.sure for _, made in group),
        setup(made.whole for _, made in group),
        {made.sure.id: launch for launch, made in group},
        {made.sure.id: made.words for _, made in group},
        frozenset(name for _, made in group for name in made.silenced),
        frozenset(made.sure.id for _, made in group if made.open_args),
        frozenset(made.sure.id for launch, made in group if launch.env_open),
        tuple(one for _, made in group for one in made.unknown),
    )


def _made(launch: Launch, role: ProcessRole, index: int, ground: Ground) -> _Made:
    table = None if launch.is_router else ground.upstream
    surely = _surely(launch.args, table)
    known_env = {name: one.text for name, one in launch.env.items() if not one.unknown and not one.maybe}
    whole_options, whole_left = read([one.text for one in launch.args], table)
    options, left = read([one.text for one in surely], table)
    masked, silenced, unknown, is_open = _masked(options, left, surely)
    for option in whole_options:
        if launch.args[option.position].maybe or any(one.maybe for one in _value_words(option, launch.args)):
            silenced |= _names(option)
    silenced |= {name for name in launch.env if name not in known_env}
    unknown += [one for name, one in launch.env.items() if one.unknown]
    whole = Process(
        id=f"{role}-{index}",
        role=role,
        module=launch.module,
        argv=tuple(one.text for one in launch.args),
        options=whole_options,
        left=whole_left,
        env={name: one.text for name, one in launch.env.items()},
        host=_host(launch),
        card=None if launch.is_router else ground.card,
        table=table,
        container=_container(launch),
    )
    whole = replace(whole, gpus=_gpus(whole, launch))
    kept = tuple(word for word in left if not any(one.is_hole and one.text == word for one in surely))
    sure = replace(whole, argv=tuple(one.text for one in surely), options=masked, left=kept, env=known_env)
    return _Made(sure, whole, surely, silenced, unknown, is_open)


def _surely(words: tuple[Word, ...], table: Upstream | None) -> tuple[Word, ...]:
    """Without words that may not be there; but the value of an option that is there is only unknown."""
    options, _ = read([one.text for one in words], table)
    values = {
        at
        for option in options
        if not words[option.position].maybe
        for at in range(option.position + 1, option.position + 1 + len(option.values) - option.joined)
        if words[at].maybe
    }
    return tuple(
        replace(one, maybe=False, unknown=one.unknown or (one.text,)) if at in values else one
        for at, one in enumerate(words)
        if not one.maybe or at in values
    )


def _masked(
    options: Sequence[Option], left: Sequence[str], words: Sequence[Word]
) -> tuple[tuple[Option, ...], set[str], list[Word], bool]:
    """Options without the values that are unknown; their names; the words; whether a hole may hold more options."""
    kept: list[Option] = []
    silenced: set[str] = set()
    unknown = [one for one in words if one.unknown]
    is_open = any(one.is_hole and one.text in left for one in words)
    for option in options:
        values = _value_words(option, words)
        if words[option.position].text.startswith("$"):
            is_open = True
            continue
        if any(one.unknown for one in values):
            silenced |= _names(option)
            several = option.flag is None or option.flag.nargs in ("+", "*", "?", 0)
            is_open = is_open or (several and any(one.is_hole for one in values))
            option = replace(option, values=(), fault=None)
        kept.append(option)
    return tuple(kept), silenced, unknown, is_open


def _value_words(option: Option, words: Sequence[Word]) -> Sequence[Word]:
    """The words that its values stand in; its own when it is written `--flag=value`."""
    begin = option.position + (not option.joined)
    return words[begin : option.position + 1 + len(option.values) - option.joined]


def _names(option: Option) -> set[str]:
    return {option.name} | ({name.lstrip("-") for name in option.flag.names} if option.flag else set())


def _role(launch: Launch, upstream: Upstream) -> ProcessRole:
    if launch.is_router:
        return "router"
    options, _ = read([one.text for one in _surely(launch.args, upstream)], upstream)
    found = [one for one in options if one.flag is not None and one.flag.dest == "disaggregation_mode" and one.values]
    return ROLES.get(found[-1].values[0], "single") if found else "single"


def _host(launch: Launch) -> str:
    """Commands of one file are for one machine, unless it says another, or only one of them is ever run."""
    if launch.machine:
        return launch.machine
    if launch.played:
        return f"{LOCAL} as {launch.played}"
    return f"{LOCAL}, line {launch.where.line}" if launch.branches else LOCAL


def _container(launch: Launch) -> Mapping[str, str] | None:
    """An option whose value is unknown stands as it is written; `open`: it may have more of them."""
    box = launch.container
    if box is None:
        return None
    more = ({} if box.limited else {"open": ""}) | ({"ipc": "host"} if box.own_memory else {})
    return {name: one.text for name, one in box.given.items()} | more


def _gpus(process: Process, launch: Launch) -> tuple[int, ...]:
    """The cards it takes, as far as the command says: the visible ones, from the first on, as many as it has ranks."""
    visible = process.env.get("CUDA_VISIBLE_DEVICES")
    if launch.is_router or (visible is not None and not re.fullmatch(r"\d+(,\d+)*", visible)):
        return ()
    sizes = [process.number(name) for name in ("tp-size", "pp-size", "nnodes")]
    if visible is None and (process.given("tp-size") is None or None in sizes or launch.container is not None):
        return ()
    cards = tuple(map(int, visible.split(","))) if visible else ()
    begin = int(process.number("base-gpu-id") or 0)
    count = int((sizes[0] or 1) * (sizes[1] or 1) / (sizes[2] or 1))
    if not cards:
        return tuple(range(begin, begin + min(count, 64)))
    return cards[begin : begin + count] if process.given("tp-size") else cards[begin:]


def _model_word(process: Process) -> str | None:
    """The path as it was typed; `serve MODEL` too."""
    for option in process.options:
        if option.flag is not None and option.flag.dest == "model_path" and option.values:
            return option.values[0]
        if option.flag is None and option.word in MODEL_FLAGS and option.values:
            return option.values[0]
    first = process.argv[0] if process.argv else ""
    return first if process.module == "sglang serve" and first and not first.startswith("-") else None


def _model(processes: Iterable[Process]) -> ModelView:
    """What the names say; two that say different models are none."""
    views = [model_of_name(path, one.text("served-model-name")) for one in processes if (path := _model_word(one))]
    if not views:
        return ModelView()
    alike = all((one.family, one.experts) == (views[0].family, views[0].experts) for one in views)
    return views[0] if alike else ModelView(views[0].path)


def mentioned(text: str) -> Iterator[str]:
    """Names of flags (without dashes) and of variables that a sentence has."""
    yield from (match[1] for match in re.finditer(r"--([a-z][a-z0-9-]*)", text))
    yield from re.findall(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b", text)

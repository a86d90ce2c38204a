"""Values of flags and the form of a command: what the parser refuses, and what it takes in another sense.

A value is only called wrong when the table knows all right ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stackctl.core.lint.argv import wrong_value
from stackctl.core.lint.known.wording import engine, few, life, listed
from stackctl.core.lint.near import near
from stackctl.core.lint.rules.flags import flag_place, kind_of, tabled
from stackctl.core.lint.setup import Option, Process, Setup
from stackctl.core.lint.values import Hit, Place, Rule
from stackctl.core.upstream.values import Flag, Span

NEW_NAMES = {  # flag -> old value -> new one, which sglang rewrites or warns of
    "attention-backend": {"nsa": "dsa", "compressed": "dsv4", "tokenspeed_mla": "cutedsl_mla"},
    "tool-call-parser": {"glm45": "glm", "qwen25": "qwen"},
}
NEW_NAMES |= {f"{side}-attention-backend": NEW_NAMES["attention-backend"] for side in ("prefill", "decode")}
SERVE = "sglang serve"  # a module of this name is the command
GONE_MODULES = {
    "sglang.srt.disaggregation.mini_lb": "python -m sglang_router.launch_router --mini-lb",
    "sglang.srt.disaggregation.launch_lb": "python -m sglang_router.launch_router --mini-lb",
}


def left_behind(process: Process) -> Iterator[tuple[Option | None, tuple[str, ...]]]:
    """Words that no option took, with the option that they stand behind; None for those in front of all."""
    if not process.left:
        return
    starts = [option.position for option in process.options] + [len(process.argv)]
    if in_front := process.argv[: starts[0]]:
        yield None, in_front
    for number, option in enumerate(process.options):
        taken = len(option.values) - option.joined
        rest = process.argv[option.position + 1 + taken : starts[number + 1]]
        if rest:
            yield option, rest


def _choice(setup: Setup) -> Iterator[Hit]:
    for process, option in tabled(setup):
        if option.flag is None or kind_of(setup, option) == "removed":
            continue
        if option.fault:
            yield Hit(f"{option.word}: {option.fault}", flag_place(process, option), _form(option))
            continue
        for value in dict.fromkeys(option.values):
            fault = wrong_value(option.flag, value)
            if fault is None:
                continue
            if fault.startswith("expected"):
                yield Hit(f"{option.word} {value}: {fault}", flag_place(process, option))
            else:
                message = f"{value} is not a value of {option.flag.name} in {engine(setup)}"
                yield Hit(message, flag_place(process, option), _valid(setup, option.flag, value))
    yield from _leftover(setup)


def _form(option: Option) -> str:
    if option.flag is not None and option.flag.nargs == 0:
        return f"a switch takes no value: write {option.word}, or leave it out"
    return ""


def _valid(setup: Setup, flag: Flag, value: str) -> str:
    """Since when or until when the value is one, and what is near it."""
    new = NEW_NAMES.get(flag.name.lstrip("-"), {}).get(value)
    choices = flag.choices or ()
    if new in choices:
        return f"write {new}"
    past = life(_spans(setup, flag, value), setup.version)
    told = f"since {past.later}" if past.later else f"until {past.gone}" if past.gone else ""
    found = near(value, choices)
    meant = f"did you mean {listed(found)}?" if found else few(choices)
    return "; ".join(part for part in (told, meant) if part)


def _spans(setup: Setup, flag: Flag, value: str) -> tuple[Span, ...]:
    for name in (*flag.names, flag.dest):
        if found := setup.history.choices.get(name, {}).get(value):
            return found
    return ()


CONTINUES: Final = "a backslash goes on to the next line only as the last character of its own"


def _leftover(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        if process.table is None or not process.table.flags:
            continue
        for option, words in left_behind(process):
            if option is None:
                if process.module != SERVE:
                    yield Hit(f"{words[0]} belongs to no flag", Place("flag", words[0], process.id))
                elif len(words) > 1:
                    yield Hit(f"{words[1]} belongs to no flag", Place("flag", words[1], process.id))
            elif option.flag is not None:
                how_many = "no value" if option.flag.nargs == 0 else f"{len(option.values)} value"
                blank = next((one for one in words if not one.strip()), None)
                said = " ".join(words) if blank is None else f"a word of {len(blank)} blank{'s'[: len(blank) != 1]}"
                message = f"{option.word} takes {how_many}: {said} is left over"
                yield Hit(message, flag_place(process, option), _form(option) if blank is None else CONTINUES)


def _old_value(setup: Setup) -> Iterator[Hit]:
    for process, option in tabled(setup):
        flag = option.flag
        known = NEW_NAMES.get(flag.name.lstrip("-"), {}) if flag else {}
        for value in option.values:
            new = known.get(value)
            if flag is None or new is None or not _both(flag, value, new):
                continue
            message = f"{value} is an old name of {new}"
            yield Hit(message, flag_place(process, option), f"write {new}")


def _both(flag: Flag, old: str, new: str) -> bool:
    """Only a release that has both names calls one of them old."""
    return flag.choices is not None and old in flag.choices and new in flag.choices


def _config(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        given = [option for option in process.options if option.word == "--config"]
        for option in given:
            place = flag_place(process, option)
            if option.joined:
                message = "--config=FILE is accepted and its file is not read"
                yield Hit(message, place, f"write it as two words: --config {option.values[0]}")
            elif option.values and not option.values[0].lower().endswith((".yaml", ".yml")):
                yield Hit(f"--config wants a .yaml or .yml file, not {option.values[0]}", place)
        if sum(not option.joined for option in given) > 1:
            yield Hit("--config is given twice: sglang takes one file", flag_place(process, given[-1]), "merge the two")


def _positional(setup: Setup) -> Iterator[Hit]:
    for process in setup.engines:
        if process.module != SERVE:
            continue
        for option, words in left_behind(process):
            if option is None:
                message = f"`sglang serve {words[0]}`: {engine(setup)} wants the model by --model-path"
                yield Hit(message, Place("flag", words[0], process.id), f"write --model-path {words[0]}")


def _module(setup: Setup) -> Iterator[Hit]:
    for process in setup.processes:
        new = GONE_MODULES.get(process.module)
        if new:
            yield Hit(f"{process.module} is gone from sglang", Place("key", "serve.module"), f"write {new}")


_SRC = "https://github.com/sgl-project/sglang/"
_BLOB = f"{_SRC}blob/v0.5.15/python/sglang/"
RULES = (
    Rule(
        "CHOICE",
        "error",
        _choice,
        "a value that the flag does not take; a missing one; words that belong to no flag",
        "Choices are read from the base, through the lists, registries and enumerations that it names. Where one of "
        "them cannot be read the value is not checked. A switch takes no value, a flag of several words takes all up "
        "to the next flag, and `--bs=1 2` leaves the 2 over.",
        (f"{_BLOB}srt/server_args.py",),
        sglang=False,
    ),
    Rule(
        "VALUE-DEPRECATED",
        "warning",
        _old_value,
        "an old name of a value",
        "sglang takes both names and rewrites the old one at its start, with a warning or only a comment in the source "
        "that says so. Told where the base has both.",
        (f"{_BLOB}srt/server_args.py",),
    ),
    Rule(
        "CONFIG-FILE",
        "error",
        _config,
        "a --config that sglang does not read or refuses",
        "The file is merged only when --config and its name are two words; `--config=FILE` passes the parser and "
        "changes nothing. One file, .yaml or .yml, whose keys are flags with hyphens. A file on a host is not read "
        "here: what stands in it is not checked.",
        (f"{_BLOB}srt/server_args_config_parser.py",),
    ),
    Rule(
        "SERVE-POSITIONAL",
        "error",
        _positional,
        "`sglang serve MODEL` before 0.5.16",
        "The model as a bare first word is understood from 0.5.16 on. Before, `serve` stops with `model-path is "
        "required`.",
        (f"{_BLOB}cli/serve.py",),
        versions="<0.5.16",
    ),
    Rule(
        "MODULE-REMOVED",
        "error",
        _module,
        "a module that sglang no longer has",
        "The small load balancer moved into the router's package.",
        (f"{_SRC}pull/8063",),
        sglang=False,
    ),
)

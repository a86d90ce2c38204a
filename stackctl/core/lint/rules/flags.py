"""Names of flags, against the table of the very tree that will parse them.

Names that patches add count: the table is of the patched tree. Each option gets one finding about its name, by the
rule that knows most: removed before foreign before ambiguous or unknown. A table that could not be read says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from stackctl.core.lint.known.foreign import sglangs
from stackctl.core.lint.known.older import older
from stackctl.core.lint.known.wording import engine, flags_unread, instead, life, listed, spelled
from stackctl.core.lint.near import did_you_mean
from stackctl.core.lint.setup import Option, Process, Setup
from stackctl.core.lint.values import Hit, Place, Rule, Severity
from stackctl.core.upstream.values import Flag

Kind = Literal["removed", "foreign", "ambiguous", "unknown", "abbreviated", "known"]
WITHOUT_EFFECT = "DeprecatedAction"
USUAL = ("--tp", "--dp")  # everybody writes these, and they were unique in every release


def flag_place(process: Process, option: Option) -> Place:
    return Place("flag", option.name, process.id)


def tabled(setup: Setup) -> Iterator[tuple[Process, Option]]:
    """Options of processes whose table is known."""
    for process in setup.engines:
        if process.table is not None and process.table.flags:
            yield from ((process, option) for option in process.options)


def kind_of(setup: Setup, option: Option) -> Kind:
    """What is to be said of an option's name."""
    if option.match in ("exact", "untabled"):
        return "known"
    if setup.upstream.is_sglang and life(setup.history.flags.get(option.word, ()), setup.version).gone:
        return "removed"
    if option.match == "prefix":
        return "abbreviated"
    if option.match == "ambiguous":
        return "ambiguous"
    later = life(setup.history.flags.get(option.word, ()), setup.version).later
    if setup.upstream.is_sglang and not later and sglangs(option.name) is not None:
        return "foreign"
    return "unknown"


def _of_kind(setup: Setup, kind: Kind) -> Iterator[tuple[Process, Option]]:
    return ((process, option) for process, option in tabled(setup) if kind_of(setup, option) == kind)


def _unknown(setup: Setup) -> Iterator[Hit]:
    for process, option in _of_kind(setup, "unknown"):
        message = f"{engine(setup)} has no flag {option.word}"
        unsure = flags_unread(setup.upstream)  # what could not be read may be what declares it
        message += ", as far as its source could be read" if unsure else ""
        severity: Severity | None = "warning" if unsure else None
        yield Hit(message, flag_place(process, option), _meant(setup, process, option), severity)


def _meant(setup: Setup, process: Process, option: Option) -> str:
    spans = setup.history.flags.get(option.word, ()) if setup.upstream.is_sglang else ()
    later = life(spans, setup.version).later
    if later:
        return f"added in {later}"
    if spans and setup.version is None:
        return f"sglang {spans[0].first} has it" + (f", {spans[-1].gone} has not" if spans[-1].gone else "")
    names = process.table.by_name if process.table else {}
    return (older(option.word, names) if setup.upstream.is_sglang else "") or did_you_mean(option.word, names)


def _removed(setup: Setup) -> Iterator[Hit]:
    for process, option in _of_kind(setup, "removed"):
        past = life(setup.history.flags[option.word], setup.version)
        message = f"{option.word} went away in {past.gone}"
        if option.flag is not None:
            message += f" and would be read as {option.flag.name}"
        hint = instead(option.word, setup.upstream, setup.history)
        yield Hit(message, flag_place(process, option), f"{hint}; it is back in {past.later}" if past.later else hint)


def _ambiguous(setup: Setup) -> Iterator[Hit]:
    for process, option in _of_kind(setup, "ambiguous"):
        message = f"{option.word} could be {listed(option.candidates[:6])}"
        yield Hit(message, flag_place(process, option), "write the name out")


def _abbreviated(setup: Setup) -> Iterator[Hit]:
    for process, option in _of_kind(setup, "abbreviated"):
        assert option.flag is not None
        whole = next((name for name in option.flag.names if name.startswith(option.word)), option.flag.name)
        message = f"{option.word} is read as {whole} and may break with a new flag"
        severity: Severity | None = "info" if option.word in USUAL else None
        yield Hit(message, flag_place(process, option), f"write {whole}", severity)


def _deprecated(setup: Setup) -> Iterator[Hit]:
    for process, option in tabled(setup):
        if option.flag is None or not option.flag.deprecated or kind_of(setup, option) == "removed":
            continue
        message = f"{option.word} is deprecated in {engine(setup)}"
        yield Hit(message, flag_place(process, option), _not_any_more(option.flag))


def _not_any_more(flag: Flag) -> str:
    if flag.use:
        return f"write {spelled(flag.use)}" if flag.use.startswith("--") else flag.use
    return "it does nothing any more: leave it out" if flag.action == WITHOUT_EFFECT else ""


def _foreign(setup: Setup) -> Iterator[Hit]:
    for process, option in _of_kind(setup, "foreign"):
        ours = sglangs(option.name) or ""
        flag = process.table.by_name.get(ours.partition("=")[0]) if process.table else None
        if flag is None:
            ours = ""
        elif flag.deprecated:
            ours = spelled(flag.use or "")
        message = f"{option.word} is a flag of vLLM; {engine(setup)} does not know it"
        yield Hit(message, flag_place(process, option), f"see {ours}" if ours else "leave it out")


_SRC = "https://github.com/sgl-project/sglang/"
RULES = (
    Rule(
        "FLAG-UNKNOWN",
        "error",
        _unknown,
        "a flag that this base does not have",
        "The engine's parser stops at the first name that it does not know. The table is read from the patched tree, "
        "so flags that patches add are known. Hyphens only: `--reasoning_parser` is another name.",
        (f"{_SRC}issues/12818", f"{_SRC}issues/5032"),
        sglang=False,
    ),
    Rule(
        "FLAG-REMOVED",
        "error",
        _removed,
        "a flag that an older release had, with what to write now",
        "The parser stops at it. sglang takes flags away, most of them after some releases in which they were "
        "deprecated: 0.5.20 alone dropped 23. What replaces one may be gone in turn, so the hint is of this release.",
        (f"{_SRC}tree/v0.5.23/python/sglang/srt/arg_groups/fields",),
    ),
    Rule(
        "FLAG-AMBIGUOUS",
        "error",
        _ambiguous,
        "a beginning that several flags share",
        "argparse refuses a prefix of two option strings, even when both belong to one argument. A new flag can make "
        "an abbreviation ambiguous: `--enable-hi` was unique at 0.5.9 and is not since 0.5.10.",
        (f"{_SRC}pull/14249",),
        sglang=False,
    ),
    Rule(
        "FLAG-ABBREV",
        "warning",
        _abbreviated,
        "an abbreviated flag (--tp and --dp: information)",
        "argparse takes a prefix that only one option string begins with. It works until a release adds another one.",
        (f"{_SRC}pull/14249",),
        sglang=False,
    ),
    Rule(
        "FLAG-DEPRECATED",
        "warning",
        _deprecated,
        "a flag that the base itself calls deprecated",
        "Read from the base: an action named Deprecated…, or a help text that begins with it. Some do nothing any "
        "more; most are gone a few releases later.",
        (f"{_SRC}blob/v0.5.15/python/sglang/srt/server_args.py",),
        sglang=False,
    ),
    Rule(
        "FOREIGN-FLAG",
        "error",
        _foreign,
        "a flag of vLLM",
        "The two engines share many names and differ in the most common ones. The flag of sglang is near in meaning, "
        "not always in value: `--gpu-memory-utilization` counts what vLLM may use of the card, "
        "`--mem-fraction-static` weights and cache only.",
        ("https://github.com/vllm-project/vllm/issues/56700",),
    ),
)

"""Two command lines of an engine, flag by flag: what runs and what was rendered.

With the table of the tree that both are for, a flag is the same however it is written (`--tp`, `--tp-size`); without
it, flags of two names are two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stackctl.core.deploy.gate import flags_of
from stackctl.core.lint.argv import read
from stackctl.core.upstream.values import Upstream

OURS = "weight-version"  # told to each engine besides what the stack says


def module_of(argv: Sequence[str]) -> str:
    """Of `python -m MODULE …`; empty when it is another command, or a process that renamed itself."""
    words = list(argv)
    return words[words.index("-m") + 1] if "-m" in words[:-1] else ""


def flags(argv: Sequence[str], table: Upstream | None = None) -> Mapping[str, tuple[str, ...]]:
    """By name without dashes; a repeated one replaces. `table`: names and abbreviations that its parser takes."""
    if table is None:
        return {name.replace("_", "-"): values for name, values in flags_of(argv).items()}
    options = [one for one in read(argv, table)[0] if one.word.startswith("--")]
    return {(one.flag.name if one.flag else one.word)[2:].replace("_", "-"): one.values for one in options}


def differences(
    there: Sequence[str], wanted: Sequence[str], *, source: str = "the stack", table: Upstream | None = None
) -> tuple[str, ...]:
    """As sentences; none when both say the same. `source`: who wants it; `table`: of the tree, where it is known."""
    first, second = module_of(there), module_of(wanted)
    other = () if first == second else (f"{first or 'another program'} runs, {source} says {second}",)
    known = table if first == second else None  # of another program it says nothing
    return (*other, *_differences(flags(there, known), flags(wanted, known), source))


def _differences(
    runs: Mapping[str, tuple[str, ...]], says: Mapping[str, tuple[str, ...]], source: str
) -> Iterator[str]:
    for name in sorted({*runs, *says} - {OURS}):
        if runs.get(name) == says.get(name):
            continue
        if name not in says:
            yield f"--{name}{_value(runs[name])} is not in {source}"
        elif name not in runs:
            yield f"--{name}{_value(says[name])} of {source} is missing"
        else:
            yield f"--{name} is{_value(runs[name]) or ' bare'}, {source} says{_value(says[name]) or ' bare'}"


def _value(words: Sequence[str]) -> str:
    return "".join(f" {word}" for word in words)

"""Two command lines of an engine, flag by flag: what runs and what was rendered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stackctl.core.deploy.gate import flags_of

OURS = "weight-version"  # told to each engine besides what the stack says


def module_of(argv: Sequence[str]) -> str:
    """Of `python -m MODULE …`; empty when it is another command, or a process that renamed itself."""
    words = list(argv)
    return words[words.index("-m") + 1] if "-m" in words[:-1] else ""


def flags(argv: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    return {name.replace("_", "-"): values for name, values in flags_of(argv).items()}


def differences(there: Sequence[str], wanted: Sequence[str], *, source: str = "the stack") -> tuple[str, ...]:
    """As sentences; none when both say the same. `source`: who wants it."""
    return tuple(_differences(there, wanted, source))


def _differences(there: Sequence[str], wanted: Sequence[str], source: str) -> Iterator[str]:
    if module_of(there) != module_of(wanted):
        yield f"{module_of(there) or 'another program'} runs, {source} says {module_of(wanted)}"
    runs, says = flags(there), flags(wanted)
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

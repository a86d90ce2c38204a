"""Variables of the environment: a name that nothing reads is ignored without a word, so it is worth a word here.

Only names that begin with SGLANG_ or SGL_ are looked at, and NCCL_TIMEOUT, which many believe in. A tree whose
variables could not be read says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.lint.known.wording import engine, life
from stackctl.core.lint.near import did_you_mean
from stackctl.core.lint.setup import Process, Setup
from stackctl.core.lint.values import Hit, Place, Rule
from stackctl.core.upstream.values import EnvVar

PREFIXES = ("SGLANG_", "SGL_")
REGISTRY_WORDS = ("true", "1", "yes", "y", "false", "0", "no", "n")
AD_HOC_WORDS = ("true", "1", "false", "0")  # get_bool_env_var knows no more
OTHERS_READ = ("SGLANG_DG_", "SGL_DG_")  # DeepGEMM, a package of its own


def _ours(setup: Setup) -> Iterator[tuple[Process, str, str, EnvVar | None]]:
    """Variables of sglang that an engine is given: name, value, and what the base knows of it."""
    if not setup.upstream.env:
        return
    for process in setup.engines:
        for name, value in process.env.items():
            if name.startswith(PREFIXES) and not name.startswith(OTHERS_READ):
                yield process, name, value, _known(setup, name)


def _known(setup: Setup, name: str) -> EnvVar | None:
    """By its name, or by the one that sglang copies it to."""
    known = setup.upstream.env
    return known.get(name) or (known.get(f"SGLANG_{name[4:]}") if name.startswith("SGL_") else None)


def _unread(setup: Setup) -> Iterator[tuple[Process, str]]:
    return ((process, name) for process, name, _, known in _ours(setup) if known is None)


def _place(process: Process, name: str) -> Place:
    return Place("env", name, process.id)


def _unknown(setup: Setup) -> Iterator[Hit]:
    for process, name in _unread(setup):
        past = life(setup.history.env.get(name, ()), setup.version)
        if past.gone:
            continue
        hint = f"added in {past.later}" if past.later else did_you_mean(name, setup.upstream.env)
        yield Hit(f"nothing in {engine(setup)} reads {name}", _place(process, name), hint)
    for process in setup.engines:
        if "NCCL_TIMEOUT" in process.env and "NCCL_TIMEOUT" not in setup.upstream.env:
            message = "NCCL_TIMEOUT may be read by nothing: neither NCCL nor sglang documents it"
            yield Hit(message, _place(process, "NCCL_TIMEOUT"), "sglang has --dist-timeout, in seconds")


def _deprecated(setup: Setup) -> Iterator[Hit]:
    for process, name, _, known in _ours(setup):
        if known is None:
            continue
        if known.source == "deprecated":
            message = f"{name} is an old name in {engine(setup)}" + (f": it is {known.use} now" if known.use else "")
            yield Hit(message, _place(process, name), _write(known.use))
        elif known.name != name:
            yield Hit(f"{name} is copied to {known.name}, with a warning", _place(process, name), _write(known.name))


def _write(use: str | None) -> str:
    return f"write {use}" if use else "leave it out"


def _dropped(setup: Setup) -> Iterator[Hit]:
    for process, name in _unread(setup):
        past = life(setup.history.env.get(name, ()), setup.version)
        if past.gone:
            found = setup.history.replacements.get(name)
            hint = _write(found.use if found else None)
            yield Hit(f"{name} is ignored since {past.gone}", _place(process, name), hint)


def _bool(setup: Setup) -> Iterator[Hit]:
    for process, name, value, known in _ours(setup):
        if known is None or known.kind != "bool":
            continue
        ad_hoc = known.source == "ad hoc"
        if value.lower() not in (AD_HOC_WORDS if ad_hoc else REGISTRY_WORDS):
            taken = "false" if ad_hoc else f"its default{f', {known.default}' if known.default else ''}"
            yield Hit(f"{name}={value} is no yes or no: sglang takes {taken}", _place(process, name), "write 1 or 0")


_BLOB = "https://github.com/sgl-project/sglang/blob/v0.5.15/python/sglang/srt/"
RULES = (
    Rule(
        "ENV-UNKNOWN",
        "warning",
        _unknown,
        "a variable of sglang's that nothing in this base reads",
        "sglang ignores an unknown SGLANG_ name without a word. Names are read from the patched tree: the registry in "
        "environ.py and every place that asks the environment itself; a name that is put together at run time cannot "
        "be seen. NCCL_TIMEOUT is told as a doubt.",
        (f"{_BLOB}environ.py",),
    ),
    Rule(
        "ENV-DEPRECATED",
        "warning",
        _deprecated,
        "an old name of a variable that is still passed on",
        "The base copies the old name to the new one, or says which flag took over, with a warning at its start. "
        "Such bridges are taken down without notice: 0.5.21 dropped most of them.",
        (f"{_BLOB}environ.py",),
    ),
    Rule(
        "ENV-DROPPED",
        "warning",
        _dropped,
        "a variable that an older release read and this one ignores",
        "The setting that it made is not made any more, and nothing says so at the start.",
        ("https://github.com/sgl-project/sglang/blob/v0.5.23/python/sglang/srt/environ.py",),
    ),
    Rule(
        "ENV-BOOL",
        "warning",
        _bool,
        "a yes-or-no variable with another word",
        "The registry takes true, 1, yes, y and false, 0, no, n in any case; anything else is the default, with a "
        "warning. Variables that are read beside the registry take true, 1, false and 0; anything else is false.",
        (f"{_BLOB}environ.py", f"{_BLOB}utils/common.py"),
    ),
)

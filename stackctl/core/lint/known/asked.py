"""What many rules ask of a setup, asked in one place: the model at this base, values as they resolve, patches.

None and False mean "not known" as well as "no": a rule that asks says nothing then.
"""

from __future__ import annotations

from typing import Final

from stackctl.core.lint.setup import Option, Process, Setup
from stackctl.core.lint.values import Place, Severity

TRUE: Final = frozenset(("true", "1", "yes", "y"))
FALSE: Final = frozenset(("false", "0", "no", "n"))
CP_SWITCHES: Final = (
    "enable-prefill-cp",
    "enable-dsa-prefill-context-parallel",
    "enable-nsa-prefill-context-parallel",
    "enable-prefill-context-parallel",
)
BASE: Final = Place("key", "base")


def is_v4(setup: Setup) -> bool:
    """DeepSeek-V4 on a base that has it, or V4.1 on one that has that."""
    family = setup.model.family
    return (family == "deepseek-v4" and setup.at(">=0.5.12")) or (is_v41(setup) and setup.at(">=0.5.21"))


def is_v41(setup: Setup) -> bool:
    return setup.model.family == "deepseek-v4.1"


def has_experts(setup: Setup, *stored: str) -> bool:
    """V4, its routed experts stored in one of these ways."""
    return is_v4(setup) and setup.model.experts in stored


def said(process: Process, name: str) -> str | None:
    """The value that is written for a flag; defaults are no part of it."""
    option = process.given(name)
    return option.values[0] if option and option.values else None


def count(process: Process, name: str, default: int | None = None) -> int | None:
    """The whole number that is written for a flag."""
    try:
        return int(said(process, name) or "")
    except ValueError:
        return default


def runner(process: Process) -> str:
    """The MoE runner; `auto` when nobody says."""
    return said(process, "moe-runner-backend") or "auto"


def switch(process: Process, name: str) -> bool | None:
    """A variable as sglang's EnvBool reads it; None when it is not set or is no literal of one."""
    text = process.env.get(name, "").lower()
    return True if text in TRUE else False if text in FALSE else None


def prefill_cp(process: Process) -> Option | None:
    """The switch that turns context parallelism of prefill on, by any of its names."""
    return next((option for name in CP_SWITCHES if (option := process.given(name))), None)


def patched(setup: Setup, name: str) -> bool:
    """Whether a patch of this name (`prefill-dispatch`) is in the tree, whatever its topic."""
    return any(one.rpartition("/")[2] == name for one in setup.patches)


def unpatched(setup: Setup) -> Severity | None:
    """Severity of what only a patch settles: nobody knows what the image of a raw command was patched with."""
    return "info" if setup.stack is None else None


def unless_patched(setup: Setup) -> str:
    """What the message of such a finding says of it; nothing in a stack, whose queue is known."""
    return ", unless its image is patched" if setup.stack is None else ""


def at_flag(process: Process, name: str) -> Place:
    """Where a flag stands, as it was typed; by its name when it is not written."""
    option = process.given(name)
    return Place("flag", option.name if option else name, process.id)


def at_env(process: Process, name: str) -> Place:
    return Place("env", name, process.id)

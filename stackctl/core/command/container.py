"""What a `docker run` tells of the engine inside: variables, shared memory, limits, cards, network. It runs nothing.

Of a container that was started elsewhere (`docker exec`), by a compose file, or with options out of a variable, the
limits are not known; apptainer gives its containers the machine's shared memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from stackctl.core.command.words import Word

OF_THE_MACHINE = frozenset(("apptainer", "singularity"))
PROGRAMS = frozenset(("docker", "podman", "nerdctl")) | OF_THE_MACHINE
OPTIONS = {
    "--shm-size": "shm-size", "--ipc": "ipc", "--gpus": "gpus", "--network": "network", "--net": "network",
    "--ulimit": "ulimit",
}  # fmt: skip
MOUNTS = frozenset(("-v", "--volume", "--mount", "--tmpfs"))
SWITCHES = frozenset(("--rm", "-d", "--detach", "-i", "-t", "-it", "-ti", "-itd", "-dit", "--privileged", "--init"))
BEHIND_IMAGE = re.compile(r"(?:\S*/)?(?:python[\d.]*|bash|sh|env|exec|nohup)|-l?c|-u")
MEMORY = re.compile(r"/dev/shm(?![\w/-])")


@dataclass(frozen=True)
class Container:
    """`given`: its options by their long names without dashes. `behind`: words up to the last of them.

    `limited`: whether what it does not say of its limits is the default. `own_memory`: something is mounted as its
    shared memory, or it has the machine's.
    """

    env: Mapping[str, Word] = field(default_factory=dict)
    given: Mapping[str, Word] = field(default_factory=dict)
    env_open: bool = False
    behind: int = 0
    limited: bool = True
    own_memory: bool = False


def container_of(before: Sequence[Word], outside: Mapping[str, Word]) -> Container | None:
    """The container that these words start. `outside`: variables that `-e NAME` passes on."""
    names = [one.text.rpartition("/")[2] for one in before]
    start = next((at for at, name in enumerate(names) if name in PROGRAMS), None)
    if start is None or not {"run", "exec", "create"} & set(names[start:]):
        return None
    env: dict[str, Word] = {}
    given: dict[str, Word] = {}
    behind, is_open = start, False
    limited = "exec" not in names[start:] and "compose" not in names[start : start + 2]
    memory = names[start] in OF_THE_MACHINE
    for at in range(start, len(before)):
        limited = limited and not _may_be_options(before, at)
        name, value, used = _option(before, at)
        if name in ("-e", "--env") and value is not None:
            variable, equals, text = value.text.partition("=")
            passed = outside.get(variable) or replace(value, text=f"${variable}", unknown=(f"${variable}",))
            env[variable] = replace(value, text=text, unknown=_left(value, text)) if equals else passed
        elif name == "--env-file":
            is_open = True
        elif name in MOUNTS and value is not None:
            memory = memory or MEMORY.search(value.text) is not None
        elif name in OPTIONS and value is not None:
            before_it = given.get(OPTIONS[name])
            if name == "--ulimit" and before_it is not None:
                value = replace(value, text=f"{before_it.text} {value.text}")
            given[OPTIONS[name]] = value
        else:
            continue
        behind = at + used
    return Container(env, given, is_open, behind, limited, memory)


def _may_be_options(words: Sequence[Word], at: int) -> bool:
    """Whether nothing is known of a word that stands where options stand: no value of one, and not the image."""
    before = words[at - 1].text if at else ""
    is_value = before.startswith("-") and "=" not in before and before not in SWITCHES
    is_image = all(BEHIND_IMAGE.fullmatch(one.text) for one in words[at + 1 :])
    return words[at].is_hole and not is_value and not is_image


def _option(words: Sequence[Word], at: int) -> tuple[str, Word | None, int]:
    """Name, value and number of words of `--name value`, `--name=value`, `-eNAME=value`."""
    one = words[at]
    name, equals, value = one.text.partition("=")
    if name.startswith("--") and equals:
        return name, replace(one, text=value, unknown=_left(one, value)), 1
    if one.text.startswith("-e") and len(one.text) > 2 and not one.text.startswith("--"):
        return "-e", replace(one, text=one.text[2:]), 1
    return one.text, words[at + 1] if at + 1 < len(words) else None, 2


def _left(one: Word, text: str) -> tuple[str, ...]:
    return tuple(hole for hole in one.unknown if hole in text)

"""What a `docker run` tells of the engine inside: variables, shared memory, limits, cards, network. It runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from stackctl.core.command.words import Word

PROGRAMS = frozenset(("docker", "podman", "nerdctl", "apptainer", "singularity"))
OPTIONS = {
    "--shm-size": "shm-size", "--ipc": "ipc", "--gpus": "gpus", "--network": "network", "--net": "network",
    "--ulimit": "ulimit",
}  # fmt: skip


@dataclass(frozen=True)
class Container:
    """`given`: its options by their long names without dashes. `behind`: words up to the last of them."""

    env: Mapping[str, Word] = field(default_factory=dict)
    given: Mapping[str, Word] = field(default_factory=dict)
    env_open: bool = False
    behind: int = 0

    @property
    def shares_ports(self) -> bool:
        """Whether its ports are those of the machine."""
        network = self.given.get("network")
        return network is not None and network.text == "host"


def container_of(before: Sequence[Word], outside: Mapping[str, Word]) -> Container | None:
    """The container that these words start. `outside`: variables that `-e NAME` passes on."""
    names = [one.text.rpartition("/")[2] for one in before]
    start = next((at for at, name in enumerate(names) if name in PROGRAMS), None)
    if start is None or not {"run", "exec", "create"} & set(names[start:]):
        return None
    env: dict[str, Word] = {}
    given: dict[str, Word] = {}
    behind, is_open = start, False
    for at in range(start, len(before)):
        name, value, used = _option(before, at)
        if name in ("-e", "--env") and value is not None:
            variable, equals, text = value.text.partition("=")
            passed = outside.get(variable) or replace(value, text=f"${variable}", unknown=(f"${variable}",))
            env[variable] = replace(value, text=text, unknown=_left(value, text)) if equals else passed
        elif name == "--env-file":
            is_open = True
        elif name in OPTIONS and value is not None:
            before_it = given.get(OPTIONS[name])
            if name == "--ulimit" and before_it is not None:
                value = replace(value, text=f"{before_it.text} {value.text}")
            given[OPTIONS[name]] = value
        else:
            continue
        behind = at + used
    return Container(env, given, is_open, behind)


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

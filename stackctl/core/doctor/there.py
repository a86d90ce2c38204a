"""What runs of a stack on a host, as values: what the stack file says of it, and what is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackctl.core.deploy.facts import HostFacts
from stackctl.core.deploy.record import Record
from stackctl.core.deploy.values import Launch
from stackctl.core.doctor.saved import Saved
from stackctl.core.doctor.values import Engine, Facts
from stackctl.core.upstream.values import Upstream

LABEL = "io.stackctl."  # how labels of stackctl begin


@dataclass(frozen=True)
class Planned:
    """What the stack file says now for one host. `release` is empty when it could not be made, then `why` says why."""

    stack: str
    release: str
    launches: tuple[Launch, ...]
    ports: Mapping[int, str] = field(default_factory=dict)  # all that they listen on -> instance
    trees: tuple[str, ...] = ()
    variant: str = ""
    why: str = ""
    table: Upstream | None = None  # of the patched tree, where it is known

    def table_of(self, launch: Launch) -> Upstream | None:
        """The router has a parser of its own."""
        return None if launch.role == "router" else self.table


@dataclass(frozen=True)
class Answer:
    """What answers at the address of an instance. `status` 0: nobody; `differs`: of /server_info, as the gate does."""

    status: int = 0
    why: str = ""
    release: str = ""
    module: str = ""  # the folder that it was imported from, where it tells
    differs: tuple[tuple[str, object, object], ...] = ()
    workers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Container:
    """`labels`: of stackctl's own names, and those of the image specification."""

    name: str
    image: str
    labels: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        labels = "".join(f", {key}={value}" for key, value in sorted(self.labels.items()))
        return f"{self.name} of image {self.image}{labels or ', without a label of stackctl'}"


@dataclass(frozen=True)
class There:
    """`state`: of the folder of the stack on the host; `answers`: by instance; `saved`: moments of what serves."""

    facts: Facts
    state: HostFacts
    answers: Mapping[str, Answer] = field(default_factory=dict)
    saved: tuple[Saved, ...] = ()
    containers: Mapping[str, Container] = field(default_factory=dict)  # by id, of engines that run in one
    fault: str = ""  # why the folder could not be read

    @property
    def record(self) -> Record | None:
        """Of the release that serves."""
        return self.state.records.get(self.state.served) if self.state.served else None

    def engine(self, instance: str) -> Engine | None:
        return next((one for one in self.facts.engines if one.ours and one.instance == instance), None)


def parse_answers(said: Mapping[str, Any]) -> dict[str, Answer]:
    """`answers` of onhost/serving.py."""
    return {
        name: Answer(
            one["status"],
            one["why"],
            one["release"],
            one["module"],
            tuple((key, there, wanted) for key, there, wanted in one["differs"]),
            tuple(one["workers"]),
        )
        for name, one in said.items()
    }


def parse_containers(said: Mapping[str, Any]) -> dict[str, Container]:
    """`containers` of onhost/serving.py."""
    return {id: Container(one["name"], one["image"], dict(one["labels"])) for id, one in said.items()}

"""What a stack wants of one host: cards, ports, model, packages. The other half of every finding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stackctl.core.stack.ports import prometheus_port
from stackctl.core.stack.resolved import HostSpec, Instance, PypiBase, ResolvedStack

TORCH = "torch-cuda"  # not a distribution: the CUDA that torch was built for
LABEL = "io.stackctl.stack"  # of every image that is built for a stack
PACKAGES = (
    "sglang", "sglang-router", "torch", "triton", "transformers", "flashinfer-python", "sglang-kernel", "sgl-kernel",
    "nixl", "mooncake-transfer-engine", "nvidia-nccl-cu12", "nvidia-nccl-cu13",
)  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """`cards`: indices that instances name. `ports`: port -> `prefill-0`, or `prefill-0 (bootstrap)`.

    `model`: a path that must be there; None when a recipe makes the model. `pins`: distribution -> version.
    `python`: the interpreter that hosts.H names; "" when stackctl makes one. `base`: sglang's version, when one is
    pinned. `images`: what docker is asked for: a reference, or
    `label=NAME=VALUE`.
    """

    stack: str
    spec: HostSpec
    instances: tuple[Instance, ...] = ()
    cards: tuple[int, ...] = ()
    ports: Mapping[int, str] | None = None
    model: str | None = None
    pins: Mapping[str, str] | None = None
    python: str = ""
    base: str | None = None
    sglang: bool = True
    images: tuple[str, ...] = ()

    @property
    def has_cards(self) -> bool:
        """Whether cards matter there at all."""
        return bool(self.cards or self.spec.gpu_count)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Cards that talk to each other: those of one engine."""
        return tuple(one.gpus for one in self.instances if len(one.gpus) > 1)

    @property
    def paths(self) -> tuple[str, ...]:
        """Places whose disk matters."""
        return (f"~/.stackctl/{self.stack}", *((self.model,) if self.model else ()))


def wanted(stack: ResolvedStack, host: str) -> Wanted:
    spec = stack.hosts[host]
    instances = tuple(one for one in stack.instances if one.host == host)
    router = any(one.role == "router" for one in instances)
    return Wanted(
        stack.name,
        spec,
        instances,
        tuple(sorted({card for one in instances for card in one.gpus})),
        dict(pair for one in instances for pair in _ports(one)),
        None
        if stack.model.recipe is not None or not any(one.role != "router" for one in instances)
        else stack.model.path,
        dict([stack.router_package.split("==")]) if stack.router_package and router else {},
        spec.python or "",
        _version(stack),
        stack.serve.module.split(".")[0] == "sglang",
        _images(stack) if spec.runtime == "docker" else (),
    )


def _images(stack: ResolvedStack) -> tuple[str, ...]:
    base = (stack.image.from_,) if stack.image else ()
    return (f"label={LABEL}={stack.name}", *base)


def hosts_of(stack: ResolvedStack) -> tuple[str, ...]:
    """Hosts that an instance is on, in the order of the file, then those that a bisect would use."""
    used = {one.host for one in stack.instances}
    return (*(name for name in stack.hosts if name in used), *(name for name in stack.hosts if name not in used))


def _ports(one: Instance) -> Iterator[tuple[int, str]]:
    yield one.port, one.id
    if one.role == "router":
        yield prometheus_port(one), f"{one.id} (metrics)"
    if one.bootstrap_port is not None:
        yield one.bootstrap_port, f"{one.id} (bootstrap)"


def _version(stack: ResolvedStack) -> str | None:
    if isinstance(stack.base, PypiBase):
        name, _, version = stack.base.requirement.partition("==")
        return version if re.fullmatch(r"sglang", name) and version else None
    return None

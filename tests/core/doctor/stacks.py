"""What stacks want of a host, made by hand for tables of findings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stackctl.core.doctor.wanted import Wanted
from stackctl.core.stack.resolved import HostSpec, Instance

GIB = 1 << 30
NIXL = {"disaggregation-transfer-backend": "nixl"}
SPEC = HostSpec(
    "gpu1", "ops@gpu1.example", python="/opt/sglang/bin/python", gpu_count=8, gpu_arch="sm_120", gpu_memory=96 * GIB
)
INSTANCES = (
    Instance("prefill", 0, "gpu1", 30000, (0, 1, 2, 3), 8998, NIXL),
    Instance("decode", 0, "gpu1", 30300, (4, 5, 6, 7), None, NIXL),
    Instance("router", 0, "gpu1", 31000),
)
PROD = Wanted(
    "prod",
    SPEC,
    INSTANCES,
    tuple(range(8)),
    {30000: "prefill-0", 8998: "prefill-0 (bootstrap)", 30300: "decode-0", 31000: "router-0"},
    "/models/V4",
    {"sglang-router": "0.3.2"},
    "/opt/sglang/bin/python",
    "0.5.15",
)


def wants(**changed: Any) -> Wanted:
    """PROD, with fields of it or of its host (`host_…`) changed."""
    host = {name.removeprefix("host_"): changed.pop(name) for name in list(changed) if name.startswith("host_")}
    return replace(PROD, spec=replace(SPEC, **host), **changed)


DOCKER = wants(host_runtime="docker", images=("label=io.stackctl.stack=prod", "a/b:c"))
DEMO = Wanted(
    "demo",
    HostSpec("local", "local"),
    (Instance("single", 0, "local", 31001),),
    ports={31001: "single-0"},
    model="/usr/share",
    pins={"sglang-router": "0.3.2"},
    sglang=False,
)

"""Outputs of programs, out of tests/cases/nvidia, and an answer of onhost/doctor.py made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackctl.core.doctor.read import Times, look_of
from stackctl.core.doctor.values import Look

CASES = Path(__file__).parents[2] / "cases" / "nvidia"
ARGV = {
    "nvidia-smi": "nvidia-smi -q -x",
    "nvidia-smi-query": "nvidia-smi --query-gpu=index,uuid --format=csv,nounits",
    "nvidia-smi-topo": "nvidia-smi topo -m",
    "nvidia-smi-p2p": "nvidia-smi topo -p2p r",
    "lspci": "lspci -vvv",
    "chronyc": "chronyc -h 127.0.0.1 -n tracking",
    "dmesg": "dmesg",
    "docker-version": "docker version --format {{json .}}",
    "docker-info": "docker info --format {{json .}}",
    "nvidia-ctk": "nvidia-ctk --version",
}
GIB = 1 << 30


def case(name: str) -> str:
    """Without the line that says where it is from; XML has that in a comment."""
    text = (CASES / name).read_text()
    return text.partition("\n")[2] if text.startswith("#") else text


def command(name: str, stdout: str = "", stderr: str = "", code: int | None = 0, **more: Any) -> dict[str, Any]:
    argv = ARGV.get(name, name).split(" ")
    return {"name": name, "argv": argv, "code": code, "stdout": stdout, "stderr": stderr, "seconds": 0.1, **more}


def eight(**changed: Any) -> dict[str, dict[str, Any]]:
    """Commands of a machine with eight cards; `changed`: by name with `_` for `-`, None takes one out."""
    found = {
        "nvidia-smi": command("nvidia-smi", case("rtx-pro-6000-x8.xml")),
        "nvidia-smi-query": command("nvidia-smi-query", case("rtx-pro-6000-x8.csv")),
        "nvidia-smi-topo": command("nvidia-smi-topo", case("topo-m-x8.txt")),
        "nvidia-smi-p2p": command("nvidia-smi-p2p", case("topo-p2p-x8.txt")),
        "lspci": command("lspci", code=None, stderr="only root is told"),
        "docker-version": command("docker-version", code=None, missing=True),
        "docker-info": command("docker-info", code=None, missing=True),
        "nvidia-ctk": command("nvidia-ctk", code=None, missing=True),
        "dmesg": command("dmesg", code=1, stderr="dmesg: read kernel buffer failed: Operation not permitted"),
        "chronyc": command("chronyc", "Reference ID    : C0A80101 (192.168.1.1)\nStratum         : 3\n"),
    }
    for name, value in changed.items():
        found.pop(name.replace("_", "-"))
        if value is not None:
            found[name.replace("_", "-")] = value
    return found


def answer(commands: dict[str, dict[str, Any]], **changed: Any) -> dict[str, Any]:
    """What the program on the host prints."""
    disk = {"path": "~/.stackctl/prod", "place": "/home/ops", "kind": "ext4", "total": 900 * GIB, "free": 500 * GIB}
    model = {**disk, "path": "/models/V4", "place": "/models/V4", "inodes_free": 10**7}
    return {
        "platform": "linux",
        "user": "ops",
        "system": {
            "hostname": "gpu1.example", "kernel": "6.8.0-90-generic", "machine": "x86_64", "os": "Ubuntu 24.04.3 LTS",
            "boot": 1.0, "cpus": 128, "root": False, "memory_total": 1511 * GIB, "memory_free": 1400 * GIB,
            "swap_total": 0, "governor": "performance", "cgroup": "v2", "interfaces": ["eth0", "lo"],
            "numa": {"0": "0-31,64-95", "1": "32-63,96-127"}, "numa_balancing": False,
        },
        "module": "580.95.05",
        "smi": True,
        "links": {"iommu_cmdline": ["iommu=pt"], "iommu_units": 2, "iommu_type": "identity", "kernel_parameters": {}},
        "places": {"0000:01:00.0": {"node": 0, "above": ["0000:00:01.1"]}},
        "limits": {"nofile": [1024, 1048576], "memlock": [None, None]},
        "disks": [{**disk, "inodes_free": 10**7}, model],
        "shm": {"path": "/dev/shm", "place": "/dev/shm", "kind": "tmpfs", "total": 755 * GIB, "free": 700 * GIB},
        "clock": {"synchronized": True},
        "listeners": [],
        "engines": [],
        "on_cards": {},
        "variables": {},
        "nccl_conf": {},
        "python": {
            "path": "/opt/sglang/bin/python", "version": "3.12.3", "fault": "",
            "packages": {"sglang": "0.5.15", "sglang-router": "0.3.2", "torch": "2.11.0+cu130", "torch-cuda": "13.0"},
        },
        "commands": list(commands.values()),
        "begin": 100.1,
        "end": 101.1,
        **changed,
    }  # fmt: skip


def look(commands: dict[str, dict[str, Any]] | None = None, **changed: Any) -> Look:
    return look_of("gpu1", answer(eight() if commands is None else commands, **changed), Times(100.0, 101.2))

"""A host with two cards, made by hand for tests of what changed and what runs."""

from __future__ import annotations

from dataclasses import replace

from stackctl.core.doctor.values import (
    Bridge,
    Card,
    CardProcess,
    Clock,
    Docker,
    Driver,
    Engine,
    Facts,
    Interpreter,
    Limit,
    Links,
    Listener,
)


def card(index: int, **changed: object) -> Card:
    plain = Card(
        index,
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        f"GPU-{index:08d}",
        compute="12.0",
        memory_total=97887 << 20,
        memory_used=1 << 30,
        power_limit=600.0,
        clock_sm=180,
        clock_sm_max=2430,
        clock_memory=405,
        clock_memory_max=12481,
        temperature=30 + index,
        ecc=True,
        persistence=True,
        mig=False,
        pcie="gen 5 x16",
        pcie_max="gen 5 x16",
        numa=0,
    )
    return replace(plain, **changed)  # type: ignore[arg-type]


def host(**changed: object) -> Facts:
    plain = Facts(
        host="gpu1",
        hostname="gpu1",
        when=1_700_000_000.0,
        kernel="6.8.0-45-generic",
        os="Ubuntu 24.04.1 LTS",
        boot=1_699_000_000.0,
        cpus=128,
        numa={"0": "0-127"},
        numa_balancing=False,
        memory_total=540_000_000_000,
        memory_free=400_000_000_000,
        swap_total=0,
        shm_total=270_000_000_000,
        shm_free=269_000_000_000,
        governor="performance",
        cgroup="v2",
        driver=Driver("580.95.05", "13.0", "580.95.05", installed=True),
        cards=(card(0), card(1)),
        links=Links(
            {"0-1": "NODE"},
            {"0-1": "OK"},
            (Bridge("00:01.1", "PCI bridge"), Bridge("40:01.1", "PCI bridge")),
            ("iommu=pt",),
            4,
            "identity",
            {"RegistryDwords": '""'},
        ),
        docker=Docker(
            True, "27.3.1", driver="overlay2", runtimes=("io.containerd.runc.v2", "nvidia"), toolkit="1.17.0"
        ),
        limits={"memlock": Limit(None, None), "nofile": Limit(1 << 20, 1 << 20), "nproc": Limit(100, 100)},
        clock=Clock(0.2, 0.1, True, "chrony"),
        ports=(Listener(22, "0.0.0.0", 1, "root", "sshd"),),
        variables={"NCCL_P2P_LEVEL": "SYS"},
        nccl_conf={"NCCL_DEBUG": "WARN"},
        python=Interpreter("/opt/python", "3.11.7", {"torch": "2.9.1", "nvidia-nccl-cu13": "2.28.3"}),
        kernel_log=(),
        missing=("chronyc",),
    )
    return replace(plain, **changed)  # type: ignore[arg-type]


def engine(instance: str, **changed: object) -> Engine:
    plain = Engine(100, "ops", (), {"NCCL_DEBUG": "WARN"}, 1_700_000_000.0, True, instance, "0123456789ab", "main")
    return replace(plain, **changed)  # type: ignore[arg-type]


BUSY = CardProcess(77, "C", "python", 9 << 30, "ops", "python -m sglang.launch_server", True)

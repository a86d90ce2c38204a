"""Each finding: a host that has it, and the plain host that has none."""
# ruff: noqa: E501  (tables: a row a line)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackctl.core.doctor.findings import findings
from stackctl.core.doctor.values import (
    Bridge,
    Card,
    CardProcess,
    Clock,
    Disk,
    Docker,
    Driver,
    Engine,
    Facts,
    Finding,
    Interpreter,
    Limit,
    Links,
    Listener,
    Look,
)
from stackctl.core.doctor.wanted import Wanted
from tests.core.doctor.outputs import case, command, eight, look
from tests.core.doctor.stacks import DEMO, DOCKER, INSTANCES, PROD, wants

GIB, MIB = 1 << 30, 1 << 20


def ids(found: Look, wanted: Wanted = PROD) -> list[str]:
    return [one.id for one in findings(found, wanted)]


def changed(change: Callable[[Facts], Facts], base: Look | None = None) -> Look:
    base = base or plain()
    return replace(base, facts=change(base.facts))


def plain() -> Look:
    """Nothing is wrong there; that ACS needs root is no news of it."""
    found = look()
    return replace(found, facts=replace(found.facts, links=replace(found.facts.links, bridges=())))


def facts(**values: Any) -> Look:
    return changed(lambda one: replace(one, **values))


def cards(index: int, **values: Any) -> Look:
    return changed(
        lambda one: replace(one, cards=tuple(replace(c, **values) if c.index == index else c for c in one.cards))
    )


def links(**values: Any) -> Look:
    return changed(lambda one: replace(one, links=replace(one.links, **values)))


def python(**packages: str | None) -> Look:
    def change(one: Facts) -> Facts:
        named = {name.replace("_", "-"): version for name, version in packages.items()}
        kept = {**one.python.packages, **named}
        return replace(one, python=replace(one.python, packages={name: v for name, v in kept.items() if v}))

    return changed(change)


def test_a_sound_host_has_no_findings() -> None:
    assert findings(plain(), PROD) == ()


RUNS = Docker(True, "28", runtimes=("nvidia",))
FIRES: list[tuple[str, str, Look, Wanted, str]] = [
    ("CARD-COUNT", "error", changed(lambda one: replace(one, cards=one.cards[:7])), wants(cards=(0, 1)), "8 cards, and the host has 7"),
    ("CARD-COUNT", "info", plain(), wants(host_gpu_count=4), "says 4 cards, and the host has 8"),
    ("CARD-INDEX", "error", plain(), wants(cards=(0, 8)), "uses card 8"),
    ("CARD-ARCH", "error", cards(5, compute="9.0", name="NVIDIA H200"), PROD, "card 5 (NVIDIA H200) is sm_90"),
    ("CARD-MEMORY", "error", cards(2, memory_total=32607 * MIB), PROD, "card 2"),
    ("CARD-MIXED", "warning", cards(2, name="NVIDIA GeForce RTX 5090"), PROD, "2 kinds"),
    ("CARD-LOST", "error", cards(3, fault="GPU is lost"), PROD, "card 3 at 00000000:61:00.0 does not answer: GPU is lost"),
    ("CARD-IN-USE", "error", cards(1, processes=(CardProcess(9, "C", "python3", 512 * MIB, "eve", "python3 train.py"),)), PROD, "pid 9 (eve), 512 MiB: python3 train.py"),
    ("CARD-IN-USE", "warning", cards(1, processes=(CardProcess(9, "G", "/usr/lib/xorg/Xorg"),)), PROD, "Xorg"),
    ("CARD-MEMORY-TAKEN", "error", cards(1, memory_used=30000 * MIB), PROD, "card 1 has 30000 MiB in use"),
    ("ECC-ERRORS", "error", cards(1, ecc_uncorrected=2), PROD, "2 uncorrected"),
    ("ECC-UNEVEN", "warning", cards(1, ecc=False), PROD, "different ECC settings"),
    ("ECC-PENDING", "warning", cards(1, ecc_pending=False), PROD, "ECC of card 1"),
    ("MIG-ON", "error", cards(1, mig=True), PROD, "divided"),
    ("CARD-SLOWED", "warning", cards(1, slowed=("hw_thermal_slowdown",)), PROD, "hw_thermal_slowdown"),
    ("PCIE-NARROW", "warning", cards(1, pcie="gen 1 x8"), PROD, "gen 1 x8, and could with gen 5 x16"),
    ("POWER-CAP", "info", cards(1, power_limit=450.0), PROD, "power of card 1"),
    ("POWER-UNEVEN", "warning", cards(1, power_limit=450.0), PROD, "power limits"),
    ("PERSISTENCE-OFF", "info", cards(1, persistence=False), PROD, "card 1"),
    ("DRIVER-MISSING", "error", facts(cards=(), driver=Driver()), PROD, "not installed"),
    ("DRIVER-MISMATCH", "error", look(eight(nvidia_smi=command("nvidia-smi", case("mismatch.txt"), code=18))), PROD, "two versions"),
    ("DRIVER-SILENT", "error", look(eight(nvidia_smi=command("nvidia-smi", case("no-driver.txt"), code=9))), PROD, "has failed"),
    ("CARD-LOST", "warning", cards(3, fault="GPU is lost"), wants(cards=(0, 1), host_gpu_count=0), "card 3"),
    ("CARD-NONE", "error", facts(cards=()), PROD, "sees no card"),
    ("CARD-NONE", "error", look(eight(nvidia_smi=command("nvidia-smi", "No devices were found\n", code=6))), PROD, "sees no card"),
    ("DRIVER-UNLOADED", "error", look({}, module=""), PROD, "has not loaded it"),
    ("DRIVER-SILENT", "error", look(eight(nvidia_smi=command("nvidia-smi", code=None, cut=60.0))), PROD, "within 60 s"),
    ("DRIVER-OLD", "error", facts(driver=Driver("570.133.20", "12.8", installed=True)), PROD, "which needs driver 580"),
    ("CUDA-OLD", "error", python(torch="2.6.0+cu126", torch_cuda="12.6"), PROD, "CUDA 12.8 was the first"),
    ("XID", "warning", facts(kernel_log=("NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.",)), PROD, "1 fault of"),
    ("P2P-NO", "warning", links(p2p={"0-1": "CNS", "4-5": "OK"}), PROD, "chipset does not support it"),
    ("LINK-SYS", "info", plain(), wants(instances=(replace(INSTANCES[0], gpus=(0, 7)),)), "1 pair"),
    ("ACS-ON", "warning", links(bridges=(Bridge("00:01.1", "PCI bridge", ("SrcValid", "ReqRedir"), above=True),)), PROD, "1 bridge above"),
    ("ACS-UNKNOWN", "info", look(), PROD, "only root"),
    ("IOMMU-ON", "warning", links(iommu_type="DMA-FQ"), PROD, "translates"),
    ("NCCL-ODD", "warning", facts(nccl_conf={"NCCL_P2P_LEVEL": "FAST"}), PROD, "NCCL_P2P_LEVEL=FAST, of /etc/nccl.conf"),
    ("NCCL-ODD", "warning", facts(variables={"UCX_TLS": "rc,tcp"}), PROD, "cuda_copy"),
    ("NCCL-ODD", "warning", plain(), wants(host_env={"NCCL_SOCKET_IFNAME": "ib0"}), "no interface"),
    ("NCCL-ODD", "warning", plain(), wants(host_env={"NCCL_P2P_DISABLE": "1", "NCCL_P2P_LEVEL": "SYS"}), "says nothing"),
    ("NCCL-ODD", "warning", plain(), wants(host_env={"NCCL_SHM_DISABLE": "yes"}), "number"),
    ("NCCL-CONF", "info", facts(nccl_conf={"NCCL_P2P_LEVEL": "PHB"}), wants(host_env={"NCCL_P2P_LEVEL": "SYS"}), "loses"),
    ("DOCKER-MISSING", "error", plain(), DOCKER, "not installed"),
    ("DOCKER-SILENT", "error", facts(docker=Docker(True, fault="permission denied")), DOCKER, "permission denied"),
    ("DOCKER-NO-CARDS", "error", facts(docker=Docker(True, "28", runtimes=("runc",))), DOCKER, "runtime `nvidia`"),
    ("DOCKER-NO-CARDS", "warning", facts(docker=Docker(True, "28", runtimes=("runc",)), missing=()), DOCKER, "runtime `nvidia`"),
    ("TOOLKIT-MISSING", "warning", facts(docker=Docker(True, "28", runtimes=("nvidia",))), DOCKER, "nvidia-ctk"),
    ("IMAGE-NONE", "info", facts(docker=replace(RUNS, images={"a/b:c": {}}), missing=()), DOCKER, "label of prod"),
    ("IMAGE-BASE", "info", facts(docker=replace(RUNS, ours=("prod:1 f0",)), missing=()), DOCKER, "a/b:c, is not there"),
    ("HOME-CLOSED", "error", facts(home="/home/ops/.stackctl: Permission denied"), PROD, "releases in ~/.stackctl/prod: /home/ops/.stackctl: Perm"),
    ("DISK-FULL", "error", facts(disks=(Disk("~/.stackctl/prod", "/home", "ext4", GIB, MIB, 10**6),)), PROD, "only 1 MiB"),
    ("DISK-LOW", "warning", facts(disks=(Disk("~/.stackctl/prod", "/home", "ext4", GIB, 5 * GIB, 10**6),)), PROD, "5.0 GiB"),
    ("INODES-LOW", "warning", facts(disks=(Disk("~/.stackctl/prod", "/home", "ext4", GIB, 50 * GIB, 20),)), PROD, "20 files"),
    ("DISK-NETWORK", "warning", facts(disks=(Disk("~/.stackctl/prod", "/home", "nfs4", GIB, 50 * GIB, None),)), PROD, "nfs4"),
    ("SHM-SMALL", "warning", facts(shm_total=64 * MIB, shm_free=60 * MIB), PROD, "0.1 GiB"),
    ("LIMIT-FILES", "warning", facts(limits={"nofile": Limit(1024, 4096)}), PROD, "4096 files"),
    ("LIMIT-MEMLOCK", "warning", facts(limits={"memlock": Limit(8 * MIB, 8 * MIB)}), PROD, "8 MiB"),
    ("PORT-IN-USE", "error", facts(ports=(Listener(30000, "0.0.0.0", 7, "eve", "nc -l 30000"),)), PROD, "port 30000, of prefill-0, is in use by pid 7 (eve): nc"),
    ("PORT-IN-USE", "error", facts(ports=(Listener(8998, "0.0.0.0"),)), PROD, "another user"),
    ("PORT-IN-USE", "error", facts(root=True, ports=(Listener(8998, "0.0.0.0"),)), PROD, "of a container"),
    ("PORT-STACK", "error", facts(ports=(Listener(31000, "::", 7, "ops", "router", stack="test"),)), PROD, "of stack test"),
    ("CLOCK-SKEW", "warning", facts(clock=Clock(-7.3, 0.2, True)), PROD, "7.3 s behind"),
    ("CLOCK-FREE", "info", facts(clock=Clock(0.1, 0.2, False)), PROD, "nobody keeps"),
    ("MODEL-MISSING", "error", facts(disks=(Disk("/models/V4", "/models", "ext4", GIB, GIB, 9),)), PROD, "/models/V4 is not there"),
    ("PYTHON-MISSING", "error", facts(python=Interpreter("/opt/sglang/bin/python", fault="No such file or directory")), PROD, "No such file"),
    ("PACKAGE-VERSION", "error", python(sglang_router="0.2.0"), PROD, "has sglang-router 0.2.0, the stack pins 0.3.2"),
    ("PACKAGE-MISSING", "error", python(sglang_router=None), PROD, "has no sglang-router"),
    ("SGLANG-VERSION", "warning", python(sglang="0.5.12"), PROD, "the stack's base is 0.5.15"),
    ("ENGINE-MISSING", "error", python(sglang=None, torch=None, torch_cuda=None), PROD, "neither sglang nor torch"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("id", "severity", "found", "wanted", "words"), FIRES, ids=[f"{row[0]}-{n}" for n, row in enumerate(FIRES)]
)
def test_a_finding_fires(id: str, severity: str, found: Look, wanted: Wanted, words: str) -> None:
    hits = [one for one in findings(found, wanted) if one.id == id and one.severity == severity]
    assert len(hits) == 1, findings(found, wanted)
    one = hits[0]
    assert words in one.message and one.host == wanted.spec.name
    assert one.remedy and one.evidence
    assert all(proof.command and proof.output for proof in one.evidence), one.evidence


QUIET: list[tuple[str, Look, Wanted]] = [
    ("our own processes on the cards", cards(1, memory_used=80000 * MIB, processes=(CardProcess(9, ours=True),)), PROD),
    ("a card that the stack does not use", cards(7, processes=(CardProcess(9),)), wants(cards=(0, 1))),
    ("a cap by power under load", cards(1, slowed=("sw_power_cap", "applications_clocks_setting")), PROD),
    ("links that sleep", cards(1, pcie="gen 1 x16"), PROD),
    ("a link nobody knows", cards(1, pcie="", pcie_max=""), PROD),
    ("a newer driver", facts(driver=Driver("610.43.02", "13.3", installed=True)), PROD),
    ("CUDA 12 on its own driver", python(torch_cuda="12.9"), PROD),
    ("no torch that anybody knows of", facts(driver=Driver("570.1", "12.8", installed=True), python=Interpreter()), PROD),
    ("peers of two engines", links(p2p={"3-4": "CNS"}), PROD),
    ("ACS elsewhere", links(bridges=(Bridge("c0:05.2", "", ("SrcValid",)),)), PROD),
    ("ACS that only blocks translated requests", links(bridges=(Bridge("00:01.1", "", ("TransBlk",), True),)), PROD),
    ("addresses passed through", links(iommu_type="identity"), PROD),
    ("variables that are right", facts(variables={"NCCL_P2P_LEVEL": "SYS", "UCX_TLS": "rc,cuda_copy", "NCCL_SOCKET_IFNAME": "eth"}), PROD),
    ("UCX told what not to use", facts(variables={"UCX_TLS": "^tcp"}), PROD),
    ("docker with all that it needs", facts(docker=replace(RUNS, ours=("prod:1 f0",), images={"a/b:c": {}}), missing=()), DOCKER),
    ("docker on a host without it", facts(docker=Docker(True, fault="away")), PROD),
    ("a disk of the model that is full", facts(disks=(Disk("/models/V4", "/models/V4", "nfs4", GIB, 0, 0),)), PROD),
    ("an engine by hand, which what runs tells", facts(ports=(Listener(30000, pid=7),), engines=(Engine(7, argv=("vllm",)),)), PROD),
    ("a docker that tells its runtimes to nobody", facts(docker=Docker(True, "28", ours=("prod:1 f0",), images={"a/b:c": {}}), missing=("nvidia-ctk",)), DOCKER),
    ("a model by its repository's name", facts(disks=(Disk("o/V4"),)), wants(model="o/V4")),
    ("our own port", facts(ports=(Listener(30000, "0.0.0.0", 7, "ops", "x", ours=True),)), PROD),
    ("somebody else's port", facts(ports=(Listener(22, "0.0.0.0", 1, "root", "sshd"),)), PROD),
    ("a clock within what the way takes", facts(clock=Clock(3.0, 1.5, True)), PROD),
    ("locked memory without RDMA", facts(limits={"memlock": Limit(1, 1)}), wants(instances=(replace(INSTANCES[0], flags={}),))),
    ("another tree than a release", python(sglang="0.5.12"), wants(base=None)),
]  # fmt: skip


@pytest.mark.parametrize(("found", "wanted"), [row[1:] for row in QUIET], ids=[row[0] for row in QUIET])
def test_what_is_no_fault_is_not_told(found: Look, wanted: Wanted) -> None:
    assert ids(found, wanted) == []


def test_a_stack_without_cards_is_not_told_about_them() -> None:
    nothing = changed(lambda one: replace(one, cards=(), driver=Driver(), shm_total=GIB, shm_free=GIB, limits={}))
    lost = cards(3, fault="GPU is lost", mig=True, power_limit=1.0)
    usr = (Disk("/usr/share", "/usr/share", "ext4", GIB, GIB, 10**6),)
    for found in (nothing, lost):
        found = replace(found, facts=replace(found.facts, disks=usr))
        assert ids(found, DEMO) == []


def test_an_index_without_a_card_says_nothing_more() -> None:
    assert (
        ids(facts(cards=(Card(-1, bus_id="0000:61:00.0", fault="GPU is lost"),)), wants(host_gpu_count=0, cards=()))
        == []
    )


def test_errors_come_first() -> None:
    found: tuple[Finding, ...] = findings(cards(1, power_limit=450.0, mig=True), PROD)
    assert [one.severity for one in found] == ["error", "warning", "info"]


def test_every_finding_of_the_code_is_in_the_table() -> None:
    import re
    from pathlib import Path

    folder = Path(__file__).parents[3] / "stackctl" / "core" / "doctor"
    written = {
        id
        for path in folder.glob("findings_*.py")
        for id in re.findall(r'"([A-Z][A-Z0-9]+-[A-Z0-9-]+|XID)",', path.read_text())
    }
    assert written - {row[0] for row in FIRES} == set()


def test_evidence_is_what_a_person_would_type() -> None:
    found = findings(cards(1, mig=True), PROD)[0]
    assert found.evidence[0].command == "nvidia-smi -q -x"
    assert isinstance(plain().facts.links, Links)

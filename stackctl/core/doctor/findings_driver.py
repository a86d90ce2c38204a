"""Driver, CUDA and the kernel's words about cards. Sources: NVIDIA's tables of driver versions, and what
nvidia-smi prints when it fails."""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.doctor.values import Evidence, Finding, Look
from stackctl.core.doctor.wanted import TORCH, Wanted

# https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
NEEDS_DRIVER = {11: 450, 12: 525, 13: 580}
# the first CUDA that compiles for a card: https://docs.nvidia.com/cuda/archive/12.8.0/cuda-toolkit-release-notes
NEEDS_CUDA = {"12.0": (12, 8), "12.1": (12, 9), "10.0": (12, 8), "10.3": (12, 9)}
SHOWN = 5  # lines of the kernel's log


def driver(look: Look, wanted: Wanted) -> Iterator[Finding]:
    facts = look.facts
    if not wanted.has_cards or (facts.cards and not facts.driver.fault):
        return
    fault = facts.driver.fault
    evidence = look.evidence("nvidia-smi", *([fault] if fault else []))
    if not facts.driver.installed:
        yield Finding(
            "DRIVER-MISSING",
            "error",
            "nvidia-smi is not installed, so there is no driver for the cards that the stack names",
            (look.evidence("nvidia-smi", "not found on $PATH"),),
            "Install NVIDIA's driver (580 or newer for CUDA 13), or give hosts.H.gpus to another host.",
        )
    elif not facts.driver.module and not fault.lower().startswith("no devices"):
        yield Finding(
            "DRIVER-UNLOADED",
            "error",
            "the driver is installed, and the kernel has not loaded it",
            (Evidence("cat /proc/driver/nvidia/version", "No such file or directory"),),
            "sudo modprobe nvidia; when it refuses, the module must be built for this kernel (dkms status).",
        )
    elif "version mismatch" in fault.lower():
        yield Finding(
            "DRIVER-MISMATCH",
            "error",
            "driver and library are of two versions: it was updated, and the kernel still has the old one",
            (evidence,),
            "Reboot, or stop all that uses the cards and load the module anew. Keep unattended upgrades off it.",
        )
    elif fault and not fault.lower().startswith("no devices"):
        yield Finding(
            "DRIVER-SILENT",
            "error",
            f"nvidia-smi cannot tell the cards: {fault}",
            (evidence,),
            "Look at `dmesg | grep -i nvrm`; a new kernel wants the module built anew (dkms status).",
        )
    else:
        yield Finding(
            "CARD-NONE", "error", "the driver is there and sees no card", (evidence,), "lspci -d 10de: shows them."
        )


def age(look: Look, wanted: Wanted) -> Iterator[Finding]:
    """CUDA as torch was built for, there; nothing is said when no interpreter is known that has torch."""
    cuda = look.facts.python.packages.get(TORCH)
    major, minor = _parts(cuda)
    if cuda is None or major is None or not wanted.has_cards:
        return
    have, _ = _parts(look.facts.driver.version)
    need = NEEDS_DRIVER.get(major)
    installed = f"torch {look.facts.python.packages.get('torch', '?')} is built for CUDA {cuda}"
    if need is not None and have is not None and have < need:
        yield Finding(
            "DRIVER-OLD",
            "error",
            f"driver {look.facts.driver.version} is too old: {installed}, which needs driver {need} or newer",
            (look.evidence("nvidia-smi", f"driver_version {look.facts.driver.version}"),),
            f"Install driver {need} or newer.",
        )
    for card in look.facts.cards:
        least = NEEDS_CUDA.get(card.compute or "")
        if least and (major, minor or 0) < least and card.index in wanted.cards:
            yield Finding(
                "CUDA-OLD",
                "error",
                f"card {card.index} has compute capability {card.compute}, which CUDA {least[0]}.{least[1]} was the "
                f"first to know; {installed}",
                (look.evidence("nvidia-smi-query", f"{card.index}, {card.name}, {card.compute}"),),
                "Install a torch of a newer CUDA there (cu130).",
            )
            return


def kernel_log(look: Look, wanted: Wanted) -> Iterator[Finding]:
    lines = [line for line in look.facts.kernel_log or () if "Xid" in line]
    if lines and wanted.has_cards:
        yield Finding(
            "XID",
            "warning",
            f"the driver has reported {len(lines)} fault{'s' * (len(lines) > 1)} of cards since the machine started",
            (look.evidence("dmesg", *lines[-SHOWN:]),),
            "Look the number up in NVIDIA's list of Xid errors; 48, 63, 64, 74, 79, 94, 95 and 119 speak of hardware.",
        )


def _parts(version: str | None) -> tuple[int | None, int | None]:
    words = [int(word) if word.isdigit() else None for word in (version or "").split(".")]
    return words[0], words[1] if len(words) > 1 else None


CHECKS = (driver, age, kernel_log)

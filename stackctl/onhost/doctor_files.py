"""What /proc, /sys and the limits of this login say: memory, processors, disks, IOMMU, clock. Reads only."""

from __future__ import annotations

import ctypes
import glob
import os
import platform
import re
import resource
import time
from typing import Any

LIMITS = ("MEMLOCK", "NOFILE", "STACK", "NPROC", "CORE")
UNSYNC = 0x40  # STA_UNSYNC of adjtimex
ALLOWED = re.compile(
    r"(?:NCCL|UCX|NIXL|MC|MOONCAKE|CUDA|NVIDIA|SGLANG|SGL|FLASHINFER|TORCH|TRITON|OMP|GLOO|NVSHMEM)_[A-Z0-9_]+"
)
ALONE = (
    "STACKCTL_INSTANCE",
    "STACKCTL_RELEASE",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PYTORCH_CUDA_ALLOC_CONF",
)


def read(path: str) -> str:
    """Empty when it is not there or not ours to read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def system() -> dict[str, Any]:
    names = os.uname()
    memory = {key: int(value) * 1024 for key, value in re.findall(r"(\w+):\s+(\d+) kB", read("/proc/meminfo"))}
    boot = re.search(r"^btime (\d+)", read("/proc/stat"), re.M)
    pretty = re.search(r'^PRETTY_NAME="?([^"\n]*)', read("/etc/os-release"), re.M)
    return {
        "hostname": names.nodename,
        "kernel": names.release,
        "machine": names.machine,
        "os": pretty[1] if pretty else platform.system(),
        "boot": float(boot[1]) if boot else None,
        "cpus": os.cpu_count(),
        "root": os.geteuid() == 0,
        "memory_total": memory.get("MemTotal"),
        "memory_free": memory.get("MemAvailable"),
        "swap_total": memory.get("SwapTotal"),
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip(),
        "cgroup": "v2" if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else "v1",
        "interfaces": sorted(os.listdir("/sys/class/net")) if os.path.isdir("/sys/class/net") else [],
        "numa": numa(),
        "numa_balancing": _bool(read("/proc/sys/kernel/numa_balancing").strip()),
    }


def numa() -> dict[str, str]:
    """Node -> its processors."""
    folders = glob.glob("/sys/devices/system/node/node[0-9]*")
    return {path.rpartition("node")[2]: read(path + "/cpulist").strip() for path in sorted(folders)}


def cards() -> dict[str, Any]:
    """Address on the PCI bus -> NUMA node (None when nobody knows) and the bridges above it, of NVIDIA's cards."""
    found = {}
    for folder in glob.glob("/sys/bus/pci/devices/*"):
        if read(folder + "/vendor").strip() == "0x10de" and read(folder + "/class").startswith("0x03"):
            node = read(folder + "/numa_node").strip()
            above = re.findall(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", os.path.realpath(folder))[:-1]
            found[os.path.basename(folder)] = {"node": int(node) if node.isdigit() else None, "above": above}
    return found


def links() -> dict[str, Any]:
    """Of the IOMMU: what the kernel was told, how many units are at work, and how the cards' groups are mapped."""
    types = set()
    for folder in glob.glob("/sys/kernel/iommu_groups/*"):
        devices = glob.glob(folder + "/devices/*")
        if any(read(device + "/vendor").strip() == "0x10de" for device in devices):
            types.add(read(folder + "/type").strip())
    words = read("/proc/cmdline").split()
    return {
        "iommu_cmdline": [word for word in words if "iommu" in word or word.startswith("pci=")],
        "iommu_units": len(glob.glob("/sys/class/iommu/*")) if os.path.isdir("/sys/class/iommu") else None,
        "iommu_type": ", ".join(sorted(filter(None, types))) or None,
        "kernel_parameters": {
            key: value
            for key, value in re.findall(r"^(\w+): (.*)$", read("/proc/driver/nvidia/params"), re.M)
            if key
            in ("EnablePCIeRelaxedOrderingMode", "GrdmaPciTopoCheckOverride", "RegistryDwords", "NVreg_RegistryDwords")
        },
    }


def module() -> str:
    """The version of the driver that the kernel has loaded; empty when it has none."""
    found = re.search(r"Module\S*(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?)", read("/proc/driver/nvidia/version"))
    return found[1] if found else read("/sys/module/nvidia/version").strip()


def limits() -> dict[str, Any]:
    """Soft and hard, of this login: what its processes get. None: unlimited."""
    found = {}
    for name in LIMITS:
        pair = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
        found[name.lower()] = [None if value == resource.RLIM_INFINITY else value for value in pair]
    return found


def disk(path: str) -> dict[str, Any]:
    """The file system that holds a path, or would."""
    place = os.path.expanduser(path)
    while not os.path.exists(place) and place not in ("/", ""):
        place = os.path.dirname(place)
    try:
        stat = os.statvfs(place)
    except OSError:
        return {"path": path, "place": ""}
    free, total = stat.f_bavail * stat.f_frsize, stat.f_blocks * stat.f_frsize
    inodes = stat.f_favail if stat.f_files else None  # some have no count of them
    return {"path": path, "place": place, "kind": kind(place), "total": total, "free": free, "inodes_free": inodes}


def closed(folder: str) -> str:
    """Why this user could not keep files there, as far as that is seen without a try; empty when he could."""
    place = folder
    while not os.path.lexists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        return f"{place}: Not a directory"
    if os.access(place, os.R_OK | os.W_OK | os.X_OK):
        return ""
    return f"{place}: {'Read-only file system' if os.statvfs(place).f_flag & os.ST_RDONLY else 'Permission denied'}"


def kind(path: str) -> str:
    """The type of the file system that a path is on."""
    real, best, found = os.path.realpath(path), "", ""
    for line in read("/proc/self/mounts").splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        mount = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[1])
        if len(mount) >= len(best) and (real + "/").startswith(mount.rstrip("/") + "/"):
            best, found = mount, fields[2]
    return found


def clock() -> dict[str, Any]:
    """Whether the kernel's clock is kept right by somebody: adjtimex(2) without a mode only reads."""
    buffer = (ctypes.c_long * 64)()
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(buffer))
    except (OSError, AttributeError):
        return {"synchronized": None}
    # struct timex: modes, offset, freq, maxerror, esterror, status (an int in a place of its own)
    return {"synchronized": None if state < 0 else not buffer[5] & 0xFFFFFFFF & UNSYNC}


def allowed(env: dict[str, str]) -> dict[str, str]:
    """Variables that decide how an engine runs, by name; all others stay here."""
    return {name: env[name][:2000] for name in sorted(env) if ALLOWED.fullmatch(name) or name in ALONE}


def conf(path: str) -> dict[str, str]:
    """Of an nccl.conf: NAME=value."""
    pairs = re.findall(r"^\s*([A-Z0-9_]+)\s*=\s*(.*?)\s*$", read(os.path.expanduser(path)), re.M)
    return {name: value for name, value in pairs if ALLOWED.fullmatch(name)}


def now() -> float:
    return time.time()


def _bool(word: str) -> bool | None:
    return word != "0" if word.isdigit() else None

"""Everything of a host that is no card: disks, shared memory, limits, ports, clock, the model's folder."""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.deploy.refuse import SPARE
from stackctl.core.doctor.values import Disk, Evidence, Finding, Listener, Look
from stackctl.core.doctor.wanted import Wanted

MIB, GIB = 1 << 20, 1 << 30
UNSEEN = "a process of another user (who that is, root can see)"
LOW = 10 * GIB  # for trees, logs and caches of compiled kernels
SHM = 32 * GIB  # what the model's recipe wants for a container
FILES = 65536  # sglang raises its own limit, up to the hard one only
SKEW = 2.0  # seconds
NETWORKED = ("nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "lustre", "beegfs", "ceph")


def disks(look: Look, wanted: Wanted) -> Iterator[Finding]:
    for disk in look.facts.disks:
        if disk.path == wanted.model or disk.free is None:
            continue
        evidence = (_df(disk),)
        if disk.free < SPARE:
            yield Finding(
                "DISK-FULL",
                "error",
                f"only {disk.free // MIB} MiB are free for {disk.path}",
                evidence,
                "Make room, or lower releases.keep and `stackctl prune`.",
                section="memory",
            )
        elif disk.free < LOW and wanted.has_cards:
            yield Finding(
                "DISK-LOW",
                "warning",
                f"{disk.free / GIB:.1f} GiB are free for {disk.path}: logs and compiled kernels take some",
                evidence,
                "Make room.",
                section="memory",
            )
        if disk.inodes_free is not None and disk.inodes_free < 10_000:
            yield Finding(
                "INODES-LOW",
                "warning",
                f"{disk.inodes_free} files can still be made on the disk of {disk.path}; a tree has some thousands",
                (Evidence(f"df -i {disk.place}", f"{disk.inodes_free} free"),),
                "Remove old trees: `stackctl prune`.",
                section="memory",
            )
        if disk.kind in NETWORKED:
            yield Finding(
                "DISK-NETWORK",
                "warning",
                f"{disk.path} is on {disk.kind}: another machine may write there, and a hold is one of this machine",
                evidence,
                "Keep the home of the user that deploys on a disk of the host.",
                section="memory",
            )


def home(look: Look, wanted: Wanted) -> Iterator[Finding]:
    if look.facts.home:
        place = f"~/.stackctl/{wanted.stack}"
        yield Finding(
            "HOME-CLOSED",
            "error",
            f"{look.facts.user} cannot keep releases in {place}: {look.facts.home}",
            (Evidence(f"ls -ld {look.facts.home.rpartition(': ')[0]}", look.facts.home),),
            "Make it a folder of the user that deploys, on a disk that can be written.",
            section="memory",
        )


def shm(look: Look, wanted: Wanted) -> Iterator[Finding]:
    total, free = look.facts.shm_total, look.facts.shm_free
    if total is None or free is None or wanted.spec.runtime == "docker":  # a container has its own
        return
    if (wanted.groups and total < SHM) or free < SPARE:
        yield Finding(
            "SHM-SMALL",
            "warning",
            f"/dev/shm has {total / GIB:.1f} GiB, {free / GIB:.1f} free: NCCL and the schedulers share memory there",
            (Evidence("df /dev/shm", f"size {total // MIB} MiB, available {free // MIB} MiB"),),
            "sudo mount -o remount,size=64G /dev/shm; remove what dead servers left there (sglang_*, sgl_shm_mq_*).",
            section="memory",
        )


def limits(look: Look, wanted: Wanted) -> Iterator[Finding]:
    if wanted.spec.runtime == "docker" or not wanted.has_cards:
        return
    files, locked = look.facts.limits.get("nofile"), look.facts.limits.get("memlock")
    if files is not None and files.hard is not None and files.hard < FILES:
        yield Finding(
            "LIMIT-FILES",
            "warning",
            f"a process there may open {files.hard} files at most; an engine wants {FILES} at many connections",
            (Evidence("ulimit -Hn", str(files.hard)),),
            "Raise it in /etc/security/limits.d (nofile), then log in anew.",
            section="limits",
        )
    backends = {one.flags.get("disaggregation-transfer-backend") for one in wanted.instances}
    pairs = any(one.role in ("prefill", "decode") for one in wanted.instances)
    if locked is not None and locked.hard is not None and pairs and backends & {"nixl", "mooncake"}:
        yield Finding(
            "LIMIT-MEMLOCK",
            "warning",
            f"a process there may lock {locked.hard // MIB} MiB of memory; RDMA locks its buffers",
            (Evidence("ulimit -Hl", f"{locked.hard // 1024} kB"),),
            "Say memlock unlimited in /etc/security/limits.d, then log in anew.",
            section="limits",
        )


def ports(look: Look, wanted: Wanted) -> Iterator[Finding]:
    """Of an engine that somebody started there, what runs (running.py) tells more."""
    foreign = {one.port: one for one in look.facts.ports if not one.ours}
    for port, whose in sorted((wanted.ports or {}).items()):
        one = foreign.get(port)
        if one is None or look.facts.stranger(port):
            continue
        who = _who(one, look.facts.root)
        yield Finding(
            "PORT-STACK" if one.stack else "PORT-IN-USE",
            "error",
            f"port {port}, of {whose}, is in use by {who}",
            (Evidence(f"ss -ltnp 'sport = :{port}'", f"LISTEN {one.address}:{port} {who}"),),
            f"stackctl stop {one.stack}" if one.stack else "End it, or choose another port in the stack.",
            section="ports",
        )


def _who(one: Listener, root: bool) -> str:
    if not one.pid:
        return "a process that even root does not see: of a container, or of the kernel" if root else UNSEEN
    stack = f" of stack {one.stack}" if one.stack else ""
    return f"pid {one.pid} ({one.user}){stack}: {one.command}"


def clock(look: Look, wanted: Wanted) -> Iterator[Finding]:
    there = look.facts.clock
    if there.offset is not None and abs(there.offset) - (there.error or 0.0) > SKEW:
        way = "ahead of" if there.offset > 0 else "behind"
        yield Finding(
            "CLOCK-SKEW",
            "warning",
            f"its clock is {abs(there.offset):.1f} s {way} this machine's: times of journals and logs do not fit",
            (
                Evidence(
                    "date +%s.%N (there and here, at one time)", f"{there.offset:+.3f} s, ± {there.error or 0:.3f}"
                ),
            ),
            "Keep both right: systemd-timesyncd or chrony.",
            section="clock",
        )
    elif there.synchronized is False:
        yield Finding(
            "CLOCK-FREE",
            "info",
            "nobody keeps its clock right; at this moment it agrees with this machine's",
            (Evidence("timedatectl show -p NTPSynchronized (asked by adjtimex)", "NTPSynchronized=no"),),
            "Start systemd-timesyncd or chrony.",
            section="clock",
        )


def model(look: Look, wanted: Wanted) -> Iterator[Finding]:
    disk = next((one for one in look.facts.disks if one.path == wanted.model), None)
    if wanted.model is None or disk is None or not absent(disk):
        return
    yield Finding(
        "MODEL-MISSING",
        "error",
        f"{wanted.model} is not there, or {look.facts.user} may not look into its folder",
        (Evidence(f"ls -d {wanted.model}", f"{disk.place or '/'} is as far as the path goes"),),
        "Correct model.path, or bring the model to the host; stackctl does not copy models.",
        section="model",
    )


def absent(disk: Disk) -> bool:
    """Whether nothing is at that path; of a repository's name a disk does not tell."""
    return disk.path.startswith("/") and disk.place.rstrip("/") != disk.path.rstrip("/")


def _df(disk: Disk) -> Evidence:
    free = (disk.free or 0) // MIB
    return Evidence(f"df {disk.place}", f"{disk.kind}: {free} MiB available of {(disk.total or 0) // MIB}")


CHECKS = (home, disks, shm, limits, ports, clock, model)

"""Who listens on a port of this machine, out of /proc: the sockets of TCP, and the processes that have them open."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any, NamedTuple

from stackctl.onhost import procs

LISTENS = "0A"  # the state, as /proc/net/tcp writes it


class Listening(NamedTuple):
    """`address`: as it was bound; `pid`: 0 for a process of another user, which we may not see."""

    port: int
    address: str
    pid: int


def listeners(ports: set[int], mine: set[int]) -> list[dict[str, Any]]:
    """Who listens on these ports; `ours` when it is this stack. pid 0: a process of another user, not to be seen."""
    return [
        dict(
            procs.describe(item.pid) if item.pid else {"pid": 0, "user": "?", "command": "?"},
            port=item.port,
            address=item.address,
            ours=item.pid in mine,
        )
        for item in listening(ports)
    ]


def listening(ports: set[int] | None = None) -> list[Listening]:
    """By port; all of them without `ports`."""
    found: dict[str, tuple[int, str]] = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for fields in (line.split() for line in lines):
            host, _, number = fields[1].rpartition(":")
            port = int(number, 16)
            if fields[3] == LISTENS and (ports is None or port in ports):
                found[f"socket:[{fields[9]}]"] = (port, address(host))
    owners = _owners(set(found)) if found else {}
    return sorted(Listening(port, host, owners.get(inode, 0)) for inode, (port, host) in found.items())


def address(words: str) -> str:
    """`0100007F` -> 127.0.0.1: words of four bytes, each in the machine's own order, which on a host is little."""
    data = b"".join(bytes.fromhex(words[i : i + 8])[::-1] for i in range(0, len(words), 8))
    return socket.inet_ntop(socket.AF_INET if len(data) == 4 else socket.AF_INET6, data)


def _owners(sockets: set[str]) -> dict[str, int]:
    owners: dict[str, int] = {}
    for pid in procs.everything():
        folder = f"/proc/{pid}/fd"
        try:
            for name in os.listdir(folder):
                target = os.readlink(os.path.join(folder, name))
                if target in sockets:
                    owners[target] = pid
        except OSError:  # another user's, or gone meanwhile
            continue
    return owners

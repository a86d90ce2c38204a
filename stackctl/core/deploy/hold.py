"""When a hold is stale, and how a holder is told to the person who waits for it."""

from __future__ import annotations

from datetime import datetime

from stackctl.core.deploy.facts import Holder

SILENT = 600.0  # seconds without a sign of life


def is_stale(holder: Holder, *, cutover: bool, client_gone: bool) -> bool:
    """`cutover`: its script is at work on the host; `client_gone`: its client ran here, and that process is no more.

    One taken by hand never is.
    """
    if holder.hand or cutover:
        return False
    return client_gone or holder.age > SILENT


def told(holder: Holder) -> str:
    """`root@box since 18:41:07 (pid 12, stackctl deploy, attempt ab12…)`"""
    since = datetime.fromtimestamp(holder.since).strftime("%H:%M:%S")
    words = f"{holder.who} since {since} (pid {holder.pid}, {holder.command}, attempt {holder.attempt})"
    return f"{words}: {holder.message}" if holder.message else words

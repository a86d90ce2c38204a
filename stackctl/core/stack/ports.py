"""Ports that nobody writes down."""

from __future__ import annotations

from stackctl.core.stack.resolved import Instance

PROMETHEUS_OFFSET = 9


def prometheus_port(router: Instance) -> int:
    """The router's metrics port: the flag when given, else near its own, since 29000 would be that of every router."""
    given = router.flags.get("prometheus-port")
    return given if isinstance(given, int) and not isinstance(given, bool) else router.port + PROMETHEUS_OFFSET

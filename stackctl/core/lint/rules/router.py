"""Rules on the router (sglang-router 0.3.2, tried): who it routes to, whether it notices a dead worker, who may ask it.

It has no table here, so its options count as they are written, without abbreviations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from stackctl.core.lint.known.asked import at_flag, said
from stackctl.core.lint.known.evidence import issue, source
from stackctl.core.lint.known.machines import address_of, is_loopback
from stackctl.core.lint.known.pairs import called, is_one
from stackctl.core.lint.known.wording import listed
from stackctl.core.lint.setup import Option, Process, ProcessRole, Setup
from stackctl.core.lint.values import Hit, Place, Rule
from stackctl.core.render.launch import ROUTER_MODULE

BOOTSTRAP, BOOTSTRAP_FLAG = 8998, "disaggregation-bootstrap-port"
WORKERS: Final[Mapping[str, ProcessRole]] = {"prefill": "prefill", "decode": "decode", "worker-urls": "single"}
EVERYWHERE: Final = "0.0.0.0"
LONG: Final = 3600  # seconds between two health checks that are as good as none
IN_A_STACK: Final = (
    "a stack holds no keys: let only a proxy that asks for one reach the port, and say so on this line with "
    "`# stackctl: ignore ROUTER-OPEN because …`"
)


def _routers(setup: Setup) -> Iterator[Process]:
    """The real router: mini-lb, and what starts engines too, have other options."""
    for process in setup.of_role("router"):
        if process.module == ROUTER_MODULE and not process.on("mini-lb"):
            yield process


def _bootstrap(setup: Setup) -> Iterator[Hit]:
    for router in _routers(setup):
        told = router.all("prefill")
        for option in told:
            place = at_flag(router, "prefill")
            if len(told) == 1 and _says_none(option) and _found_alone(setup):
                continue
            if not option.values or _says_none(option):
                yield Hit(
                    f"--prefill {' '.join(option.values)} names no bootstrap port: decode then asks its own "
                    f"--{BOOTSTRAP_FLAG}, which is {BOOTSTRAP} unless given",
                    place,
                    f"write the port behind the URL, as in --prefill http://HOST:30000 {BOOTSTRAP}",
                )
            elif not option.values[1].isdigit():
                yield Hit(f"{option.values[1]} is no bootstrap port", place, "a number, or `none`", "error")


def _found_alone(setup: Setup) -> bool:
    """Whether every decode looks where the only prefill server listens, without being told."""
    prefills, decodes = setup.of_role("prefill"), setup.of_role("decode")
    ports = {one.number(BOOTSTRAP_FLAG) for one in (*prefills, *decodes)}
    return is_one(setup) and len(prefills) == 1 and bool(decodes) and len(ports) == 1 and None not in ports


def _says_none(option: Option) -> bool:
    return len(option.values) < 2 or option.values[1].lower() == "none"


def _pair(setup: Setup) -> Iterator[Hit]:
    """The number that decode will use for a prefill, against the one that prefill listens on."""
    if not is_one(setup):
        return
    for router in _routers(setup):
        told = router.all("prefill")
        for option in told:
            prefill = _meant(setup, option, len(told))
            port = prefill.number(BOOTSTRAP_FLAG) if prefill else None
            if prefill is None or port is None:
                continue
            for used, who, place in _used(setup, router, option):
                if used != port:
                    yield Hit(
                        f"{called(setup, prefill)} bootstraps on port {port:.0f}, and {who} {used:.0f}: no transfer "
                        "begins",
                        place,
                        f"write {port:.0f}",
                    )


def _meant(setup: Setup, option: Option, told: int) -> Process | None:
    """The prefill server of a `--prefill`: by its port, or because there is one only."""
    prefills = setup.of_role("prefill")
    if len(prefills) == 1 and told == 1:
        return prefills[0]
    port = address_of(option.values[0])[1] if option.values else None
    hits = [one for one in prefills if port is not None and one.number("port") == port]
    return hits[0] if len(hits) == 1 else None


def _used(setup: Setup, router: Process, option: Option) -> Iterator[tuple[float, str, Place]]:
    if not _says_none(option):
        if option.values[1].isdigit():
            yield float(option.values[1]), "the router tells decode", at_flag(router, "prefill")
        return
    for decode in setup.of_role("decode"):
        port = decode.number(BOOTSTRAP_FLAG)
        if port is not None:
            yield port, f"{called(setup, decode)} asks", at_flag(decode, BOOTSTRAP_FLAG)


def _workers(setup: Setup) -> Iterator[Hit]:
    """URLs of this machine, or of one that an engine is on, against the ports of the engines that are here."""
    for router in _routers(setup) if is_one(setup) else ():
        for name, role in WORKERS.items():
            for url in _urls(router, name):
                host, port = address_of(url)
                near = [one for one in setup.of_role(role) if _is_reached(router, one, host)]
                ports = [one.number("port") for one in near]
                if near and not {port, None} & set(ports) and port is not None:
                    yield _nobody(setup, router, name, url, sorted(filter(None, ports)))


def _urls(router: Process, name: str) -> Iterator[str]:
    for option in router.all(name):
        yield from option.values if name == "worker-urls" else option.values[:1]


def _is_reached(router: Process, engine: Process, host: str) -> bool:
    """Whether a URL's host is the machine of an engine, and its port the one that the engine says."""
    if _has_ports_apart(engine) or engine.number("node-rank"):
        return False
    if is_loopback(host) or host == EVERYWHERE:
        return engine.host == router.host and not _has_ports_apart(router)
    return host in (said(engine, "host"), engine.host)


def _has_ports_apart(process: Process) -> bool:
    return process.container is not None and process.container.get("network") != "host"


def _nobody(setup: Setup, router: Process, name: str, url: str, ports: Sequence[float]) -> Hit:
    role, port = WORKERS[name], address_of(url)[1]
    other = next((called(setup, one) for one in setup.engines if one.number("port") == port), None)
    kind = "engine" if role == "single" else f"{role} engine"
    right = listed([f"{one:.0f}" for one in ports])
    message = f"--{name} {url}: no {kind} listens on {port}" + (f", {other} does" if other else "")
    return Hit(message, at_flag(router, name), f"write {right}")


def _no_prefill(setup: Setup) -> Iterator[Hit]:
    for router in _routers(setup):
        sides = [name for name in ("prefill", "decode") if router.on(name)]
        if router.on("service-discovery"):
            continue
        if router.on("pd-disaggregation") and len(sides) < 2:
            lacks = " and ".join(f"--{name}" for name in ("prefill", "decode") if name not in sides)
            yield Hit(
                f"--pd-disaggregation without {lacks}: the router starts, and answers every request with 503",
                at_flag(router, "pd-disaggregation"),
                f"give {lacks}, or --service-discovery",
            )
        elif sides and not router.on("pd-disaggregation"):
            yield Hit(
                f"--{sides[0]} without --pd-disaggregation is not looked at: the router has no workers",
                at_flag(router, sides[0]),
                "add --pd-disaggregation",
            )


def _health(setup: Setup) -> Iterator[Hit]:
    for router in _routers(setup):
        every = router.number("health-check-interval-secs")
        if router.on("disable-health-check"):
            yield Hit(
                "without health checks a dead worker stays in the rotation",
                at_flag(router, "disable-health-check"),
                "leave it out",
            )
        elif every is not None and every > LONG:
            yield Hit(
                f"a health check every {every:.0f} s is as good as none: a dead worker stays in the rotation",
                at_flag(router, "health-check-interval-secs"),
                "60 is the default",
            )


def _open(setup: Setup) -> Iterator[Hit]:
    """What stands before it is seen of a stack's hosts at best; of a lone command it is only told."""
    for router in _routers(setup):
        host = router.text("host") or EVERYWHERE
        if router.on("api-key") or is_loopback(host):
            continue
        yield Hit(
            f"the router listens on {host} and wants no key: whoever reaches it can ask, and add workers of their own "
            "through /workers",
            at_flag(router, "host"),
            "give --api-key" if setup.stack is None else IN_A_STACK,
            "info" if setup.stack is None else None,
        )


RULES = (
    Rule(
        "ROUTER-BOOTSTRAP",
        "warning",
        _bootstrap,
        "a prefill server without its bootstrap port",
        "The router adds the port to each request. Without it the engine takes its own --disaggregation-bootstrap-port "
        "for prefill's, which is right only while both have the default and there is one prefill server.",
        (issue(12535), source("0.5.15", "srt/managers/scheduler.py#L2055")),
        sglang=False,
    ),
    Rule(
        "PD-BOOTSTRAP-PAIR",
        "error",
        _pair,
        "a bootstrap port that is not the one prefill listens on",
        "Decode finds prefill by this number; with a wrong one every request waits until it times out.",
        (issue(9266), source("0.5.15", "srt/managers/disagg_service.py#L28")),
    ),
    Rule(
        "ROUTER-WORKER",
        "error",
        _workers,
        "a worker's URL with a port on which no engine of that role listens",
        "No request reaches that worker. Asked where all engines are in the file or stack, of URLs that lead to their "
        "machines; the ports of a container may be published as others, so nothing is said of them.",
        (issue(12535), source("0.5.15", "srt/entrypoints/http_server.py")),
        sglang=False,
    ),
    Rule(
        "ROUTER-NO-PREFILL",
        "error",
        _no_prefill,
        "a router of disaggregated serving without both kinds of workers",
        "sglang-router 0.3.2 starts without workers, says that it is healthy and answers 503; and without "
        "--pd-disaggregation it looks at neither --prefill nor --decode.",
        (issue(12535),),
        sglang=False,
    ),
    Rule(
        "ROUTER-HEALTH-OFF",
        "warning",
        _health,
        "a router that does not look whether its workers live",
        "Requests go on to a worker that is gone. The check is GET /health of each worker.",
        (issue(33740),),
        sglang=False,
    ),
    Rule(
        "ROUTER-OPEN",
        "warning",
        _open,
        "a router that listens beyond this machine and asks for no key",
        "--api-key guards both the answers and the routes that add and remove workers. Its default address is 0.0.0.0.",
        ("https://pypi.org/project/sglang-router/0.3.2/",),
        sglang=False,
    ),
)

"""How cards reach each other: peer access, ACS, IOMMU, NCCL's and UCX's variables.

Why: on cards without NVLink NCCL may hang at the first all-reduce while everything says OK
(https://github.com/NVIDIA/nccl/issues/1999, https://github.com/NVIDIA/nccl/issues/2079,
https://github.com/local-inference-lab/rtx6kpro/issues/15). None of this proves a link: only a real all-reduce does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from stackctl.core.doctor.values import Evidence, Finding, Look
from stackctl.core.doctor.wanted import Wanted

REDIRECTS = ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")  # send a card's request to the root, not to its peer
TRANSLATED = ("DMA", "DMA-FQ")  # types of an IOMMU group; `identity` passes addresses through
P2P_LEVELS = ("LOC", "NVL", "PIX", "PXB", "PHB", "SYS", "0", "1", "2", "3", "4", "5")
SWITCHES = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "NCCL_CUMEM_ENABLE", "NCCL_NVLS_ENABLE")
WORDS = {  # what `nvidia-smi topo -p2p` says
    "CNS": "the chipset does not support it", "GNS": "the card does not support it", "TNS": "the topology does not",
    "NS": "not supported", "DR": "disabled by a registry key", "U": "not known",
}  # fmt: skip
FINE = ("OK", "X")
SHOWN = 8


def peers(look: Look, wanted: Wanted) -> Iterator[Finding]:
    pairs = [(f"{a}-{b}", look.facts.links.p2p.get(f"{a}-{b}")) for a, b in _pairs(wanted)]
    bad = [(pair, said) for pair, said in pairs if said is not None and said not in FINE]
    if bad:
        words = "; ".join(sorted({f"{said}: {WORDS.get(said, said)}" for _, said in bad}))
        yield Finding(
            "P2P-NO",
            "warning",
            f"cards of one engine cannot read each other's memory ({words}): all-reduce goes through the host's memory",
            (
                look.evidence(
                    "nvidia-smi-p2p", *_some([f"GPU{pair.replace('-', ' - GPU')}: {said}" for pair, said in bad])
                ),
            ),
            "With CNS or TNS look at ACS, IOMMU and slots; with GNS the driver does not offer it for this card. Until "
            "then say NCCL_P2P_DISABLE=1 and disable-custom-all-reduce, so that nothing tries.",
            section="links",
        )


def nodes(look: Look, wanted: Wanted) -> Iterator[Finding]:
    far = [f"{a}-{b}" for a, b in _pairs(wanted) if look.facts.links.ways.get(f"{a}-{b}") == "SYS"]
    if far:
        yield Finding(
            "LINK-SYS",
            "info",
            f"an engine has cards on two NUMA nodes: {len(far)} pairs go over the link between processors",
            (look.evidence("nvidia-smi-topo", *_some([f"GPU{pair.replace('-', ' - GPU')}: SYS" for pair in far])),),
            "Give each engine cards of one node, where that can be done.",
            section="links",
        )


def acs(look: Look, wanted: Wanted) -> Iterator[Finding]:
    links = look.facts.links
    if not wanted.groups or not look.facts.cards:
        return
    if links.bridges is None:
        yield Finding(
            "ACS-UNKNOWN",
            "info",
            "whether ACS is on above the cards could not be read: only root is told, by lspci",
            (look.evidence("lspci", "not asked" if look.facts.root else f"user {look.facts.user} is not root"),),
            "sudo lspci -vvv | grep -i acsctl",
            section="links",
        )
        return
    bad = [one for one in links.bridges if one.above and set(one.acs) & set(REDIRECTS)]
    if bad:
        lines = [f"{one.bus_id} {one.name}: ACSCtl {' '.join(name + '+' for name in one.acs)}" for one in bad]
        yield Finding(
            "ACS-ON",
            "warning",
            f"ACS is on for {len(bad)} bridge{'s' * (len(bad) > 1)} above the cards: what they send each other goes "
            "over the root, and NCCL was reported to hang at the first all-reduce",
            (look.evidence("lspci", *_some(lines)),),
            "Turn ACS off in the firmware (or, after each start, by setpci ECAP_ACS+6.w=0000 on these bridges).",
            section="links",
        )


def iommu(look: Look, wanted: Wanted) -> Iterator[Finding]:
    links = look.facts.links
    kinds = set((links.iommu_type or "").split(", "))
    if wanted.groups and kinds & set(TRANSLATED):
        told = " ".join(links.iommu_cmdline) or "nothing about it"
        yield Finding(
            "IOMMU-ON",
            "warning",
            "the IOMMU translates what the cards send: peer access is slow or wrong, and NCCL was reported to hang",
            (
                Evidence("cat /sys/kernel/iommu_groups/*/type (of the cards)", links.iommu_type or ""),
                Evidence("cat /proc/cmdline", told),
            ),
            "Add iommu=pt to the kernel's command line, or turn it off in the firmware; then reboot.",
            section="links",
        )


def variables(look: Look, wanted: Wanted) -> Iterator[Finding]:
    """Of /etc/nccl.conf, which every process there obeys, and of the stack; and where both differ."""
    conf, shells = look.facts.nccl_conf, look.facts.variables
    for source, names in (("/etc/nccl.conf or ~/.nccl.conf", conf), ("a login there", shells)):
        for name, why in _odd(names, look.facts.interfaces):
            yield Finding(
                "NCCL-ODD",
                "warning",
                f"{name}={names[name]}, of {source}: {why}",
                (Evidence(_typed(source, name), f"{name}={names[name]}"),),
                "Correct or remove it there.",
                section="links",
            )
    for (name, value, why), whom in _of_stack(wanted, conf, look.facts.interfaces).items():
        yield Finding(
            "NCCL-ODD" if why else "NCCL-CONF",
            "warning" if why else "info",
            f"{', '.join(whom)}: {name}={value} of the stack; "
            + (why or f"nccl.conf there says {conf[name]}, and loses"),
            _seen(look, wanted.stack, (name, value, why)),
            f"Correct it in the stack: env of the role, or hosts.{wanted.spec.name}.env.",
            section="links",
        )


def _seen(look: Look, stack: str, hit: tuple[str, str, str]) -> tuple[Evidence, ...]:
    name, value, why = hit
    if not why:
        return (Evidence(_typed("/etc/nccl.conf", name), f"{name}={look.facts.nccl_conf[name]}"),)
    if "IFNAME" in name:
        return (Evidence("ls /sys/class/net", " ".join(look.facts.interfaces)),)
    return (Evidence(f"stackctl config {stack} | grep {name}", f"{name}: {value}"),)


def _of_stack(
    wanted: Wanted, conf: Mapping[str, str], interfaces: tuple[str, ...]
) -> dict[tuple[str, str, str], list[str]]:
    """(variable, value, what is odd; empty when the host's nccl.conf only differs) -> engines."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for one in wanted.instances:
        if one.role == "router":
            continue
        env = {**wanted.spec.env, **one.env}
        hits = [(name, env[name], why) for name, why in _odd(env, interfaces)]
        hits += [(name, env[name], "") for name in sorted(set(env) & set(conf)) if env[name] != conf[name]]
        for hit in hits:
            found.setdefault(hit, []).append(one.id)
    return found


def _odd(env: Mapping[str, str], interfaces: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    level = env.get("NCCL_P2P_LEVEL")
    if level is not None and level.upper() not in P2P_LEVELS:
        yield "NCCL_P2P_LEVEL", f"NCCL knows {', '.join(P2P_LEVELS[:6])}"
    for name in SWITCHES:
        if env.get(name) is not None and env[name] not in ("0", "1", "2"):
            yield name, "it is a number, 0 or 1"
    if env.get("NCCL_P2P_DISABLE") == "1" and level is not None:
        yield "NCCL_P2P_LEVEL", "NCCL_P2P_DISABLE=1 is set too, so it says nothing"
    for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        if interfaces and (gone := _gone(env.get(name, ""), interfaces)):
            yield name, f"no interface of the host has such a name: {', '.join(gone)}"
    tls = [word.strip() for word in env.get("UCX_TLS", "").split(",") if word.strip()]
    if tls and not tls[0].startswith("^") and "all" not in tls and not any(one.startswith("cuda") for one in tls):
        yield "UCX_TLS", "without cuda_copy UCX cannot take memory of a card, and nixl's transfers fail"


def _gone(said: str, interfaces: tuple[str, ...]) -> list[str]:
    """Names are prefixes, `=eth0` is exact, `^` leaves out."""
    if said.startswith("^"):
        return []
    names = [word for word in said.lstrip("=").split(",") if word]
    found = [
        word
        for word in names
        if any(one == word if said.startswith("=") else one.startswith(word) for one in interfaces)
    ]
    return [] if found else names


def _typed(source: str, name: str) -> str:
    return f"grep {name} /etc/nccl.conf ~/.nccl.conf" if "nccl.conf" in source else f"echo ${name}"


def _pairs(wanted: Wanted) -> list[tuple[int, int]]:
    return sorted({pair for group in wanted.groups for pair in combinations(sorted(group), 2)})


def _some(lines: list[str]) -> list[str]:
    more = len(lines) - SHOWN
    return lines[:SHOWN] + ([f"… {more} more"] if more > 0 else [])


CHECKS = (peers, nodes, acs, iommu, variables)

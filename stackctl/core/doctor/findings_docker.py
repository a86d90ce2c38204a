"""Docker, for hosts whose runtime it is; on other hosts it is nobody's matter."""

from __future__ import annotations

from collections.abc import Iterator

from stackctl.core.doctor.values import Evidence, Finding, Look
from stackctl.core.doctor.wanted import Wanted


def docker(look: Look, wanted: Wanted) -> Iterator[Finding]:
    if wanted.spec.runtime != "docker":
        return
    there = look.facts.docker
    if not there.installed:
        yield Finding(
            "DOCKER-MISSING",
            "error",
            "docker is not installed, and hosts.H.runtime says docker",
            (look.evidence("docker-version", "not found on $PATH"),),
            f"Install it there, or say hosts.{wanted.spec.name}.runtime: process.",
            section="runtime",
        )
    elif there.fault:
        yield Finding(
            "DOCKER-SILENT",
            "error",
            f"docker's daemon does not answer to {look.facts.user}: {there.fault}",
            (look.evidence("docker-version", there.fault),),
            "Is it started, and is the user in the group `docker`?",
            section="runtime",
        )
    elif wanted.has_cards and there.runtimes and "nvidia" not in there.runtimes:
        # `--gpus` needs the toolkit's hook only, `--runtime=nvidia` this entry too
        nothing = "nvidia-ctk" in look.facts.missing
        yield Finding(
            "DOCKER-NO-CARDS",
            "error" if nothing else "warning",
            "docker has no runtime `nvidia`"
            + (", and nvidia-ctk is not installed: containers see no card" if nothing else ""),
            (look.evidence("docker-info", f"Runtimes: {', '.join(there.runtimes)}"),),
            "Install nvidia-container-toolkit; sudo nvidia-ctk runtime configure --runtime=docker; restart docker.",
            section="runtime",
        )


def toolkit(look: Look, wanted: Wanted) -> Iterator[Finding]:
    """Without a runtime `nvidia` that is told already."""
    if wanted.spec.runtime != "docker" or not wanted.has_cards or "nvidia" not in look.facts.docker.runtimes:
        return
    if "nvidia-ctk" in look.facts.missing:
        yield Finding(
            "TOOLKIT-MISSING",
            "warning",
            "nvidia-ctk is not installed: the container toolkit is old, or not there",
            (look.evidence("nvidia-ctk", "not found on $PATH"),),
            "Install nvidia-container-toolkit of NVIDIA's own packages.",
            section="runtime",
        )


def images(look: Look, wanted: Wanted) -> Iterator[Finding]:
    there = look.facts.docker
    if wanted.spec.runtime != "docker" or not there.installed or there.fault:
        return
    for image in wanted.images:
        if image.startswith("label=") and not there.ours:
            yield Finding(
                "IMAGE-NONE",
                "info",
                f"no image there carries the label of {wanted.stack}",
                (Evidence(f"docker image ls --filter {image}", "none"),),
                "An image of another name, or built by hand, is not known as one of this stack.",
                section="runtime",
            )
        elif not image.startswith("label=") and image not in there.images:
            yield Finding(
                "IMAGE-BASE",
                "info",
                f"the image to build upon, {image}, is not there",
                (Evidence(f"docker image inspect {image}", "No such image"),),
                f"docker pull {image}",
                section="runtime",
            )


CHECKS = (docker, toolkit, images)

"""All that is wrong with a model's folder, worst first: by itself, and against a stack."""

from __future__ import annotations

from stackctl.core.doctor.values import SEVERITIES, Finding
from stackctl.core.modeldir import expected, sound
from stackctl.core.modeldir.expected import Expected
from stackctl.core.modeldir.values import ModelDir


def findings(model: ModelDir, wanted: Expected | None = None) -> tuple[Finding, ...]:
    """`wanted` None: of no stack. `host` of each is empty: who asked knows it."""
    told = [*sound.found(model), *(expected.found(model, wanted) if wanted else ())]
    return tuple(sorted(told, key=lambda one: SEVERITIES.index(one.severity)))

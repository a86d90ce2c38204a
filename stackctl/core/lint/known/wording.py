"""How rules name the base, its releases and what to write instead: the same words in every message.

Releases are compared without `.postN`: their tables are those of the release.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packaging.version import Version

from stackctl.core.lint.setup import Setup
from stackctl.core.upstream.values import Flag, History, Span, Upstream


def engine(setup: Setup) -> str:
    """`sglang 0.5.15`, `this sglang`, or the name of another engine."""
    base = setup.upstream
    if not base.is_sglang:
        return base.engine
    return f"sglang {base.version}" if base.version else "this sglang"


def flags_unread(base: Upstream) -> bool:
    """Whether something that may declare flags could not be read: what is told of variables declares none."""
    return any("variables" not in sentence for sentence in base.unknown)


BRACES = re.compile(r"([^{}\s]*)\{([\w-]+(?:, ?[\w-]+)+)\}([^{}\s]*)")


@dataclass(frozen=True)
class Life:
    """How a name stands to a release: `gone`: the release that took it away; `later`: the one that brings it."""

    gone: str | None = None
    later: str | None = None


def life(spans: Iterable[Span], version: Version | None) -> Life:
    """Both None when it is there, was never there, or nobody knows the release."""
    spans = tuple(spans)
    if version is None or any(_at(span, version) for span in spans):
        return Life()
    gone = [span.gone for span in spans if span.gone and not _before(version, span.gone)]
    later = [span.first for span in spans if _before(version, span.first)]
    return Life(max(gone, key=Version, default=None), min(later, key=Version, default=None))


def _at(span: Span, version: Version) -> bool:
    return not _before(version, span.first) and (span.gone is None or _before(version, span.gone))


def _before(version: Version, release: str) -> bool:
    return Version(version.base_version) < Version(Version(release).base_version)


def listed(words: Iterable[str], joint: str = "or") -> str:
    """`a`, `a or b`, `a, b or c`"""
    *most, last = words
    return f"{', '.join(most)} {joint} {last}" if most else last


def instead(name: str, table: Upstream, history: History) -> str:
    """What to write for a flag that is gone, as it stands at this release; a replacement may be gone in turn."""
    seen = {name}
    see = ""
    while (found := history.replacements.get(name)) is not None:
        see = found.see if found.see in table.by_name else see
        name, _, value = found.use.partition("=")
        if not name or name in seen:
            break
        seen.add(name)
        if name in table.by_name:
            if value and not takes(table.by_name[name], value):
                break
            return f"write {found.use}"
    return f"leave it out; {see} is related" if see else "leave it out"


def spelled(use: str) -> str:
    """What a release says to write, as words that can be copied: `--a-{b,c}=d` are two flags."""
    match = BRACES.fullmatch(use)
    return use if match is None else " and ".join(f"{match[1]}{one.strip()}{match[3]}" for one in match[2].split(","))


def takes(flag: Flag, value: str) -> bool:
    return flag.choices is None or "choices" in flag.unknown or value in flag.choices


def few(words: Sequence[str], limit: int = 8) -> str:
    """`one of a, b, c` when that is short enough to read."""
    return f"one of {', '.join(words)}" if 0 < len(words) <= limit else ""

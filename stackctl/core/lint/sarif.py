"""Findings as SARIF 2.1.0, so that a code host shows them in a review, at their lines.

Files are told relative to the root of the repository, as code hosts want it. A finding that a comment ignores is
there too, suppressed, with the comment's reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from stackctl.core.lint.ignore import Ignored
from stackctl.core.lint.values import Finding, Rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
Json = dict[str, object]


def sarif(
    findings: Sequence[Finding], ignored: Sequence[Ignored], rules: Mapping[str, Rule], uri: Callable[[str], str]
) -> Json:
    """One run. `uri`: of a file, as findings have it, from the root of the repository."""
    used = sorted({one.rule for one in (*findings, *(each.finding for each in ignored))})
    index = {name: number for number, name in enumerate(used)}
    results = [_result(one, index, uri) for one in findings]
    for each in ignored:
        suppressed = {"suppressions": [{"kind": "inSource", "justification": each.reason}]}
        results.append({**_result(each.finding, index, uri), **suppressed})
    driver = {"name": "stackctl", "rules": [_rule(rules[name]) for name in used]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> Json:
    links = [url for url in rule.evidence if url.startswith("https://")]
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.about},
        "fullDescription": {"text": rule.why},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        **({"helpUri": links[0]} if links else {}),
        "help": {"text": "\n".join([rule.why, *rule.evidence])},
    }


def _result(finding: Finding, index: Mapping[str, int], uri: Callable[[str], str]) -> Json:
    end = "" if finding.hint.endswith((".", "?", "!")) else "."
    hint = f"\n{finding.hint[0].upper()}{finding.hint[1:]}{end}" if finding.hint else ""
    whom = f" ({', '.join(finding.instances)})" if finding.instances else ""
    place = {"locations": [_location(finding, uri)]} if finding.where else {}
    return {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": LEVELS[finding.severity],
        "message": {"text": f"{finding.message}{whom}{hint}"},
        **place,
    }


def _location(finding: Finding, uri: Callable[[str], str]) -> Json:
    assert finding.where is not None
    where = finding.where
    region = {"startLine": where.line or 1, **({"startColumn": where.column} if where.column else {})}
    logical = {"logicalLocations": [{"fullyQualifiedName": finding.key}]} if finding.key else {}
    return {"physicalLocation": {"artifactLocation": {"uri": uri(where.file)}, "region": region}, **logical}

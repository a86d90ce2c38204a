"""Findings as SARIF: what the format requires, lines, suppressed findings, paths."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from stackctl.core.lint.catalogue import by_id
from stackctl.core.lint.ignore import Ignored
from stackctl.core.lint.sarif import sarif
from stackctl.core.lint.values import Finding
from stackctl.errors import Where

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
REGION = {
    "type": "object",
    "properties": {
        "startLine": {"type": "integer", "minimum": 1},
        "startColumn": {"type": "integer", "minimum": 1},
    },
}
# the parts of sarif-schema-2.1.0.json that apply to what we write
SHAPE: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"enum": ["2.1.0"]},
        "$schema": {"type": "string", "format": "uri"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "properties": {
                                                "shortDescription": TEXT,
                                                "fullDescription": TEXT,
                                                "help": TEXT,
                                                "helpUri": {"type": "string", "pattern": "^https://"},
                                                "defaultConfiguration": {
                                                    "properties": {
                                                        "level": {"enum": ["none", "note", "warning", "error"]}
                                                    }
                                                },
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "properties": {
                                "message": TEXT,
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "locations": {
                                    "type": "array",
                                    "items": {
                                        "properties": {
                                            "physicalLocation": {
                                                "required": ["artifactLocation"],
                                                "properties": {"region": REGION},
                                            }
                                        }
                                    },
                                },
                                "suppressions": {
                                    "type": "array",
                                    "items": {
                                        "required": ["kind"],
                                        "properties": {"kind": {"enum": ["inSource", "external"]}},
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
LINE = Finding(
    "CHOICE", "error", "x is no value", "one of a, b", Where("s/main.yaml", 7, 3), "serve.flags.x", ("decode-0",)
)
NOWHERE = Finding("RULE-FAILED", "warning", "a rule broke")
SILENT = Finding("ENV-UNKNOWN", "warning", "nothing reads A", where=Where("s/base.yaml", 2))


def made() -> dict[str, Any]:
    found = sarif([LINE, NOWHERE], [Ignored(SILENT, "another program reads it")], by_id(), lambda file: f"top/{file}")
    return dict(json.loads(json.dumps(found)))


def test_it_has_the_shape_that_the_standard_requires() -> None:
    jsonschema.validate(made(), SHAPE)
    jsonschema.validate(sarif([], [], by_id(), str), SHAPE)


def test_results_point_at_lines_and_at_their_rules() -> None:
    (run,) = made()["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["CHOICE", "ENV-UNKNOWN", "RULE-FAILED"]
    assert [rules[each["ruleIndex"]] for each in run["results"]] == [each["ruleId"] for each in run["results"]]
    assert run["results"][0] == {
        "ruleId": "CHOICE",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": "x is no value (decode-0)\nOne of a, b."},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "top/s/main.yaml"},
                    "region": {"startLine": 7, "startColumn": 3},
                },
                "logicalLocations": [{"fullyQualifiedName": "serve.flags.x"}],
            }
        ],
    }
    assert "locations" not in run["results"][1]


def test_what_a_comment_ignores_is_there_suppressed_with_its_reason() -> None:
    (run,) = made()["runs"]
    assert run["results"][2]["suppressions"] == [{"kind": "inSource", "justification": "another program reads it"}]
    assert run["results"][2]["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}


@pytest.mark.parametrize(
    ("hint", "end"), [("write --a", "\nWrite --a."), ("did you mean --a?", "\nDid you mean --a?"), ("", "")]
)
def test_a_hint_is_a_sentence_with_one_end(hint: str, end: str) -> None:
    finding = Finding("CHOICE", "error", "a is wrong", hint, Where("x"))
    made: Any = sarif([finding], [], by_id(), str)
    assert made["runs"][0]["results"][0]["message"]["text"] == f"a is wrong{end}"

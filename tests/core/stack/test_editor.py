"""The JSON schema for editors: as it is shipped, and what it says of right and wrong files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from stackctl.core.stack.editor import FILE, comments, editor_schema
from stackctl.core.stack.source import parse
from tests.workspaces import golden

ROOT = Path(__file__).parents[3]
STACKS = sorted((ROOT / "stacks").glob("*.yaml"))
SCHEMA = editor_schema((ROOT / "stacks" / "example.yaml").read_bytes())


def faults(text: str) -> list[str]:
    value = parse("x.yaml", text.encode()).value
    return [".".join(map(str, error.path)) for error in jsonschema.Draft7Validator(SCHEMA).iter_errors(value)]


def described(*path: str) -> str:
    found: Any = SCHEMA
    for step in path:
        found = found[step]
    return str(found["description"])


def test_the_shipped_schema_is_the_one_of_the_model() -> None:
    golden(ROOT / "templates" / FILE, json.dumps(SCHEMA, indent=1, ensure_ascii=False) + "\n")


def test_it_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.stem)
def test_every_shipped_stack_fits_and_names_it_in_its_first_line(file: Path) -> None:
    text = file.read_text()
    assert faults(text) == []
    first = text.splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (file.parent / first.partition("=")[2]).resolve() == ROOT / "templates" / FILE


@pytest.mark.parametrize(
    "text",
    [
        "roles: {prefill: null}",  # null deletes
        "hosts: {local: null}",
        "x-mine: {anything: [1]}",
        "serve: {x-notes: text, flags: {a: true, b: 1, c: [1, 2], d: {json: 1}, e: null}}",
        "roles: {decode: {host: a}}",  # one mapping; what is missing may come by `extends`
        "roles: {decode: [{host: a}, {host: b}]}",
        "timeouts: {start: 1h30m}",
        "bisect: {elements: {patches: all, flags: [a], env: none}, on: {a: b}}",
        "without: [a/b]",
        "tests: {t: {kind: toolcalls, max_rate: 0.02}}",
    ],
)
def test_what_is_right_in_one_file_of_several_is_no_fault(text: str) -> None:
    assert faults(text) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("pathes: []", ""),
        ("base: {sha256: 21}", "base"),
        ("timeouts: {start: soon}", "timeouts"),
        ("hosts: {a: {purpose: prod}}", "hosts"),
        ("roles: {decode: {hots: a}}", "roles"),
        ("hosts: {Big: {address: local}}", "hosts"),
        ("tests: {t: {kind: load}}", "tests"),
    ],
)
def test_what_is_wrong_is_marked(text: str, place: str) -> None:
    assert place in faults(text)


def test_hover_texts_are_the_comments_of_the_example() -> None:
    assert described("properties", "patches").startswith("in order, of all sources")
    assert described("$defs", "HostKeys", "properties", "purpose").startswith("production: a deploy asks")
    assert described("$defs", "PrefillKeys", "properties", "gpus") == "becomes CUDA_VISIBLE_DEVICES"


def test_a_comment_goes_on_in_its_column() -> None:
    text = "a: 1   # first\n       # second\n\nb: {c: 2}  # of b\n# not of b\n"
    assert comments(parse("x", text.encode()), text) == {("a",): "first second", ("b",): "of b"}

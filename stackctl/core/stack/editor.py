"""The JSON schema of a stack file, for editors: completion, hover texts, and a red line under a wrong key.

It is made of the model, and its texts are the comments of stacks/example.yaml, so that neither is said twice. An
editor sees one file: what `extends` brings is elsewhere, so nothing is required here, and null, which deletes, is
allowed everywhere. `stackctl check` decides; the schema is only quicker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stackctl.core.stack.model import StackKeys
from stackctl.core.stack.source import Document, Path, parse

FILE = "stack.schema.json"
MODELINE = f"# yaml-language-server: $schema={FILE}"
DIALECT = "http://json-schema.org/draft-07/schema#"  # what editors' YAML servers read without being asked
QUEUE_KEYS = ("without", "append")  # said by a file about what it inherits; gone after merging
COMMENT = re.compile(r"\s#\s?([^#]*)$")

Schema = dict[str, Any]


def editor_schema(example: bytes) -> Schema:
    """`example`: the commented stack file that has every key."""
    schema = StackKeys.model_json_schema()
    models = [schema, *schema.get("$defs", {}).values()]
    names = {"type": "array", "items": {"type": "string"}}
    schema["properties"].update({key: dict(names) for key in QUEUE_KEYS})
    for model in models:
        _loosen(model)
    for path, text in comments(parse("example", example), example.decode()).items():
        _describe(schema, path, text)
    title, about = "stackctl stack", "A stack of stackctl: a pinned base, an ordered patch queue, and how it is served."
    return {"$schema": DIALECT, **schema, "title": title, "description": about}


def _loosen(model: Schema) -> None:
    """One file of several: nothing required, null everywhere, `x-` keys for whatever its author likes."""
    model.pop("required", None)
    model.pop("description", None)
    model.pop("title", None)
    if "properties" not in model:
        return
    model["properties"] = {name: _or_null(_text(value)) for name, value in model["properties"].items()}
    model["patternProperties"] = {"^x-": {}}


def _text(schema: Any) -> Any:
    """Text as YAML takes it: 1.10 is a number to an editor and text to stackctl."""
    if isinstance(schema, list):
        return [_text(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: _text(value) for key, value in schema.items() if key not in ("title", "default")}
    if schema.get("type") == "array" and "$ref" in schema.get("items", {}) and "minItems" not in schema:
        return {"anyOf": [schema["items"], schema]}  # a role is one mapping, or a list of them
    if isinstance(schema.get("additionalProperties"), dict):
        return {**schema, "additionalProperties": _or_null(schema["additionalProperties"])}
    if "patternProperties" in schema:
        free = {pattern: _or_null(value) for pattern, value in schema["patternProperties"].items()}
        return {**schema, "patternProperties": free, "additionalProperties": False}
    fraction = {"type": ["string", "number"], "not": {"type": "integer"}}
    return {**schema, **fraction} if schema.get("type") == "string" else schema


def _or_null(schema: Schema) -> Schema:
    if "anyOf" in schema:
        null = {"type": "null"}
        return {**schema, "anyOf": [*(one for one in schema["anyOf"] if one != null), null]}
    return {"anyOf": [schema, {"type": "null"}]}


def comments(document: Document, text: str) -> dict[Path, str]:
    """What a commented stack file says of its keys: behind the first key of a line, and in the comment's own column
    in the lines that follow."""
    first: dict[int, Path] = {}
    for path, mark in sorted(document.marks.items(), key=lambda item: (item[1].key.column or 0, len(item[0]))):
        if isinstance(path[-1], str):
            first.setdefault(mark.key.line or 0, path)
    lines = text.splitlines()
    said = {path: " ".join(_said(lines, line - 1)) for line, path in first.items()}
    return {path: words for path, words in said.items() if words}


def _said(lines: list[str], at: int) -> Iterator[str]:
    """The comment behind a line; the example has no ` #` inside of quotes."""
    match = COMMENT.search(lines[at])
    if match is None:
        return
    yield match[1].strip()
    column = lines[at].rindex("#")
    for line in lines[at + 1 :]:
        if line[:column].strip() or not line[column:].startswith("#"):
            return
        yield line[column + 1 :].strip()


def _describe(schema: Schema, path: Path, text: str) -> None:
    """Put a text where a key is declared; in a map of free names below it, whatever the name."""
    holder: Schema | None = schema
    for step in path:
        holder = _below(schema, holder, step) if isinstance(step, str) and holder is not None else holder
    if holder is not None:
        holder.setdefault("description", text)


def _below(schema: Schema, holder: Schema, step: str) -> Schema | None:
    """The declaration of a key inside of whatever a declaration may be; of a free name it is a copy, to look below."""
    for option in _options(schema, holder):
        if step in option.get("properties", {}):
            found: Schema = option["properties"][step]
            return found
        free = option.get("additionalProperties") or next(iter(option.get("patternProperties", {}).values()), None)
        if isinstance(free, dict) and "properties" not in option:
            return dict(free)
    return None


def _options(schema: Schema, one: Schema) -> Iterator[Schema]:
    if "$ref" in one:
        yield from _options(schema, schema["$defs"][one["$ref"].rpartition("/")[2]])
        return
    yield one
    for part in one.get("anyOf", ()):
        yield from _options(schema, part)
    if isinstance(one.get("items"), dict):
        yield from _options(schema, one["items"])

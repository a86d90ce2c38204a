"""Commands of compose services and of Kubernetes containers: any mapping of a YAML file that has a command.

Places are those of the YAML scalars; a block of several lines keeps its lines. Services have ports of their own unless
they use the host's network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import yaml

from stackctl.core.command.container import Container
from stackctl.core.command.script import commands
from stackctl.core.command.words import Simple, Text, Value, Word, hole
from stackctl.errors import InvalidFile, Problem, Where

GIVEN = {"shm_size": "shm-size", "ipc": "ipc", "network_mode": "network", "gpus": "gpus"}
INTERPOLATED = re.compile(r"\$(?:\$|\{([A-Za-z_]\w*)(?:(:?[-?+])([^}]*))?\}|([A-Za-z_]\w*))")


def services(file: str, text: str) -> Iterator[Simple]:
    """Raises InvalidFile for what is no YAML."""
    try:
        documents = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Where(file, mark.line + 1, mark.column + 1) if mark else Where(file)
        raise InvalidFile([Problem(f"is no YAML: {error.problem or error.context}", where)]) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise InvalidFile([Problem(f"is no YAML: {error}", Where(file))]) from None
    reader = _Manifest(file, text)
    for document in documents:
        yield from reader.inside(document)


class _Manifest:
    def __init__(self, file: str, text: str) -> None:
        self._file, self._lines = file, text.split("\n")
        self._seen: set[int] = set()

    def inside(self, node: yaml.Node | None) -> Iterator[Simple]:
        """Each node once: aliases may multiply, or lead back to where they stand."""
        if id(node) in self._seen:
            return
        self._seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            for one in node.value:
                yield from self.inside(one)
        elif isinstance(node, yaml.MappingNode):
            keys = _keys(node)
            if {"command", "args", "entrypoint"} & set(keys):
                yield from self._container(keys)
            for value in keys.values():
                if not isinstance(value, yaml.ScalarNode):
                    yield from self.inside(value)

    def _container(self, keys: Mapping[str, yaml.Node]) -> Iterator[Simple]:
        compose = "apiVersion" not in keys and not isinstance(keys.get("env"), yaml.SequenceNode)
        env = self._environment(keys, compose)
        exported = {name: Value(_marked(one), one.where) for name, one in env.items()}
        given = {GIVEN[key]: self._scalar(node, compose) for key, node in keys.items() if key in GIVEN}
        given |= self._limits(keys.get("ulimits"))
        is_open = "env_file" in keys or "envFrom" in keys
        found: tuple[Simple, ...] = ()
        for key in ("entrypoint", "command", "args"):
            node = keys.get(key)
            if node is not None:
                found = _behind(found, self._words(node, exported, compose))
        for one in found:
            yield replace(one, env={**env, **one.env}, container=Container(env, given, is_open), env_open=is_open)

    def _words(self, node: yaml.Node, exported: Mapping[str, Value], compose: bool) -> tuple[Simple, ...]:
        """A text is cut as a shell does; a list is its words."""
        if isinstance(node, yaml.SequenceNode):
            items = (self._scalar(one, compose) for one in node.value if isinstance(one, yaml.ScalarNode))
            return (Simple(tuple(items)),)
        if not isinstance(node, yaml.ScalarNode):
            return ()
        text = self._source(node)
        return commands(replace(text, text=_to_shell(text.text) if compose else text.text), exported=exported)

    def _source(self, node: yaml.ScalarNode) -> Text:
        """The scalar with its lines as in the file; what YAML folds is continued."""
        row, column = node.start_mark.line, node.start_mark.column
        if node.style not in ("|", ">"):
            quoted = node.style in ("'", '"')
            return Text(self._file, node.value, row + 1, column + 1 + quoted)
        return Text(self._file, self._block(node), row + 2)

    def _block(self, node: yaml.ScalarNode) -> str:
        """The lines of a block with their indentation, so that columns are those of the file."""
        rows = self._lines[node.start_mark.line + 1 : node.end_mark.line + (node.end_mark.column > 0)]
        return ("\n" if node.style == "|" else " \\\n").join(rows).rstrip("\\ \n")

    def _scalar(self, node: yaml.Node, compose: bool) -> Word:
        where = Where(self._file, node.start_mark.line + 1, node.start_mark.column + 1)
        if not isinstance(node, yaml.ScalarNode):
            return Word("", where)
        width = node.end_mark.column - node.start_mark.column if node.end_mark.line == node.start_mark.line else 1
        quoted, text = node.style in ("'", '"'), str(node.value)
        if node.style in ("|", ">"):
            where, text = Where(self._file, node.start_mark.line + 2, 1), self._block(node)
        unknown: list[str] = []
        text = _filled(text, unknown) if compose else text
        return Word(text, where, max(1, width), tuple(unknown), quote=quoted)

    def _environment(self, keys: Mapping[str, yaml.Node], compose: bool) -> dict[str, Word]:
        env: dict[str, Word] = {}
        node = keys.get("environment") or keys.get("env")
        if isinstance(node, yaml.MappingNode):
            env = {name: self._scalar(value, compose) for name, value in _keys(node).items()}
        for item in node.value if isinstance(node, yaml.SequenceNode) else ():
            if isinstance(item, yaml.ScalarNode):
                one = self._scalar(item, compose)
                name, equals, text = one.text.partition("=")
                env[name] = replace(one, text=text) if equals else replace(one, text=name, unknown=(name,))
            elif isinstance(item, yaml.MappingNode):
                pair = _keys(item)
                if isinstance(name_node := pair.get("name"), yaml.ScalarNode):
                    value = pair.get("value")
                    place = self._scalar(value or name_node, False)
                    env[name_node.value] = place if value is not None else replace(place, unknown=(place.text,))
        return env

    def _limits(self, node: yaml.Node | None) -> dict[str, Word]:
        found: list[str] = []
        for name, value in (_keys(node) if isinstance(node, yaml.MappingNode) else {}).items():
            if isinstance(value, yaml.MappingNode):
                limits = [one.value for one in _keys(value).values() if isinstance(one, yaml.ScalarNode)]
                found.append(f"{name}={':'.join(limits)}")
            else:
                found.append(f"{name}={value.value}")
        if node is None or not found:
            return {}
        where = Where(self._file, node.start_mark.line + 1, node.start_mark.column + 1)
        return {"ulimit": Word(" ".join(found), where)}


def _keys(node: yaml.MappingNode, depth: int = 8) -> dict[str, yaml.Node]:
    """By key, with what `<<` brings below the mapping's own."""
    found: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if key.value == "<<":
            merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for one in merged:
                if isinstance(one, yaml.MappingNode) and depth:
                    found = {**_keys(one, depth - 1), **found}
    own = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"}
    return {**found, **own}


def _behind(found: tuple[Simple, ...], more: tuple[Simple, ...]) -> tuple[Simple, ...]:
    """`command` holds the arguments of an `entrypoint`."""
    if not found or not more:
        return found or more
    return (*found[:-1], replace(found[-1], words=found[-1].words + more[0].words), *more[1:])


def _to_shell(text: str) -> str:
    """Compose writes `$$` for a dollar that is the container's; `${A:-b}` is a default as in a shell."""
    return text.replace("$$", "\\$")


def _filled(text: str, unknown: list[str]) -> str:
    """What compose puts into a word; a variable of the user's environment is unknown."""

    def value(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        if match[2] in (":-", "-"):
            return match[3]
        unknown.append(match[0])
        return match[0]

    return INTERPOLATED.sub(value, text)


def _marked(one: Word) -> str:
    text = one.text
    for source in one.unknown:
        text = text.replace(source, hole(source), 1)
    return text

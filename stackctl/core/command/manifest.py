"""Commands of compose services and of Kubernetes containers: any mapping of a YAML file that has a command.

Places are those of the YAML scalars; a block of several lines keeps its lines. Services have ports of their own unless
they use the host's network. Kubernetes puts variables of the container in place of `$(NAME)`; one that is not there may
come from a controller, as LeaderWorkerSet's do, and is unknown. A container without an image is a piece of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import yaml

from stackctl.core.command.container import MEMORY, Container
from stackctl.core.command.script import commands
from stackctl.core.command.words import Simple, Text, Value, Word, remarked
from stackctl.errors import InvalidFile, Problem, Where

CONTAINERS = frozenset(("containers", "initContainers"))
GIVEN = {"shm_size": "shm-size", "ipc": "ipc", "network_mode": "network", "gpus": "gpus"}
REFERRED = re.compile(r"\$(?:\$|\(([A-Za-z_][\w.-]*)\))")  # Kubernetes: `$(NAME)`, and `$$` for a dollar
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

    def inside(self, node: yaml.Node | None, pod: Mapping[str, yaml.Node] | None = None) -> Iterator[Simple]:
        """Each node once: aliases may multiply, or lead back to where they stand. `pod`: that it is a container of."""
        if id(node) in self._seen:
            return
        self._seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            for one in node.value:
                yield from self.inside(one, pod)
        elif isinstance(node, yaml.MappingNode):
            keys = _keys(node)
            if {"command", "args", "entrypoint"} & set(keys):
                yield from self._container(keys, pod)
            for name, value in keys.items():
                if not isinstance(value, yaml.ScalarNode):
                    yield from self.inside(value, keys if name in CONTAINERS else None)

    def _container(self, keys: Mapping[str, yaml.Node], pod: Mapping[str, yaml.Node] | None) -> Iterator[Simple]:
        compose = pod is None and "apiVersion" not in keys and not isinstance(keys.get("env"), yaml.SequenceNode)
        env = self._environment(keys, compose)
        exported = {name: Value(remarked(one), one.where) for name, one in env.items()}
        given = {GIVEN[key]: self._scalar(node, compose) for key, node in keys.items() if key in GIVEN}
        given |= self._limits(keys.get("ulimits"))
        is_open = "env_file" in keys or "envFrom" in keys
        limited, memory = _limits_known(keys, pod, compose), _own_memory(keys, pod)
        if not compose:
            given["pod"] = Word("", Where(self._file))
        box = Container(env, given, is_open, limited=limited, own_memory=memory)
        found: tuple[Simple, ...] = ()
        for key in ("entrypoint", "command", "args"):
            node = keys.get(key)
            if node is not None:
                found = _behind(found, self._words(node, exported, None if compose else env))
        for one in found:
            yield replace(one, env={**env, **one.env}, container=box, env_open=is_open)

    def _words(
        self, node: yaml.Node, exported: Mapping[str, Value], pods: Mapping[str, Word] | None
    ) -> tuple[Simple, ...]:
        """A text is cut as a shell does; a list is its words. `pods`: the variables of a pod's container."""
        compose = pods is None
        if isinstance(node, yaml.SequenceNode):
            items = (self._scalar(one, compose) for one in node.value if isinstance(one, yaml.ScalarNode))
            return (Simple(tuple(one if pods is None else _referred(one, pods) for one in items)),)
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


def _limits_known(keys: Mapping[str, yaml.Node], pod: Mapping[str, yaml.Node] | None, compose: bool) -> bool:
    """Whether what is not said of its limits is the default: a service may extend another, a pod have pieces."""
    return "extends" not in keys if compose else pod is not None and "image" in keys


def _own_memory(keys: Mapping[str, yaml.Node], pod: Mapping[str, yaml.Node] | None) -> bool:
    """Whether something is mounted on /dev/shm, or the pod has the machine's."""
    mounts = (one for name in ("volumes", "tmpfs", "volumeMounts") for one in _texts(keys.get(name)))
    return any(MEMORY.search(one) for one in mounts) or "true" in _texts((pod or {}).get("hostIPC"))


def _texts(node: yaml.Node | None) -> Iterator[str]:
    """Each node once, as aliases may lead back to where they stand."""
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, yaml.ScalarNode):
            yield str(one.value)
        elif isinstance(one, yaml.SequenceNode):
            waiting += one.value
        elif isinstance(one, yaml.MappingNode):
            waiting += [value for _, value in one.value]


def _referred(one: Word, env: Mapping[str, Word]) -> Word:
    """With the container's variables in place of `$(NAME)`."""
    unknown = list(one.unknown)

    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        found = env.get(match[1])
        if found is not None and not found.unknown:
            return found.text
        unknown.append(match[0])
        return match[0]

    text = REFERRED.sub(value, one.text)
    return replace(one, text=text, unknown=tuple(unknown))


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

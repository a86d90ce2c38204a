"""Elements: what a variant may leave out, how they are written, and which ones a stack has.

Written `patch:NAME`, `flag:NAME`, `env:NAME` (in every role that has it), or `flag:ROLE/NAME` for one role. What
stackctl makes itself, and what belongs to a machine, is no element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stackctl.core.stack.merge import did_you_mean
from stackctl.core.stack.resolved import Element, Instance, ResolvedStack
from stackctl.errors import InvalidFile, Problem

ROLES = ("prefill", "decode", "single", "router")


def all_of(stack: ResolvedStack) -> tuple[Element, ...]:
    """Patches in order, then flags, then variables, each of all roles together."""
    flags = sorted({name for instance in stack.instances for name in instance.flags})
    env = sorted({name for instance in stack.instances for name in instance.env})
    return (
        *(Element("patch", name) for name in stack.patches),
        *(Element("flag", name) for name in flags),
        *(Element("env", name) for name in env),
    )


def chosen(stack: ResolvedStack, words: Sequence[str]) -> tuple[Element, ...]:
    """The elements that the user typed, each once. Raises InvalidFile (exit 2) with every word that is none."""
    problems: list[Problem] = []
    elements: dict[Element, None] = {}
    for word in words:
        found = _one(stack, word)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            elements[found] = None
    if problems:
        raise InvalidFile(problems)
    return tuple(elements)


def has(instance: Instance, element: Element) -> bool:
    """Whether this flag or variable is set for this process and the element means it."""
    if element.role not in (None, instance.role):
        return False
    return element.name in (instance.flags if element.kind == "flag" else instance.env)


def _one(stack: ResolvedStack, word: str) -> Element | Problem:
    kind, colon, rest = word.partition(":")
    role, slash, name = rest.partition("/")
    match kind:
        case "patch" if rest:
            element = Element("patch", rest)
            known = rest in stack.patches
        case "flag" | "env" if rest:
            by_role = bool(slash) and role in ROLES
            element = Element(kind, name if by_role else rest, role if by_role else None)
            flipped = kind == "flag" and rest in stack.bisect.flip  # left out means: set to the flipped value
            known = flipped or any(has(instance, element) for instance in stack.instances)
        case _:
            hint = _nearest(stack, word) if not colon else "written patch:NAME, flag:NAME, env:NAME or flag:ROLE/NAME"
            return Problem(f"`{word}` is no element", hint=hint or "written patch:NAME, flag:NAME or env:NAME")
    if known:
        return element
    machine = [host.name for host in stack.hosts.values() if kind == "env" and element.name in host.env]
    if machine:
        return Problem(f"`{word}` belongs to host {machine[0]}, not to the stack: it is no element")
    return Problem(
        f"stack {stack.name} has no element `{word}`",
        hint=_nearest(stack, word) or f"`stackctl config {stack.name}` shows what it has",
    )


def _nearest(stack: ResolvedStack, word: str) -> str | None:
    known = [str(element) for element in _spelled(stack)]
    same_name = [text for text in known if text.partition(":")[2] == word]
    return f"did you mean `{same_name[0]}`?" if same_name else did_you_mean(word, known)


def _spelled(stack: ResolvedStack) -> Iterator[Element]:
    """Every way to write an element of this stack."""
    yield from all_of(stack)
    for instance in stack.instances:
        yield from (Element("flag", name, instance.role) for name in instance.flags)
        yield from (Element("env", name, instance.role) for name in instance.env)


def without(instance: Instance, elements: Iterable[Element], kind: str) -> dict[str, object]:
    """The instance's flags (or variables) less these elements."""
    gone = {element.name for element in elements if element.kind == kind and has(instance, element)}
    values = instance.flags if kind == "flag" else instance.env
    return {name: value for name, value in values.items() if name not in gone}

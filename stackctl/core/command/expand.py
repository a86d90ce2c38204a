"""Puts the variables that a script itself sets into its words, as a shell would; what it cannot know stays a hole.

Nothing is run: substitutions, positional parameters of the caller and variables of the environment are holes. A default
(`${PORT:-30000}`) counts when the script does not set the variable.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from stackctl.core.command.lexer import Part, Token, tokens
from stackctl.core.command.words import FIELD, HOLE, JOINED, Text, Value, Word, fields, hole, merged, remarked, word
from stackctl.errors import Where

BRACED = re.compile(r"([A-Za-z_]\w*|[0-9]+|[@*])(\[[@*]\])?(?:(:?[-=?+])(.*))?", re.DOTALL)
SUMS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip
PARAMETERS = ("@", "*", *map(str, range(1, 10)))
MAX_PASSES = 64  # of loops, and words of one {1..9}
MAX_ITEMS = 30_000  # words of one array; more are unknown
LIMIT = 100_000  # characters of one value; a longer one is unknown


@dataclass
class Scope:
    """`values` by name, `@` for the positional parameters as an array, `1`… for each."""

    values: dict[str, Value] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    export_all: bool = False

    def copy(self) -> Scope:
        return Scope(dict(self.values), set(self.exported), self.export_all)

    def environment(self) -> dict[str, Word]:
        given = {name: self.values[name] for name in self.exported if name in self.values}
        return {name: word(one.text, one.where) for name, one in sorted(given.items()) if one.items is None}


def words_of(token: Token, scope: Scope) -> tuple[Word, ...]:
    """The words that one token becomes: none for an empty variable, several for an array or a list in a text.

    What comes from nowhere (a default, a hole) stands where it is used.
    """
    width = len(token.text)
    return tuple(
        one if one.where.file else Word(one.text, token.where, width, one.unknown, one.maybe, one.quote)
        for one in _words(token, scope)
    )


def _words(token: Token, scope: Scope) -> tuple[Word, ...]:
    if not any(part.kind == "variable" for part in token.parts):
        marked = "".join(_marked(part, scope) for part in token.parts)
        return (word(marked, token.where, len(token.text), quote=token.text[:1] in "'\""),)
    found: list[Word] = []
    current: str | None = None
    listed = False
    for part in token.parts:
        if part.kind == "variable" and (items := _items(part, scope)) is not None:
            if current:
                found.append(word(current, token.where, len(token.text)))
            found += items
            current, listed = None, True
        elif part.kind == "variable" and not part.quoted:
            value = lookup(part.text, scope)
            pieces = list(fields(value)) if value is not None else []
            if current is None and len(token.parts) == 1:
                return tuple(pieces)
            current = _joined(found, current, value, token)
        else:
            current = (current or "") + _marked(part, scope)
    if current or (current is not None and not listed):
        found.append(word(current, token.where, len(token.text), quote=token.text[:1] in "'\""))
    return tuple(found)


def _joined(found: list[Word], current: str | None, value: Value | None, token: Token) -> str | None:
    """An unquoted variable inside of a longer word: its first field goes to what stands before, its last stays open."""
    pieces = FIELD.findall(value.text) if value is not None else []
    if not pieces:
        return current
    for piece in pieces[:-1]:
        found.append(word((current or "") + piece, token.where, len(token.text)))
        current = ""
    return (current or "") + str(pieces[-1])


def text_of(token: Token, scope: Scope, begin: int = 0) -> Value:
    """The value of an assignment: one text, nothing splits. `begin`: characters of `NAME=` to leave out."""
    where = token.where
    made = Value("", Where(where.file, where.line, (where.column or 1) + begin))
    begun = begin
    for part in token.parts:
        place = part.where if part.where.file else where
        value = Value(_marked(part, scope), place)
        if part.kind == "variable" and (found := lookup(part.text, scope)) is not None and found.where.file:
            value = Value(value.text, found.where, None, found.seams)
        if begin and part.kind == "text":  # `NAME=` stands in a text of its own, or before the value
            taken = min(begin, len(value.text))
            begin -= taken
            value = Value(value.text[taken:], Where(place.file, place.line, (place.column or 1) + taken))
        if len(made.text) + len(value.text) > LIMIT:
            return Value(hole(f"${token.text[:begun].rstrip('+=')}"), where)
        if value.text:
            made = made.then(value) if made.text else value
    return made


def text_with_variables(body: str, scope: Scope) -> str:
    """A here-document with what is known put in; the rest stays as written, to be read as a script in its turn."""

    def value(match: re.Match[str]) -> str:
        found = lookup(match[1] or match[2], scope)
        known = found is not None and found.items is None and not HOLE.search(found.text)
        return found.text.replace(JOINED, "") if known and found is not None else match[0]

    return re.sub(r"\$(?:\{([^}]*)\}|([A-Za-z_]\w*))", value, body)


def _marked(part: Part, scope: Scope) -> str:
    match part.kind:
        case "text":
            return part.text
        case "command":
            return hole(part.text.replace("\n", " "))
        case "sum":
            return _sum(part.text, scope)
        case "variable":
            value = lookup(part.text, scope)
            if value is None:
                return ""
            return value.text if value.items is None else " ".join(item.text for item in value.items)


def _items(part: Part, scope: Scope) -> tuple[Word, ...] | None:
    """The words of `"$@"`, `"${ARGS[@]}"` and of `$ARGS` of an array; None for a plain variable."""
    match = BRACED.fullmatch(part.text)
    if match is None or not (match[2] or match[1] in "@*"):
        return None
    value = scope.values.get(match[1])
    if value is not None and value.items is not None:
        return value.items
    if value is not None:
        return tuple(fields(value))
    if match[3] in (":+", "+", ":-", "-") and match[1] not in "@*":
        return ()  # `${ARGS[@]+"${ARGS[@]}"}` of an array that is not set
    return (word(hole(f"${{{part.text}}}" if match[2] else f"${part.text}"), Where("")),)


def lookup(text: str, scope: Scope) -> Value | None:
    """What stands inside of `${}`; None for nothing at all (`${X:+…}` of an empty one)."""
    match = BRACED.fullmatch(text)
    plain = re.fullmatch(r"[A-Za-z_]\w*|[0-9@*#?$!-]", text)
    unknown = Value(hole(f"${text}" if plain else f"${{{text}}}"), Where(""))
    if match is None:
        return unknown
    name, how, other = match[1], match[3], match[4]
    value = scope.values.get(name)
    empty = value is not None and value.items is None and not value.text
    if how is None or how.endswith("?"):
        return value if value is not None else unknown
    if how.endswith("+"):
        return None if value is None or (empty and ":" in how) else Value(_nested(other, scope), value.where)
    if value is not None and not (empty and ":" in how):
        return value
    default = Value(_nested(other, scope), Where(""))
    if how.endswith("="):
        scope.values[name] = default
    return default


def _nested(text: str, scope: Scope) -> str:
    """A default, which may name variables and stand in quotes."""
    found = tokens(Text("", text.strip()))
    return " ".join("".join(_marked(part, scope) for part in one.parts) for one in found if one.kind == "word")


def _sum(text: str, scope: Scope) -> str:
    """Whole numbers with + - * / %; a hole for anything else."""
    filled = re.sub(r"\$\{?(\w+)\}?|\b([A-Za-z_]\w*)\b", lambda match: _number(match[1] or match[2], scope), text)
    try:
        return str(_evaluated(ast.parse(filled.strip().replace("/", "//"), mode="eval").body))
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return hole(f"$(({text}))")


def _number(name: str, scope: Scope) -> str:
    value = scope.values.get(name)
    return value.text if value is not None and value.items is None and re.fullmatch(r"-?\d+", value.text) else "?"


def _evaluated(node: ast.AST) -> int:
    match node:
        case ast.Constant(value=int(number)) if abs(number) < 1 << 63:
            return number
        case ast.BinOp(left, sign, right) if type(sign) in SUMS:
            return SUMS[type(sign)](_evaluated(left), _evaluated(right))
        case ast.UnaryOp(ast.USub(), operand):
            return -_evaluated(operand)
        case _:
            raise ValueError("no plain sum")


def joined(before: Scope, ends: list[Scope]) -> Scope:
    """The variables after a condition, whichever branch was taken."""
    names = {name for one in ends for name in one.values}
    values = {name: merged(name, before.values.get(name), [one.values.get(name) for one in ends]) for name in names}
    exported = {name for one in ends for name in one.exported}
    return Scope({name: one for name, one in values.items() if one is not None}, exported, ends[0].export_all)


def parameters(arguments: tuple[Word, ...]) -> dict[str, Value]:
    """`$@`, `$*`, `$1` … `$9` of a function or of `set --`."""
    where = arguments[0].where if arguments else Where("")
    found = {name: Value("", where) for name in PARAMETERS}
    found |= {str(number): Value(remarked(one), one.where) for number, one in enumerate(arguments[:9], 1)}
    return found | {"@": Value("", where, arguments), "*": Value("", where, arguments)}


def braces(found: tuple[Word, ...]) -> list[Word]:
    """`{0..7}` and `{a,b}` as one word each."""
    out: list[Word] = []
    for one in found:
        match = re.fullmatch(r"(.*)\{(?:(\d+)\.\.(\d+)|([^{}\s]*,[^{}\s]*))\}(.*)", one.text)
        if match is None or one.unknown or one.text.startswith("-"):
            out.append(one)
            continue
        first, last = int(match[2] or 0), int(match[3] or 0)
        numbers = map(str, range(first, min(last, first + MAX_PASSES) + 1))
        several = numbers if match[2] else match[4].split(",")
        out += [Word(match[1] + piece + match[5], one.where, one.width) for piece in several]
    return out

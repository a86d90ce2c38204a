"""Goes through a shell script as a shell would, without running anything, and yields its simple commands.

Variables, arrays, exports, defaults, loops over written words, functions and here-documents are followed. All sides
of a condition are read: what they set differently is unknown afterwards, what one of them adds is a word that may be
there. It knows no program; launches.py does.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from stackctl.core.command.blocks import IGNORED, Blocks
from stackctl.core.command.effort import COPIED, EXPORTED, Effort
from stackctl.core.command.expand import (
    MAX_ITEMS,
    MAX_PASSES,
    PARAMETERS,
    Scope,
    braces,
    joined,
    parameters,
    text_of,
    text_with_variables,
    words_of,
)
from stackctl.core.command.lexer import ASSIGNS, Token, tokens
from stackctl.core.command.words import Simple, Text, Value, Word, fields, hole, merged, word

JOINTS = frozenset((";", "&", "&&", "||", "|", "|&", "\n"))
REDIRECTS = frozenset(("<", ">", ">>", "<<<", ">&", "<&", "&>", "&>>", ">|", "<>"))
DECLARES = frozenset(("export", "declare", "typeset", "readonly", "local"))
TESTS = frozenset(("[", "[[", "test", "(("))
OPENERS = frozenset(("if", "while", "until", "for", "select", "case", "[["))
RESERVED = OPENERS | IGNORED | {"elif", "else", "fi", "done", "esac", "function"}
MAX_DEPTH, MAX_CALLS = 8, 500


@dataclass
class _Frame:
    """A condition that is open. `results`: the variables after each branch; `pattern`: before a `)` of case."""

    word: str
    number: int
    before: Scope
    branch: int = 0
    results: list[Scope] = field(default_factory=list)
    whole: bool = False  # one of its branches is always taken
    pattern: bool = False


def run(found: tuple[Token, ...], scope: Scope, effort: Effort) -> Iterator[Simple]:
    """The commands of a script, in order; `scope` is what is known before. Raises InvalidFile."""
    yield from _Shell(found, scope, effort).all()


class _Shell:
    def __init__(self, found: tuple[Token, ...], scope: Scope, effort: Effort, depth: int = 0) -> None:
        self._tokens, self._scope, self._effort, self._depth = found, scope, effort, depth
        self._blocks = Blocks(found, effort)
        self._frames: list[_Frame] = []
        self._counter = 0
        self._passes = self._calls = 0
        self._functions: dict[str, tuple[int, int]] = {}  # tokens of their bodies
        self._called: set[str] = set()
        self._calling: list[str] = []
        self._tested = False  # the list before `&&` began with a test
        self._left = False  # this branch ends the script or the function

    def all(self) -> Iterator[Simple]:
        yield from self._run(0, len(self._tokens))
        for name, (begin, end) in list(self._functions.items()):
            if name not in self._called:
                yield from self._run(begin, end)

    def _run(self, at: int, end: int) -> Iterator[Simple]:
        while at < end:
            token = self._tokens[at]
            self._effort.spend(1, token.where)
            if self._frames and self._frames[-1].pattern:
                at = self._pattern(at, end)
            elif token.kind == "operator":
                at = self._operator(at)
            elif token.kind == "word" and not token.quoted and token.text in RESERVED:
                stop = self._loop(at, end)
                if stop is None:
                    at = self._reserved(at, end)
                else:
                    yield from self._looped(at, stop)
                    at = stop + 1
            elif self._defines(at):
                at = self._function(at, end)
            else:
                at = yield from self._simple(at, end)

    def _operator(self, at: int) -> int:
        text = self._tokens[at].text
        if text == "(":
            self._open("(")
        elif text == ")" and self._frames and self._frames[-1].word == "(":
            self._scope = self._frames.pop().before
        elif text in (";;", ";&", ";;&") and self._frames and self._frames[-1].word == "case":
            self._next_branch()
            self._frames[-1].pattern = True
        elif text in ("\n", ";", "&"):
            self._tested = False
        return at + 1

    def _reserved(self, at: int, end: int) -> int:
        text = self._tokens[at].text
        if text == "[[":
            self._tested = True
            return (self._blocks.first(at, end, ("]]",)) or at) + 1
        if text == "case":
            self._open("case")
            self._frames[-1].pattern = True
            return (self._blocks.first(at, end, ("in",)) or at) + 1
        if text in ("if", "while", "until"):
            self._open(text)
        elif text in ("elif", "else") and self._frames and self._frames[-1].word == "if":
            self._next_branch(whole=text == "else")
        elif text in ("fi", "done", "esac"):
            self._close()
        elif text in ("for", "select"):
            self._open("for")
            name = self._tokens[at + 1].text if at + 1 < end else ""
            self._scope.values[name] = Value(hole(f"${name}"), self._tokens[at].where)
            return self._blocks.first(at, end, ("do", "\n", ";")) or end
        elif text == "function" and at + 1 < end:
            return self._function(at + 1, end)
        return at + 1

    def _pattern(self, at: int, end: int) -> int:
        """Over the pattern of a branch of `case`, up to its `)`; or its end."""
        number = self._blocks.first(at, end, ("esac", ")"))
        if number is None:
            return end
        if self._tokens[number].text == "esac":
            self._close(finished=True)
        else:
            self._frames[-1].pattern = False
            self._frames[-1].whole |= self._tokens[number - 1].text == "*"
        return number + 1

    def _open(self, text: str) -> None:
        self._counter += 1
        self._frames.append(_Frame(text, self._counter, self._copied(self._scope)))

    def _next_branch(self, *, whole: bool = False) -> None:
        frame = self._frames[-1]
        frame.whole |= whole
        frame.results += [] if self._left else [self._scope]
        frame.branch, self._left = frame.branch + 1, False
        self._scope = self._copied(frame.before)

    def _copied(self, scope: Scope) -> Scope:
        self._effort.spend(len(scope.values) / COPIED, self._tokens[0].where)
        return scope.copy()

    def _close(self, *, finished: bool = False) -> None:
        """`finished`: the branch before ended already (`;;`)."""
        if not self._frames or self._frames[-1].word == "(":
            return
        frame = self._frames.pop()
        ends = [*frame.results, *([] if self._left or (finished and frame.branch) else [self._scope])]
        if not frame.whole:
            ends.append(frame.before)
        self._effort.spend(len(self._scope.values) * len(ends) / COPIED, self._tokens[0].where)
        self._scope, self._left = joined(frame.before, ends or [frame.before]), False

    def _loop(self, at: int, end: int) -> int | None:
        """The `done` of `for NAME in WORDS; do`, if the words are all written there."""
        texts = [token.text for token in self._tokens[at : min(at + 3, end)]]
        values = self._loop_values(at) if texts[::2] == ["for", "in"] and self._passes <= MAX_PASSES else []
        if not values or any(one.unknown or set(one.text) & set("*?[") for one in values):
            return None
        body = self._blocks.body(at, end)
        return None if body is None else self._blocks.closing(body, end, "do", "done")

    def _loop_values(self, at: int) -> list[Word]:
        values: list[Word] = []
        for number in range(at + 3, len(self._tokens)):
            token = self._tokens[number]
            if token.kind != "word" or (token.text == "do" and not values):
                break
            values += braces(words_of(token, self._scope))
        return values

    def _looped(self, at: int, stop: int) -> Iterator[Simple]:
        name = self._tokens[at + 1].text
        body = self._blocks.body(at, stop) or stop
        for value in self._loop_values(at)[:MAX_PASSES]:
            self._passes += 1
            self._scope.values[name] = Value(value.text, value.where)
            yield from self._run(body, stop)

    def _defines(self, at: int) -> bool:
        return [token.text for token in self._tokens[at + 1 : at + 3]] == ["(", ")"] and not self._tokens[at].quoted

    def _function(self, at: int, end: int) -> int:
        """Keeps a function's body; it is read where it is called, or at the end when nothing calls it."""
        begin = next((n for n in range(at + 1, end) if self._tokens[n].text not in ("(", ")", "\n")), end)
        opens = begin < end and self._tokens[begin].text == "{"
        stop = self._blocks.closing(begin + 1, end, "{", "}") if opens else None
        if stop is None:
            return begin
        self._functions[self._tokens[at].text] = (begin + 1, stop)
        return stop + 1

    def _called_with(self, name: str, arguments: tuple[Word, ...]) -> Iterator[Simple]:
        self._called.add(name)
        self._calls += 1
        if self._calls > MAX_CALLS or len(self._calling) >= MAX_DEPTH or name in self._calling:
            return
        self._calling.append(name)
        outer = {key: self._scope.values.get(key) for key in PARAMETERS}
        self._scope.values |= parameters(arguments)
        yield from self._run(*self._functions[name])
        for key, value in outer.items():
            self._scope.values.pop(key, None)
            if value is not None:
                self._scope.values[key] = value
        self._calling.pop()

    def _simple(self, at: int, end: int) -> Generator[Simple, None, int]:
        """A generator that returns the token behind the command."""
        assigned: dict[str, Value] = {}
        words: list[Word] = []
        bodies: list[Token] = []
        while at < end:
            token = self._tokens[at]
            if token.kind == "operator" and (token.text in JOINTS or token.text[0] in "();"):
                break
            if token.kind == "operator":
                if token.body is not None:
                    bodies.append(token)
                elif token.text in REDIRECTS:
                    at += 1
            elif token.kind == "array":
                at = self._array(at, end, assigned)
            elif (match := ASSIGNS.match(token.text)) and (not words or words[0].text in DECLARES):
                self._assign(match[0], text_of(token, self._scope, match.end()), assigned)
                if words:
                    words.append(word(match[0].rstrip("+="), token.where, len(token.text)))
            else:
                more = words_of(token, self._scope)
                words += more if token.quoted else braces(more)
                self._effort.spend(sum(1 + len(one.text) / COPIED for one in more), token.where)
            at += 1
        joint = self._tokens[at].text if at < end else "\n"
        yield from self._done(words, assigned, bodies)
        self._tested = joint == "||" or (joint == "&&" and (self._tested or (bool(words) and words[0].text in TESTS)))
        return at

    def _array(self, at: int, end: int, assigned: dict[str, Value]) -> int:
        """At its `)`."""
        opening, items = self._tokens[at], list[Word]()
        at += 1
        while at < end and not (self._tokens[at].kind == "operator" and self._tokens[at].text == ")"):
            if self._tokens[at].kind == "word":
                items += words_of(self._tokens[at], self._scope)
                self._effort.spend(1, self._tokens[at].where)
            at += 1
        self._assign(opening.text[:-1], Value("", opening.where, tuple(items)), assigned)
        return at

    def _assign(self, target: str, value: Value, assigned: dict[str, Value]) -> None:
        """`target`: as written, `NAME=` or `NAME+=`."""
        name = re.match(r"\w+", target)
        if name is None:
            return
        old = assigned.get(name[0], self._scope.values.get(name[0]))
        if "[" in target or len(value.items or ()) + len((old and old.items) or ()) > MAX_ITEMS:
            value = Value("", value.where, (word(hole(f"${{{name[0]}[@]}}"), value.where),))
        elif target.endswith("+=") and old is not None:
            if value.items is not None:
                value = Value("", old.where, (*(old.items or tuple(fields(old))), *value.items))
            elif old.items is None:
                value = old.then(value)
        elif target.endswith("+="):
            value = Value(hole(f"${name[0]}") + value.text, value.where) if value.items is None else value
        if self._tested:
            value = merged(name[0], old, [value, old]) or value
        assigned[name[0]] = value

    def _done(self, words: list[Word], assigned: dict[str, Value], bodies: list[Token]) -> Iterator[Simple]:
        scope = self._scope
        first = words[0].text if words else ""
        if not words or first in DECLARES:
            scope.values.update(assigned)
            flags = {one.text for one in words[1:] if one.text.startswith("-")}
            if first == "export" or any("x" in flag for flag in flags) or scope.export_all:
                scope.exported |= set(assigned) | {one.text for one in words[1:]}
        elif first in self._functions:
            scope.values.update(assigned)
            yield from self._called_with(first, tuple(words[1:]))
        elif not self._builtin(first, words):
            self._effort.spend((len(scope.exported) + len(self._frames)) / EXPORTED, words[0].where)
            env = scope.environment() | {name: word(one.text, one.where) for name, one in assigned.items()}
            branches = tuple((frame.number, frame.branch) for frame in self._frames if frame.word not in ("(", "while"))
            yield Simple(tuple(words), env, branches)
        for body in bodies:
            yield from self._body(body)

    def _builtin(self, first: str, words: list[Word]) -> bool:
        scope, rest = self._scope, [one.text for one in words[1:]]
        if first == "unset":
            scope.values |= {one.text: Value("", one.where) for one in words[1:]}
            scope.exported -= set(rest)
        elif first == "read":
            for name in rest:
                scope.values.pop(name, None)
        elif first == "shift":
            self._shift(int(rest[0]) if rest and rest[0].isdigit() else 1)
        elif first in ("exit", "return"):
            self._left = bool(self._frames) and self._frames[-1].word != "(" and not self._tested
        elif first == "set":
            if rest[:1] in (["-a"], ["+a"]) or rest[1:2] == ["allexport"]:
                scope.export_all = rest[0][0] == "-"
            elif rest[:1] == ["--"]:
                scope.values |= parameters(tuple(words[2:]))
        else:
            return False
        return True

    def _shift(self, count: int) -> None:
        given = self._scope.values.get("@")
        if given is not None and given.items is not None:
            self._scope.values |= parameters(given.items[count:])

    def _body(self, token: Token) -> Iterator[Simple]:
        """A here-document may be a script that this one writes, or hands to a shell."""
        body = token.body
        if body is None or "sglang" not in body.text or self._depth >= MAX_DEPTH:
            return
        text = text_with_variables(body.text, self._scope) if token.expand else body.text
        scope = self._scope.copy() if token.expand else Scope()
        inner = Text(body.file, text, body.line, body.column, body.indent)
        yield from _Shell(tokens(inner), scope, self._effort, self._depth + 1).all()

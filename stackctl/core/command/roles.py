"""Scripts that become prefill or decode by an argument: read once for each role that they ask for.

A script is such a one when it compares one variable with `prefill` and with `decode`, in `if` or in `case`. For each of
the names it compares with, that variable has that value and its own conditions are decided. No other condition is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from stackctl.core.command.effort import SCANNED, Effort
from stackctl.core.command.lexer import ASSIGNS, Part, Token

ROLES = ("prefill", "decode", "router")
SEPARATORS = ("\n", ";", "&&", "||", "|", "&", "(", ")", ";;", "then", "do", "else", "{", "!")
TESTS = {"[": "]", "[[": "]]", "test": ""}


def dispatch(found: Sequence[Token], effort: Effort) -> tuple[str, tuple[str, ...]] | None:
    """The variable (`1` for the first argument) and the roles that the script knows."""
    asked: dict[str, list[str]] = {}
    for name, literal in _compared(found, effort):
        if literal in ROLES and literal not in asked.setdefault(name, []):
            asked[name].append(literal)
    return next(((name, tuple(roles)) for name, roles in asked.items() if {*ROLES[:2]} <= {*roles}), None)


def played(found: Sequence[Token], name: str, role: str, effort: Effort) -> tuple[Token, ...]:
    """The tokens that are left when the variable has this value."""
    return tuple(_Player(tuple(_assigned(one, name, role) for one in found), name, role, effort).kept(0, len(found)))


def variable(token: Token) -> str | None:
    """The name of a word that is one variable and nothing else."""
    parts = [part for part in token.parts if part.kind != "text" or part.text]
    if len(parts) != 1 or parts[0].kind != "variable":
        return None
    match = re.match(r"(\w+)(?::?[-=].*|,,)?$", parts[0].text)
    return match[1] if match else None


def _compared(found: Sequence[Token], effort: Effort) -> Iterator[tuple[str, str]]:
    for at in range(len(found) - 2):
        one, sign, other = found[at : at + 3]
        if sign.text in ("=", "==") and (name := variable(one)):
            yield name, _literal(other)
        elif one.text == "case" and other.text == "in" and (name := variable(sign)):
            yield from ((name, literal) for literal in _patterns(found, at + 2, effort))


def _patterns(found: Sequence[Token], at: int, effort: Effort) -> Iterator[str]:
    """Of the arms behind an `in`, without those of a `case` in one of them."""
    depth = 0
    for number in range(at + 1, len(found)):
        before, token = found[number - 1], found[number]
        effort.spend(1 / SCANNED, token.where)
        if token.text == "esac" and not depth:
            return
        depth += (token.text == "case") - (token.text == "esac")
        if not depth and token.kind == "word" and before.text in ("in", "\n", ";;", "|", "("):
            yield _literal(token)


def _literal(token: Token) -> str:
    return "".join(part.text for part in token.parts) if all(one.kind == "text" for one in token.parts) else "$"


def _assigned(token: Token, name: str, role: str) -> Token:
    match = ASSIGNS.match(token.text) if token.kind == "word" else None
    if match is None or match[0] != f"{name}=":
        return token
    text = f"{name}={role}"
    return replace(token, text=text, parts=(Part("text", text, False, token.where),))


class _Player:
    def __init__(self, found: tuple[Token, ...], name: str, role: str, effort: Effort) -> None:
        self._tokens, self._name, self._role, self._effort = found, name, role, effort

    def kept(self, at: int, end: int) -> Iterator[Token]:
        while at < end:
            taken = None
            if self._begins(at, "if"):
                taken = self._if(at, end)
            elif self._begins(at, "case") and variable(self._tokens[min(at + 1, end - 1)]) == self._name:
                taken = self._case(at, end)
            if taken is None:
                yield self._tokens[at]
                at += 1
                continue
            (begin, stop), at = taken
            yield from self.kept(begin, stop)

    def _begins(self, at: int, *words: str) -> bool:
        """Whether one of these is a command of its own there."""
        token = self._tokens[at]
        if token.kind != "word" or token.quoted or token.text not in words:
            return False
        return at == 0 or self._tokens[at - 1].text in SEPARATORS

    def _if(self, at: int, end: int) -> tuple[tuple[int, int], int] | None:
        """The body that is run, and where the condition ends; None when this variable does not decide it."""
        begin, depth, decided = at + 1, 0, None
        found: tuple[int, int] | None = None
        body: int | None = None
        for number in range(at + 1, end):
            self._effort.spend(1 / SCANNED, self._tokens[number].where)
            if self._begins(number, "if"):
                depth += 1
            elif self._begins(number, "fi") and depth:
                depth -= 1
            elif depth == 0 and self._begins(number, "then"):
                decided = self._decided(begin, number)
                if decided is None:
                    return None
                body = number + 1
            elif depth == 0 and self._begins(number, "elif", "else", "fi"):
                if decided and found is None and body is not None:
                    found = (body, number)
                begin = number + 1
                if self._tokens[number].text == "else":
                    decided, body = True, number + 1
                elif self._tokens[number].text == "fi":
                    return found or (number, number), number + 1
        return None

    def _decided(self, begin: int, end: int) -> bool | None:
        words = [one for one in self._tokens[begin:end] if one.text not in ("\n", ";")]
        if len(words) < 4 or words[0].text not in TESTS or words[-1].text != (TESTS[words[0].text] or words[-1].text):
            return None
        inner = words[1:-1] if TESTS[words[0].text] else words[1:]
        if len(inner) != 3 or inner[1].text not in ("=", "==", "!=") or variable(inner[0]) != self._name:
            return None
        pattern = _literal(inner[2])
        return None if "$" in pattern else fnmatchcase(self._role, pattern) == (inner[1].text != "!=")

    def _case(self, at: int, end: int) -> tuple[tuple[int, int], int] | None:
        """The arm whose pattern fits; none may."""
        depth, patterns, body = 0, list[str](), 0
        found: tuple[int, int] | None = None
        for number in range(at + 3, end):
            token = self._tokens[number]
            self._effort.spend(1 / SCANNED, token.where)
            if self._begins(number, "case"):
                depth += 1
            elif self._begins(number, "esac") and depth:
                depth -= 1
            elif depth:
                continue
            elif token.text in (";;", "esac"):
                if body and found is None and any(fnmatchcase(self._role, one) for one in patterns):
                    found = (body, number)
                if token.text == "esac":
                    return found or (number, number), number + 1
                patterns, body = [], 0
            elif not body and token.text == ")":
                body = number + 1
            elif not body and token.kind == "word":
                patterns.append(_literal(token))
        return None

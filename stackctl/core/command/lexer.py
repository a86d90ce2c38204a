"""Cuts a shell script into words and operators, each with its place; nothing is put in for variables here.

It differs from core/importing/shell.py, which needs whole commands and their lines only: what is found in a launch
command is shown at its very word. A quote without its end is refused with the line that opens it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from stackctl.core.command.effort import TOO_DEEP, refused
from stackctl.core.command.words import JOINED, Text
from stackctl.errors import InvalidFile, Problem, Where

OPERATOR = re.compile(
    r"(?:\d+(?=[<>]))?(&>>|<<<|<<-|;;&|&&|\|\||;;|;&|<<|>>|>&|<&|&>|>\||<>|\|&|<(?!\()|>(?!\()|[;|&()\n])"
)
PLAIN = re.compile(r"[^ \t\n;&|<>()'\"$`\\\r]+")
ASSIGNS = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
NOWHERE = Where("")  # of what a variable brings
HERE = re.compile(r"(?<!<)<<(?!<)-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")
BREAKS = " \t\n;&|<>()"


@dataclass(frozen=True)
class Part:
    """A piece of a word. `variable`: what stands inside of `${}`; `command`: a substitution, as written."""

    kind: Literal["text", "variable", "command", "sum"]
    text: str
    quoted: bool = False
    where: Where = NOWHERE


@dataclass(frozen=True)
class Token:
    """`array`: `NAME=(` or `NAME+=(`; its items follow, then `)`. `body`: of a here-document, behind its `<<`."""

    kind: Literal["word", "operator", "array"]
    text: str  # as written
    where: Where
    parts: tuple[Part, ...] = ()
    body: Text | None = None
    expand: bool = True  # variables of the body

    @property
    def quoted(self) -> bool:
        return any(part.quoted for part in self.parts)


def tokens(source: Text) -> tuple[Token, ...]:
    """Raises InvalidFile for a quote or bracket that has no end, and for too many inside of each other."""
    try:
        return tuple(_Lexer(source).read())
    except RecursionError:
        raise refused(TOO_DEEP, Where(source.file, source.line, source.column)) from None


class _Lexer:
    def __init__(self, source: Text) -> None:
        self._source, self._text, self._at = source, source.text, 0
        self._starts = [0, *(match.end() for match in re.finditer("\n", source.text))]
        self._heres: list[tuple[int, str, bool, bool]] = []  # token, end word, strip tabs, expand
        self._found: list[Token] = []

    def where(self, at: int) -> Where:
        row = bisect_right(self._starts, at) - 1
        first = self._source.column if row == 0 else 1 + self._source.indent
        return Where(self._source.file, self._source.line + row, first + at - self._starts[row])

    def read(self) -> Iterator[Token]:
        while self._skip():
            start = self._at
            token = self._operator() or self._word()
            self._found.append(token)
            if token.kind == "operator" and token.text in ("<<", "<<-"):
                self._here(token)
            elif token.text == "\n" and self._heres:
                self._bodies()
            assert self._at > start
        if self._heres:
            self._bodies()
        return iter(self._found)

    def _skip(self) -> bool:
        """Blanks, continued lines and comments; whether anything is left."""
        text = self._text
        while self._at < len(text):
            if text[self._at] in " \t\r":
                self._at += 1
            elif text.startswith(("\\\n", "\\\r\n"), self._at):
                self._at = text.index("\n", self._at) + 1
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                return True
        return False

    def _operator(self) -> Token | None:
        found = OPERATOR.match(self._text, self._at)
        if found is None:
            return None
        where, self._at = self.where(self._at), found.end()
        return Token("operator", found[1], where)

    def _word(self) -> Token:
        text, start, parts = self._text, self._at, list[Part]()
        while self._at < len(text) and (text[self._at] not in BREAKS or text.startswith(("<(", ">("), self._at)):
            char = text[self._at]
            if char == "'":
                end = self._end_of("'", self._at + 1)
                parts.append(Part("text", text[self._at + 1 : end], True, self.where(self._at + 1)))
                self._at = end + 1
            elif char == '"':
                self._at += 1
                self._double(parts, start)
            elif text.startswith("$'", self._at):
                end = self._end_of_ansi(self._at + 2)
                parts.append(Part("text", _ansi(text[self._at + 2 : end]), True, self.where(self._at + 2)))
                self._at = end + 1
            elif char in "$`" or text.startswith(("<(", ">("), self._at):
                parts.append(self._expansion(quoted=False))
            elif char == "\\":
                self._escape(parts)
            else:
                self._plain(parts)
            if text.startswith("(", self._at) and ASSIGNS.fullmatch(text, start, self._at):
                self._at += 1
                return Token("array", text[start : self._at], self.where(start))
        return Token("word", text[start : self._at], self.where(start), tuple(parts))

    def _plain(self, parts: list[Part]) -> None:
        found = PLAIN.match(self._text, self._at)
        end = found.end() if found else self._at + 1
        parts.append(Part("text", self._text[self._at : end].replace("\r", ""), False, self.where(self._at)))
        self._at = end

    def _escape(self, parts: list[Part]) -> None:
        if self._text.startswith(("\\\n", "\\\r\n"), self._at):
            self._at = self._text.index("\n", self._at) + 1
            return
        parts.append(Part("text", self._text[self._at + 1 : self._at + 2], True, self.where(self._at + 1)))
        self._at += 2

    def _double(self, parts: list[Part], start: int) -> None:
        text, opened, out = self._text, self._at - 1, list[str]()
        begin = self.where(self._at)
        parts.append(Part("text", "", True, begin))
        while True:
            if self._at >= len(text):
                raise self._unclosed("a double quote", opened)
            char = text[self._at]
            if char == '"':
                break
            if char == "\\" and text[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\", "\n"):
                out.append(JOINED if text[self._at + 1] == "\n" else text[self._at + 1])
                self._at += 2
            elif char in "$`":
                parts.append(Part("text", "".join(out), True, begin))
                out.clear()
                parts.append(self._expansion(quoted=True))
                begin = self.where(self._at)
            else:
                out.append(char)
                self._at += 1
        self._at += 1
        parts.append(Part("text", "".join(out), True, begin))

    def _expansion(self, *, quoted: bool) -> Part:
        text, at = self._text, self._at
        if text[at] == "`":
            self._at = self._end_of("`", at + 1) + 1
            return Part("command", text[at : self._at], quoted)
        if text.startswith("$((", at):
            self._at = self._closing(at + 1, "(", ")")
            return Part("sum", text[at + 3 : self._at - 2], quoted)
        if text.startswith(("$(", "<(", ">("), at):
            self._at = self._closing(at + 1, "(", ")")
            return Part("command", text[at : self._at], quoted)
        if text.startswith("${", at):
            self._at = self._closing(at + 1, "{", "}")
            return Part("variable", text[at + 2 : self._at - 1], quoted)
        name = NAME.match(text, at + 1)
        self._at = name.end() if name else at + 1
        return Part("variable", name[0], quoted) if name else Part("text", "$", quoted)

    def _closing(self, at: int, opening: str, closing: str) -> int:
        """Behind the bracket that ends the one at `at`; quotes and here-documents inside are respected."""
        text, depth, start = self._text, 0, at
        ends: list[str] = []
        while at < len(text):
            if text[at] == "\\":
                at += 1
            elif opening == "(" and text[at] == "'":
                at = self._end_of("'", at + 1)
            elif opening == "(" and text[at] == '"':
                at = self._end_of_double(at)
            elif opening == "(" and (here := HERE.match(text, at)):
                ends.append(here[2])
                at = here.end() - 1
            elif text[at] == "\n" and ends:
                at = self._behind(at + 1, ends)
            elif text[at] == opening:
                depth += 1
            elif text[at] == closing:
                depth -= 1
                if depth == 0:
                    return at + 1
            at += 1
        raise self._unclosed(f"`{text[start - 1 : start + 1]}`", start - 1)

    def _end_of_double(self, at: int) -> int:
        """The quote that ends the one at `at`."""
        start, at = at, at + 1
        while at < len(self._text) and self._text[at] != '"':
            if self._text.startswith("$(", at):
                at = self._closing(at + 1, "(", ")")
            else:
                at += 2 if self._text[at] == "\\" else 1
        if at >= len(self._text):
            raise self._unclosed("a double quote", start)
        return at

    def _behind(self, at: int, ends: list[str]) -> int:
        """The last character of here-documents that begin at `at`; `ends` is emptied."""
        for end in ends:
            found = re.compile(rf"^[ \t]*{re.escape(end)}$", re.MULTILINE).search(self._text, at)
            at = found.end() + 1 if found else len(self._text)
        ends.clear()
        return at - 1

    def _end_of(self, quote: str, at: int) -> int:
        end = self._text.find(quote, at)
        if end < 0:
            raise self._unclosed({"'": "a single quote", "`": "a backtick"}[quote], at - 1)
        return end

    def _end_of_ansi(self, at: int) -> int:
        found = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL).match(self._text, at)
        if found is None:
            raise self._unclosed("a single quote", at - 1)
        return found.end() - 1

    def _unclosed(self, what: str, at: int) -> InvalidFile:
        hint = "a launch script that a shell would refuse cannot be read; close it, or quote the quote"
        return InvalidFile([Problem(f"{what} that opens here has no end", self.where(at), hint=hint)])

    def _here(self, token: Token) -> None:
        if not self._skip():
            return
        end = self._word()
        literal = "".join(part.text for part in end.parts)
        self._heres.append((len(self._found) - 1, literal, token.text == "<<-", not end.quoted))

    def _bodies(self) -> None:
        for number, end, strip, expand in self._heres:
            begin = self._at
            while self._at < len(self._text):
                start = self._at
                stop = self._text.find("\n", start)
                self._at = len(self._text) if stop < 0 else stop + 1
                line = self._text[start : self._at].rstrip("\r\n")
                if (line.lstrip("\t") if strip else line) == end:
                    break
            else:
                start = len(self._text)
            row = self.where(begin)
            body = Text(row.file, self._text[begin:start], row.line or 1, row.column or 1, self._source.indent)
            self._found[number] = replace(self._found[number], body=body, expand=expand)
        self._heres.clear()


def _ansi(text: str) -> str:
    known = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
    return re.sub(r"\\(.)", lambda match: known.get(match[1], match[0]), text)

"""Reads as much of a shell script as a Dockerfile needs: simple commands, how they are joined, redirections, texts.

It runs nothing and guesses nothing: a command whose words cannot be told here (a substitution, a loop) is `dark`, with
the reason. Line numbers count from the script's first line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

OPERATORS = ("&&", "||", ";;", "<<-", "<<", ">>", "2>&1", "2>", "&>", ";", "|", "&", "<", ">", "(", ")", "\n")
JOINTS = ("&&", "||", ";", "|", "&", "\n")
COMPOUND = frozenset(("if", "for", "while", "until", "case", "function", "then", "do", "else", "elif", "fi", "done",
                      "esac", "{", "}", "!", "[[", "("))  # fmt: skip
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LOOP = re.compile(
    r"\bfor\s+([A-Za-z_]\w*)\s+in\s+((?:[^;\n\\]|\\\n)+?)\s*(?:;|\n)[\s\\]*do\s(.*?)(?:;|\n)[\s\\]*done\b", re.DOTALL
)
LOOP_WORDS = re.compile(r"\b(?:for|while|if|case|until|do)\s")
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")


@dataclass
class Command:
    """`joint` is what stands before it. `stdin`: a text given here, or the name of a file in `reads`."""

    line: int
    joint: str = ""
    words: list[str] = field(default_factory=list)
    stdin: str | None = None
    reads: str | None = None
    writes: str | None = None
    appends: bool = False
    dark: str | None = None

    @property
    def text(self) -> str:
        return " ".join(self.words)


@dataclass
class _Token:
    kind: str  # word or operator
    text: str
    line: int
    quoted: bool = False
    dark: str | None = None


def unrolled(script: str, expand: Callable[[str], Sequence[str]]) -> str:
    """The script with each plain `for` loop as its passes, one after the other in the line where it begins.

    `expand` gives what a word with wildcards or variables means, in the shell's order. What is nested, or makes its
    words by a command, stays as it is, and is dark then.
    """

    def passes(match: re.Match[str]) -> str:
        name, words, body = match[1], match[2].replace("\\\n", " ").split(), match[3]
        if "<<" in body or LOOP_WORDS.search(body) or re.search(r"[`\"'(]", match[2]):
            return match[0]
        values = [value for word in words for value in (expand(word) if set(word) & set("*?[$") else [word])]
        flat = body.replace("\\\n", " ").replace("\n", ";").strip("; ")
        return ";".join(f"{name}={value}; {flat}" for value in values) + "\n" * match[0].count("\n")

    return LOOP.sub(passes, script)


def commands(script: str, variables: Mapping[str, str] | None = None) -> list[Command]:
    """The simple commands of a script, in order. Assignments in it are followed."""
    return _Reader(script, dict(variables or {})).read()


class _Reader:
    def __init__(self, script: str, variables: dict[str, str]) -> None:
        self._text, self._at, self._line = script, 0, 1
        self._variables = variables
        self._waiting: list[tuple[Command, str, bool, bool]] = []  # command, its end word, strip tabs, expand

    def read(self) -> list[Command]:
        found: list[Command] = []
        command = Command(1)
        depth = 0
        while (token := self._token()) is not None:
            if token.kind == "operator" and token.text in JOINTS:
                if command.words or command.writes or command.dark:
                    found.append(command)
                    command = Command(token.line, token.text)
                elif token.text != "\n":
                    command.joint = token.text
                if token.text == "\n":
                    self._texts()
                continue
            if token.kind == "operator":
                self._redirected(command, token)
                continue
            first = not command.words
            if first:
                command.line = token.line
            if first and not token.quoted and token.text in COMPOUND:
                depth += token.text in ("if", "for", "while", "until", "case", "{")
                depth -= token.text in ("fi", "done", "esac", "}")
                command.dark = f"`{token.text}` is not followed"
            elif first and not token.quoted and (match := ASSIGNMENT.match(token.text)):
                self._variables[match[1]] = token.text[match.end() :]
                continue
            command.words.append(token.text)
            command.dark = command.dark or token.dark or ("inside of a compound command" if depth > 0 else None)
        if command.words or command.writes or command.dark:
            found.append(command)
        return found

    def _redirected(self, command: Command, token: _Token) -> None:
        if token.text in ("(", ")", ";;", "2>&1"):
            if token.text != "2>&1":
                command.dark = "a subshell is not followed"
            return
        if token.text == "&" or (target := self._token()) is None:
            return
        if token.text.startswith("<<"):
            self._waiting.append((command, target.text, token.text == "<<-", not target.quoted))
        elif token.text == "<":
            command.reads = target.text
        elif token.text in (">", ">>", "&>"):
            command.writes, command.appends = target.text, token.text == ">>"
        command.dark = command.dark or target.dark

    def _texts(self) -> None:
        """The here-documents whose bodies begin after this line."""
        for command, end, strip, expand in self._waiting:
            lines = []
            while self._at < len(self._text):
                line, self._at = self._line_at(self._at)
                self._line += 1
                line = line.lstrip("\t") if strip else line
                if line.rstrip("\n") == end:
                    break
                lines.append(line)
            text = "".join(lines)
            command.stdin = self._expanded(text, command) if expand else text
        self._waiting.clear()

    def _line_at(self, at: int) -> tuple[str, int]:
        end = self._text.find("\n", at)
        end = len(self._text) if end < 0 else end + 1
        return self._text[at:end], end

    def _expanded(self, text: str, command: Command) -> str:
        out, at = [], 0
        while at < len(text):
            if text[at] == "\\" and at + 1 < len(text) and text[at + 1] in "$`\\\n":
                out.append("" if text[at + 1] == "\n" else text[at + 1])
                at += 2
            elif text[at] in "$`":
                value, at, dark = self._variable(text, at)
                command.dark = command.dark or dark
                out.append(value)
            else:
                out.append(text[at])
                at += 1
        return "".join(out)

    def _token(self) -> _Token | None:
        text = self._text
        while self._at < len(text) and text[self._at] in " \t\\":
            if text[self._at] == "\\":
                if text[self._at : self._at + 2] != "\\\n":
                    break
                self._line += 1
                self._at += 1
            self._at += 1
        if self._at >= len(text):
            return None
        if text[self._at] == "#":
            self._at = text.find("\n", self._at) if "\n" in text[self._at :] else len(text)
            return self._token()
        line = self._line
        operator = next((one for one in OPERATORS if text.startswith(one, self._at)), None)
        if operator and not (operator[0] == "2" and self._at and text[self._at - 1] not in " \t"):
            self._at += len(operator)
            self._line += operator == "\n"
            return _Token("operator", operator, line)
        return self._word(line)

    def _word(self, line: int) -> _Token:
        text, out, quoted, dark = self._text, list[str](), False, None
        while self._at < len(text) and text[self._at] not in " \t\n;&|<>()":
            char = text[self._at]
            if char == "'":
                end = text.find("'", self._at + 1)
                end = len(text) if end < 0 else end
                out.append(text[self._at + 1 : end])
                self._line += text.count("\n", self._at, end)
                self._at, quoted = end + 1, True
            elif char == '"':
                value, problem = self._double()
                out.append(value)
                dark, quoted = dark or problem, True
            elif char == "\\":
                if text[self._at + 1 : self._at + 2] != "\n":
                    out.append(text[self._at + 1 : self._at + 2])
                    quoted = True
                else:
                    self._line += 1
                self._at += 2
            elif char in "$`":
                value, self._at, problem = self._variable(text, self._at)
                out.append(value)
                dark = dark or problem
            else:
                out.append(char)
                self._at += 1
        return _Token("word", "".join(out), line, quoted, dark)

    def _double(self) -> tuple[str, str | None]:
        text, out, dark = self._text, list[str](), None
        self._at += 1
        while self._at < len(text) and text[self._at] != '"':
            char = text[self._at]
            if char == "\\" and text[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\", "\n"):
                out.append("" if text[self._at + 1] == "\n" else text[self._at + 1])
                self._line += text[self._at + 1] == "\n"
                self._at += 2
            elif char in "$`":
                value, self._at, problem = self._variable(text, self._at)
                out.append(value)
                dark = dark or problem
            else:
                self._line += char == "\n"
                out.append(char)
                self._at += 1
        self._at += 1
        return "".join(out), dark

    def _variable(self, text: str, at: int) -> tuple[str, int, str | None]:
        """The value of what begins with `$` or a backtick, where it ends, and why it cannot be told."""
        if text[at] == "`":
            end = text.find("`", at + 1)
            return "", (len(text) if end < 0 else end + 1), "a command substitution is not followed"
        if text.startswith("$(", at):
            return "", _closing(text, at + 1), "a command substitution is not followed"
        braced = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^}]*))?\}").match(text, at)
        plain = NAME.match(text, at + 1)
        name = braced[1] if braced else plain[0] if plain else None
        if name is None:
            return "$", at + 1, None if at + 1 >= len(text) or not text[at + 1].isalnum() else "$N is not known"
        end = braced.end() if braced else plain.end() if plain else at + 1
        if name in self._variables:
            return self._variables[name], end, None
        if braced and braced[2] is not None:
            return braced[2], end, None
        return "", end, f"${name} is not known here"


def _closing(text: str, at: int) -> int:
    depth = 0
    for place in range(at, len(text)):
        depth += text[place] == "("
        depth -= text[place] == ")"
        if depth == 0:
            return place + 1
    return len(text)

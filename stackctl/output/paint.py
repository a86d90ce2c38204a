"""Colours for text that is written line by line, such as diffs; and what a terminal would act upon, made visible.

Text that goes into a pipe is left byte for byte as it is: a patch must still apply.
"""

from __future__ import annotations

import re

RESET = "\x1b[0m"
STYLES = {
    "bold": "\x1b[1m", "dim": "\x1b[2m", "red": "\x1b[31m", "green": "\x1b[32m", "yellow": "\x1b[33m",
    "cyan": "\x1b[36m", "magenta": "\x1b[35m", "reverse": "\x1b[7m",
}  # fmt: skip
ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
HEADS = (
    "diff --git ", "index ", "--- a/", "--- /dev/null", "--- \"a/", "+++ b/", "+++ /dev/null", "+++ \"b/",
    "new file mode ", "deleted file mode ", "old mode ", "new mode ",
)  # fmt: skip
INNER = {"+": "green", "-": "red", "@": "magenta"}


class Paint:
    """`colours`: write escape codes of our own. `terminal`: show those of others as text."""

    def __init__(self, *, colours: bool, terminal: bool) -> None:
        self._colours = colours
        self._terminal = terminal

    def safe(self, text: str) -> str:
        return ACTS.sub(_seen, text) if self._terminal else text

    def styled(self, text: str, *styles: str) -> str:
        """One piece of text without a line end, made safe."""
        text = self.safe(text)
        if not self._colours or not text or not styles:
            return text
        return "".join(STYLES[style] for style in styles) + text + RESET

    def diff(self, text: str) -> str:
        """A diff as git colours it."""
        if not self._colours:
            return self.safe(text)
        return "".join(self._diff_line(line) for line in _lines(text))

    def range_diff(self, text: str) -> str:
        """The outer sign on a ground of its colour, the inner line in its own."""
        if not self._colours:
            return self.safe(text)
        return "".join(self._range_line(line) for line in _lines(text))

    def _diff_line(self, line: str) -> str:
        body, end = _split(line)
        if body.startswith(HEADS):
            return self.styled(body, "bold") + end
        style = "cyan" if body.startswith("@@") else INNER.get(body[:1])
        return (self.styled(body, style) if style else self.safe(body)) + end

    def _range_line(self, line: str) -> str:
        body, end = _split(line)
        if body.startswith("@@"):
            return self.styled(body, "cyan") + end
        inner = body[1:]
        style = INNER.get(inner[:1]) or ("bold" if inner.startswith(" ##") else None)
        painted = self.styled(inner, style) if style else self.safe(inner)
        outer = {"+": "green", "-": "red"}.get(body[:1])
        return (self.styled(body[:1], outer, "reverse") if outer else body[:1]) + painted + end


def _lines(text: str) -> list[str]:
    """By line feeds alone: other line ends are part of a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _split(line: str) -> tuple[str, str]:
    body = line.rstrip("\n")
    return body, line[len(body) :]


def _seen(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"^{chr(code ^ 64)}" if code < 128 else f"<U+{code:04X}>"

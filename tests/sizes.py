"""`just check`: no module over 350 lines, no function over 50. Prints each that is, and exits 1."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULE, FUNCTION = 350, 50


def too_long(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    found = []
    if (lines := len(text.splitlines())) > MODULE:
        found.append(f"{path.relative_to(ROOT)}: {lines} lines, cut it where it has two subjects (limit {MODULE})")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            if size > FUNCTION:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {size} lines (limit {FUNCTION})")
    return found


if __name__ == "__main__":
    sources = [*(ROOT / "stackctl").rglob("*.py"), *(ROOT / "stacks").rglob("*.py")]
    problems = [line for path in sorted(sources) for line in too_long(path)]
    print("\n".join(problems) or f"{len(sources)} modules: none over {MODULE} lines, no function over {FUNCTION}")
    sys.exit(bool(problems))

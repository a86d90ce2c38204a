"""The graph of a queue as one SVG text, to be opened by itself or put into a page.

Patches stand in columns: each to the right of all that it needs. Needs that others imply are not drawn. The same graph
gives the same bytes; there is no script, no font and no address in it, and every text is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from stackctl.core.names import PatchName
from stackctl.core.patches.values import Need
from stackctl.core.review.graph import COLOURS, HINT, Graph
from stackctl.core.review.layers import Layout, Point, lay_out

CHAR = 7.3  # pixels of a letter of the font
ROW, BOX, GAP, PAD = 30, 22, 64, 16  # pixels: of a row, of a box's height, between columns, at the edge
TOP = 64  # the title and what the colours mean
LONGEST = 46  # characters of a name that are shown
STYLE = """
  svg.queue { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: #fff; color: #1b2631 }
  .queue text { fill: currentColor } .queue .title { font-size: 15px; font-weight: 600 } .queue .soft { opacity: .65 }
  .queue rect { fill: #f4f6f7; stroke: #85929e } .queue a:hover rect { stroke: #000 }
  .queue path { fill: none; stroke-width: 1.6; opacity: .85 } .queue path:hover { stroke-width: 4; opacity: 1 }
  @media (prefers-color-scheme: dark) { svg.queue { background: #17202a; color: #e5e8e8 }
    .queue rect { fill: #273746; stroke: #85929e } .queue a:hover rect { stroke: #fff } }
"""


@dataclass(frozen=True)
class Words:
    """What is said of patches beside their names: titles for the mouse, and where a click leads."""

    titles: Mapping[PatchName, str] = field(default_factory=dict)
    links: Mapping[PatchName, str] = field(default_factory=dict)


def svg(graph: Graph, words: Words | None = None) -> str:
    """One `<svg>` element with its own style. It needs nothing else, and fits into any page."""
    words = words or Words()
    tied = [name for name in graph.names if name not in graph.alone]
    edges = [edge for name in tied for edge in graph.reduced[name]]
    layout = lay_out(tied, [(edge.patch, edge.needs) for edge in edges])
    columns = _columns(layout)
    grid, grid_top = _alone(graph, layout.rows)
    width = max([*(right for _, right in columns), *(x + _width(n) for n, x, _ in grid), 560]) + PAD
    height = grid_top + (max((y for _, _, y in grid), default=0) + ROW if grid else 0) + PAD
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="queue" role="img" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" aria-label="{escape(graph.title)}">',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="{PAD}" y="24">{_shown(graph.title)}</text>',
        *_legend(edges, sum(map(len, graph.below.values())) - len(edges)),
    ]
    parts += [_edge(edge, layout.ways[edge.patch, edge.needs], columns) for edge in edges]
    parts += [_box(name, columns[at.column][0], _middle(at), words) for name, at in layout.places.items()]
    if grid:
        text = f"{len(grid)} stand alone: they need none and none needs them" if tied else "no patch needs another"
        parts.append(f'<text class="soft" x="{PAD}" y="{grid_top - 10}">{text}</text>')
        parts += [_box(name, x, grid_top + y + ROW / 2, words) for name, x, y in grid]
    return "\n".join([*parts, "</svg>", ""])


def _columns(layout: Layout) -> list[tuple[float, float]]:
    """Left and right of each column, as wide as its longest name."""
    found: list[tuple[float, float]] = []
    left = float(PAD)
    for number in range(layout.columns):
        names = [name for name, point in layout.places.items() if point.column == number]
        right = left + max(map(_width, names), default=0)
        found.append((left, right))
        left = right + GAP
    return found


def _middle(point: Point) -> float:
    return TOP + point.row * ROW + ROW / 2


def _alone(graph: Graph, rows: int) -> tuple[list[tuple[PatchName, float, float]], int]:
    """Patches without an edge, below the others in as many columns as look well: name, x, y; and where they begin."""
    if not graph.alone:
        return [], TOP + rows * ROW
    wide = max(map(_width, graph.alone)) + 16
    across = max(1, min(4, -(-len(graph.alone) // 3), int(1100 // wide)))
    down = -(-len(graph.alone) // across)
    placed = [(name, PAD + wide * (at // down), float(ROW * (at % down))) for at, name in enumerate(graph.alone)]
    return placed, TOP + rows * ROW + (34 if rows else 8)


def _legend(edges: Sequence[Need], implied: int) -> list[str]:
    x, parts = float(PAD), []
    for reason in [reason for reason in COLOURS if any(edge.reason == reason for edge in edges)]:
        parts.append(f'<path d="M{x:.1f} 44h22" {_stroke(reason)}/><text x="{x + 28:.1f}" y="48">{reason}</text>')
        x += 28 + CHAR * len(reason) + 18
    if implied:
        parts.append(f'<text class="soft" x="{x:.1f}" y="48">{implied} more are implied by these</text>')
    return parts


def _edge(edge: Need, way: Sequence[Point], columns: Sequence[tuple[float, float]]) -> str:
    """From the left side of the patch to the right side of what it needs, straight past the boxes between them."""
    start, *rest = way
    x, y = columns[start.column][0], _middle(start)
    path = [f"M{x:.1f} {y:.1f}"]
    for point in rest:
        left, right = columns[point.column]
        row, half = _middle(point), (x - right) / 2
        path.append(f"C{x - half:.1f} {y:.1f} {right + half:.1f} {row:.1f} {right:.1f} {row:.1f}")
        x, y = left + (_width(edge.needs) if point is way[-1] else 0), row
        path.append(f"H{x:.1f}")
    return f'<path d="{" ".join(path)}" {_stroke(edge.reason)}><title>{_safe(_told(edge))}</title></path>'


def _told(edge: Need) -> str:
    if edge.reason == HINT:
        return f"{edge.patch} may need {edge.needs}: it uses a name that the other adds ({edge.file})"
    where = f"{edge.file}, line {edge.line} of the patch" if edge.file else "its header says so"
    return f"{edge.patch} needs {edge.needs}: {edge.reason} ({where})"


def _stroke(reason: str) -> str:
    return f'stroke="{COLOURS[reason]}"' + (' stroke-dasharray="5 4"' if reason == HINT else "")


def _box(name: PatchName, x: float, y: float, words: Words) -> str:
    title = words.titles.get(name)
    shape = (
        f"<title>{_safe(f'{name}: {title}' if title else name)}</title>"
        f'<rect x="{x:.1f}" y="{y - BOX / 2:.1f}" width="{_width(name):.1f}" height="{BOX}" rx="4"/>'
        f'<text x="{x + 8:.1f}" y="{y + 4:.1f}">{_shown(name)}</text>'
    )
    link = words.links.get(name)
    return f'<a href="{escape(link)}">{shape}</a>' if link else f"<g>{shape}</g>"


def _width(name: str) -> float:
    return min(len(name), LONGEST) * CHAR + 16


def _shown(text: str) -> str:
    return _safe(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def _safe(text: str) -> str:
    """For XML: escaped, and without the characters that it may not hold at all."""
    return escape("".join(char if char.isprintable() else "�" for char in text))

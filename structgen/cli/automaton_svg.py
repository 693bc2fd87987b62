"""A graph as SVG: states in columns by their distance from the start, so that most edges lead from left to right."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple
from xml.sax.saxutils import escape

from structgen.cli.automaton_graph import Edge, Graph

__all__ = ["draw"]

_COLUMN, _ROW, _RADIUS, _MARGIN, _LETTER = 150, 88, 16, 60, 6.7
"""Pixels: between columns and rows, of a state, around, and of a letter of a label."""
_SHOWN = 22
"""Letters of a label and of a place that are shown; the whole is its title."""
_STYLE = (
    "text{font:11px monospace;text-anchor:middle;fill:#222;white-space:pre}"
    ".edge{fill:none;stroke:#777;marker-end:url(#tip)}"
    ".back{stroke:#b75;}.label{paint-order:stroke;stroke:#fff;stroke-width:4px}.place{font-size:9px;fill:#888}"
    ".state{fill:#fff;stroke:#222}.cut{stroke-dasharray:3 3}"
)
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>'
)


class _Point(NamedTuple):
    x: float
    y: float


def draw(graph: Graph, title: str) -> str:
    """The graph as the text of an SVG file.

    Accepting states have a double border; states that lead to some left out have a dashed one, and the caption says so.

    Parameters
    ----------
    graph : Graph
        What to draw.
    title : str
        Shown above it.
    """
    points = _placed(graph)
    width = max(point.x for point in points) + _COLUMN
    height = max(point.y for point in points) + _ROW + _MARGIN
    caption = f"{title}: {graph.summary()}"
    width = max(width, _LETTER * len(caption) + 2 * _MARGIN)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}">',
        f'<style>{_STYLE}</style>{_TIP}<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{width / 2:.0f}" y="20">{escape(caption)}</text>',
        *(_edge(edge, points) for edge in graph.edges),
        *(_state(graph, number, point) for number, point in enumerate(points)),
    ]
    return "\n".join([*parts, "</svg>\n"])


def _placed(graph: Graph) -> list[_Point]:
    """Where the states are: in each column in the order of what leads to them from the columns before."""
    columns: defaultdict[int, list[int]] = defaultdict(list)
    for number, node in enumerate(graph.nodes):
        columns[node.depth].append(number)
    before: defaultdict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        if graph.nodes[edge.source].depth < graph.nodes[edge.target].depth:
            before[edge.target].append(edge.source)
    tallest = max(map(len, columns.values()))
    rows: dict[int, float] = {}
    for depth in sorted(columns):
        members = columns[depth]
        wanted = {one: sum(rows[other] for other in before[one]) / max(1, len(before[one])) for one in members}
        top = (tallest - len(members)) / 2
        for place, one in enumerate(sorted(members, key=lambda one: (wanted[one], one))):
            rows[one] = top + place
    return [
        _Point(_MARGIN + _COLUMN * node.depth, 2 * _MARGIN + _ROW * rows[number])
        for number, node in enumerate(graph.nodes)
    ]


def _state(graph: Graph, number: int, point: _Point) -> str:
    node = graph.nodes[number]
    shape = "state cut" if node.is_cut else "state"
    circles = f'<circle class="{shape}" cx="{point.x:.0f}" cy="{point.y:.0f}" r="{_RADIUS}"/>'
    if node.is_accepting:
        circles += f'<circle class="state" cx="{point.x:.0f}" cy="{point.y:.0f}" r="{_RADIUS - 3}"/>'
    start = f'<path class="edge" d="M{point.x - 45:.0f} {point.y:.0f}H{point.x - _RADIUS:.0f}"/>' if number == 0 else ""
    places = " or ".join(node.places)
    return (
        f"<g>{start}{circles}<title>{escape(places)}</title>"
        f'<text x="{point.x:.0f}" y="{point.y + 4:.0f}">{number}</text>'
        f'<text class="place" x="{point.x:.0f}" y="{point.y + _RADIUS + 11:.0f}">{escape(_cut(places))}</text></g>'
    )


def _edge(edge: Edge, points: list[_Point]) -> str:
    path, label, kind = _curve(points[edge.source], points[edge.target])
    whole = "  ".join(edge.labels)
    return (
        f'<g><path class="{kind}" d="{path}"/><title>{escape(whole)}</title>'
        f'<text class="label" x="{label.x:.0f}" y="{label.y:.0f}">{escape(_cut(whole))}</text></g>'
    )


def _curve(source: _Point, target: _Point) -> tuple[str, _Point, str]:
    """The path of an edge, where its label stands, and its class."""
    if source == target:  # a loop above the state
        top = source.y - _RADIUS
        path = f"M{source.x - 8:.0f} {top + 2:.0f}C{source.x - 30:.0f} {top - 34:.0f} "
        path += f"{source.x + 30:.0f} {top - 34:.0f} {source.x + 8:.0f} {top + 2:.0f}"
        return path, _Point(source.x, top - 28), "edge"
    if source.x < target.x:
        begin, end = _Point(source.x + _RADIUS, source.y), _Point(target.x - _RADIUS, target.y)
        third = (end.x - begin.x) / 3
        path = f"M{begin.x:.0f} {begin.y:.0f}C{begin.x + third:.0f} {begin.y:.0f} "
        path += f"{end.x - third:.0f} {end.y:.0f} {end.x:.0f} {end.y:.0f}"
        return path, _Point((begin.x + end.x) / 2, (begin.y + end.y) / 2 - 5), "edge"
    if source.x == target.x:
        begin, end = _Point(source.x + 12, source.y + 11), _Point(target.x + 12, target.y - 11)
        if source.y > target.y:
            begin, end = _Point(source.x + 12, source.y - 11), _Point(target.x + 12, target.y + 11)
        middle = _Point(source.x + _COLUMN / 4, (begin.y + end.y) / 2)
        return f"M{begin.x:.0f} {begin.y:.0f}Q{middle.x:.0f} {middle.y:.0f} {end.x:.0f} {end.y:.0f}", middle, "edge"
    # back: below both
    depth = max(source.y, target.y) + _ROW * 0.55
    begin, end = _Point(source.x, source.y + _RADIUS), _Point(target.x, target.y + _RADIUS)
    path = f"M{begin.x:.0f} {begin.y:.0f}C{begin.x:.0f} {depth:.0f} {end.x:.0f} {depth:.0f} {end.x:.0f} {end.y:.0f}"
    return path, _Point((begin.x + end.x) / 2, (begin.y + end.y) / 8 + depth * 0.75), "edge back"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"

"""The drawings of the states, made from the tables of their moves: `python -m tests.docs.drawings` writes them anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from math import hypot

from flask_paycheckout.checkouts.states import TRANSITIONS
from flask_paycheckout.payouts.payout_states import PAYOUT_TRANSITIONS
from tests.docs.pages import ROOT

#: Column and row of each state.
_CHECKOUT = {
    "created": (0, 1),
    "pending": (1, 0),
    "abandoned": (1, 2),
    "part": (3, 1.1),
    "paid": (3, 0.2),
    "held": (2, 2.1),
    "rejected": (3, 2.4),
}
_PAYOUT = {
    **{"claimable": (0, 0.7), "waiting": (1, 0.7), "ready": (2, 0.7), "sending": (3, 0.7), "sent": (4, 0.7)},
    **{"completed": (5, 0), "cancelled": (1, 1.7), "unknown": (3, 1.7), "failed": (5, 1.7)},
}
_STYLE = """text{font:15px sans-serif;fill:#22303c;text-anchor:middle}rect{fill:#e8f1f4;stroke:#17607f}
path{fill:none;stroke:#5a6570;stroke-width:1.5;marker-end:url(#head)}.person{stroke:#b0480f;stroke-dasharray:6 4}
.final{stroke-width:3}marker path{fill:#5a6570;stroke:none}
@media(prefers-color-scheme:dark){text{fill:#e9e5db}rect{fill:#1c2c37;stroke:#84cbe4}path{stroke:#a7b1b8}
.person{stroke:#f1a36c}marker path{fill:#a7b1b8}}"""
_WIDE, _HIGH = 104, 40

Moves = Iterable[tuple[str, str | None, str]]
"""The state before, the evidence, and the state after each."""

Point = tuple[float, float]


def drawing(moves: Moves, places: Mapping[str, Point], across: int, title: str) -> str:
    """Draw the states as boxes, and an arrow for each move, dashed if only a person makes it."""
    at = {state: (x * across + 56.0, y * 110 + 24) for state, (x, y) in places.items()}
    ends = sorted((str(start), str(end), str(why)) for start, why, end in moves if start != end)
    arrows = {pair: [why for *_, why in each] for pair, each in groupby(ends, lambda move: move[:2])}
    shapes = []
    for (start, end), reasons in arrows.items():
        kind = ' class="person"' if all(why.startswith("a person") for why in reasons) else ""
        (x, y), (to_x, to_y) = _line(at[start], at[end], aside=8 if (end, start) in arrows else 0)
        shapes.append(f'<path{kind} d="M{x:.0f} {y:.0f}L{to_x:.0f} {to_y:.0f}"/>')
    for state, (x, y) in at.items():
        kind = "" if any(start == state for start, _ in arrows) else ' class="final"'
        shapes.append(f'<rect{kind} x="{x - 52:.0f}" y="{y - 20:.0f}" width="{_WIDE}" height="{_HIGH}" rx="8"/>')
        shapes.append(f'<text x="{x:.0f}" y="{y + 5:.0f}">{state}</text>')
    wide, high = (max(place[axis] for place in at.values()) for axis in (0, 1))
    head = '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide + 56:.0f}" height="{high + 24:.0f}" role="img">',
            f"<title>{title}</title><style>{_STYLE}</style>",
            f'{head}<path d="M0 0L8 4L0 8z"/></marker>',
            *shapes,
            "</svg>\n",
        ]
    )


def _line(start: Point, end: Point, *, aside: int) -> tuple[Point, Point]:
    """A line from the edge of one box to another's; with `aside` to the left, next to a line back."""
    over, down = end[0] - start[0], end[1] - start[1]
    length = hypot(over, down)
    # The middle of the line leaves a box through the nearer of its edges.
    inside = min(_WIDE / 2 / abs(over) if over else 9, _HIGH / 2 / abs(down) if down else 9)
    across, along = over / length * aside, down / length * aside
    edges = ((start, inside), (end, -inside))
    first, last = ((x + over * part + along, y + down * part - across) for (x, y), part in edges)
    return first, last


DRAWINGS = {
    "states-of-a-checkout": drawing(
        [(start, why, end) for (start, why), end in TRANSITIONS.items()], _CHECKOUT, 230, "The states of a checkout"
    ),
    "states-of-a-payout": drawing(
        [(start.status, why, end.status) for (start, why), end in PAYOUT_TRANSITIONS.items()],
        _PAYOUT,
        150,
        "The states of a payout",
    ),
}

if __name__ == "__main__":
    for name, svg in DRAWINGS.items():
        (ROOT / ".pictures" / f"{name}.svg").write_text(svg, encoding="utf-8")

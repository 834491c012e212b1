"""The table of transitions, cell by cell, and the status of an order with several checkouts."""

from __future__ import annotations

import pytest

from flask_paycheckout.checkouts.states import TRANSITIONS, Evidence, Status, best_of
from tests.states.model import TABLE

# The columns of the table are in the order of the evidence.
CELLS = [
    pytest.param(Status(row.split()[0]), evidence, target, id=f"{row.split()[0]}-{evidence.name.lower()}")
    for row in TABLE.strip().splitlines()[1:]
    for evidence, target in zip(Evidence, row.split()[1:], strict=True)
]


@pytest.mark.parametrize(("status", "evidence", "target"), CELLS)
def test_each_cell_of_the_table(status: Status, evidence: Evidence, target: str) -> None:
    assert TRANSITIONS.get((status, evidence), "-") == target


def test_an_orders_status_is_the_best_of_its_attempts() -> None:
    order = ["rejected", "abandoned", "created", "part", "pending", "held", "paid"]
    bests = [best_of(order[: number + 1]) for number in range(len(order))]
    assert (best_of([]), bests) == ("unpaid", ["unpaid", *order[1:]])

"""The table of transitions, cell by cell, and the status of an order with several checkouts."""

from __future__ import annotations

import pytest

from flask_paycheckout.checkouts.states import FINAL, OPEN, SIGNAL_OF, TRANSITIONS, Evidence, Status, best_of
from flask_paycheckout.signals import BY_NAME, OF_PAYOUTS

# Written out a second time, as the rules say it, and not read from the table.
TABLE = """
              open     agrees  part  disagrees  closed     stalled    never      accepted  as-part  rejected  reached
    created   pending  paid    part  held       pending    -          abandoned  -         -        -         -
    pending   -        paid    part  held       abandoned  abandoned  -          -         -        -         -
    part      -        -       -     -          -          -          -          -         -        -         paid
    paid      -        -       -     -          -          -          -          -         -        -         -
    held      -        -       -     -          -          -          -          paid      part     rejected  -
    rejected  -        -       -     -          -          -          -          -         -        -         -
    abandoned pending  paid    part  held       -          -          -          -         -        -         -
"""
COLUMNS = (
    Evidence.DEPOSIT_OPEN,
    Evidence.DEPOSIT_AGREES,
    Evidence.DEPOSIT_IS_PART,
    Evidence.DEPOSIT_DISAGREES,
    Evidence.DEPOSIT_CLOSED,
    Evidence.DEPOSIT_STALLED,
    Evidence.NEVER_PICKED,
    Evidence.ACCEPTED,
    Evidence.ACCEPTED_AS_PART,
    Evidence.REJECTED,
    Evidence.TOTAL_REACHED,
)
CELLS = [
    pytest.param(Status(row.split()[0]), evidence, target, id=f"{row.split()[0]}-{evidence.name.lower()}")
    for row in TABLE.strip().splitlines()[1:]
    for evidence, target in zip(COLUMNS, row.split()[1:], strict=True)
]


def test_every_cell_is_listed() -> None:
    assert len(CELLS) == len(Status) * len(Evidence) == 77


@pytest.mark.parametrize(("status", "evidence", "target"), CELLS)
def test_each_cell_of_the_table(status: Status, evidence: Evidence, target: str) -> None:
    assert TRANSITIONS.get((status, evidence), "-") == target


def test_nothing_leads_out_of_a_final_state() -> None:
    assert {Status.PAID, Status.REJECTED} == FINAL
    assert not [status for status, _ in TRANSITIONS if status in FINAL]


def test_a_read_of_the_deposit_moves_only_open_states() -> None:
    assert {status for status, _ in TRANSITIONS} - OPEN == {Status.HELD, Status.PART}


def test_every_state_but_rejected_has_its_signal() -> None:
    assert set(SIGNAL_OF) == set(Status)
    # A decision is told of as well as the state that it leads to; a reminder is of no state.
    assert {*SIGNAL_OF.values(), "payment_resolved", "payment_reminder"} == set(BY_NAME) - OF_PAYOUTS


@pytest.mark.parametrize(
    ("statuses", "best"),
    [
        pytest.param(set(), "unpaid", id="none"),
        pytest.param({"rejected"}, "unpaid", id="only a rejected one"),
        pytest.param({"abandoned", "rejected"}, "abandoned", id="abandoned"),
        pytest.param({"abandoned", "created"}, "created", id="created"),
        pytest.param({"created", "pending"}, "pending", id="pending"),
        pytest.param({"pending", "held"}, "held", id="held"),
        pytest.param({"held", "paid", "created"}, "paid", id="paid"),
    ],
)
def test_an_orders_status_is_the_best_of_its_attempts(statuses: set[str], best: str) -> None:
    assert best_of(statuses) == best

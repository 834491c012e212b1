"""Bookings: each movement of a payout's money is stored once, together with the move, and never changed."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from flask_paycheckout import payout_sent
from flask_paycheckout.clock import as_utc
from tests.payouts.conftest import OpenPayer
from tests.payouts.paying import Payer


def bookings(payer: Payer) -> list[dict[str, Any]]:
    """The stored bookings, oldest first."""
    table = payer.shop.runtime.models.bookings
    with payer.shop.runtime.engine().connect() as connection:
        return [dict(row) for row in connection.execute(select(table).order_by(table.c.id)).mappings()]


def kinds(payer: Payer) -> list[str]:
    return [row["kind"] for row in bookings(payer)]


def fails_at_the_bank(payer: Payer) -> None:
    payer.sandbox.finish(payer.payout(), "failed")
    payer.sandbox.advance(minutes=10)
    payer.sends()


@pytest.mark.on_each_database
def test_a_payout_that_fails_and_is_sent_again_is_booked_three_times(open_payer: OpenPayer) -> None:
    payer = open_payer()
    payer.owes(order_id="o-1")
    assert bookings(payer) == []
    payer.sends()
    first = payer.payout()
    fails_at_the_bank(payer)
    payer.decides("retry_payout")
    payer.sends()
    payer.sandbox.finish(payer.payout(), "completed")
    payer.sandbox.advance(minutes=10)
    payer.sends()
    assert payer.status() == "completed"
    with payer.shop.app.app_context():
        assert "80.00 USD, fee 0.58: completed" in str(payer.shop.paycheckout.explain("o-1"))
    assert kinds(payer) == ["payout", "payout_returned", "payout"]
    booked, returned, again = bookings(payer)
    assert booked | {"booked_at": None, "change": None} == dict.fromkeys(booked) | {
        "id": 1,
        "kind": "payout",
        "subject": first.service_reference,
        "reference": "p-1",
        "disbursement_id": first.disbursement_id,
        "account": "",
        "order_id": "o-1",
        "currency": "USD",
        "gross": "-80.00",
        "fee": "0.58",
        "net": "-80.58",
    }
    assert as_utc(booked["booked_at"]) == first.moved_at
    assert returned["subject"] == booked["subject"] != again["subject"]
    assert returned["disbursement_id"] == booked["disbursement_id"] != again["disbursement_id"]


def test_an_atomic_receiver_that_raises_takes_the_booking_back(payer: Payer) -> None:
    @payer.shop.paycheckout.atomic
    def refuse(app: object, **facts: object) -> None:
        raise ValueError("not now")

    payer.owes()
    with payout_sent.connected_to(refuse, sender=payer.shop.app):
        payer.sends()
    payout = payer.payout()
    assert (payout.status, payout.disbursement_id) == ("sending", payer.at_service[0].disbursement_id)
    assert bookings(payer) == []
    assert "refuse of payout_sent failed: ValueError: not now" in payout.problem
    payer.sandbox.advance(minutes=10)
    payer.sends()
    assert (payer.status(), kinds(payer)) == ("sent", ["payout"])

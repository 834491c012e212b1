"""Prepared statements: what they read and store is what SQLAlchemy reads and stores, whoever changed it last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import update

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.checkouts.payment_methods import all_methods, find_rate
from flask_paycheckout.sandbox.checkouts.tables import Checkout, Conversion, PaymentMethod
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester

DOLLARS = {"inputCurrency": "USD", "inputAmount": 12.5}
METHODS = ("us_bank_transfer", "us_qr", "us_usdc_polygon")


@pytest.mark.each_database
def test_columns_are_converted_as_by_sqlalchemy(sandbox: Flask, merchant: Merchant) -> None:
    made = merchant.asks_checkout(inputCurrency="EUR", outputCurrency="USD", inputAmount=Decimal("12.50")).data["id"]
    with sandbox.app_context(), transaction() as session:
        stored = session.get_one(Checkout, made)
        assert (stored.input_amount, stored.output_amount, stored.picked_at) == (Decimal("12.50"), None, None)
        assert stored.expires_at - stored.created_at == timedelta(minutes=15)
        assert abs(stored.created_at - datetime.now(UTC)) < timedelta(days=1)
        assert stored.rate == find_rate(session, USER_ID, "EUR", "USD") == Decimal("1.0815")
        for read in all_methods(session, USER_ID):
            known = session.get_one(PaymentMethod, read.code)
            columns = PaymentMethod.__table__.columns.keys()
            assert [repr(getattr(read, name)) for name in columns] == [repr(getattr(known, name)) for name in columns]


@pytest.mark.each_database
def test_an_amount_that_is_written_otherwise_is_read_as_written(sandbox: Flask) -> None:
    """Equal decimals are one key of a dictionary, but the answers show their digits."""
    for fee in ("0.5", "0.500"):
        with sandbox.app_context(), transaction() as session:
            session.execute(update(PaymentMethod).where(PaymentMethod.code == METHODS[0]).values(flat_fee=Decimal(fee)))
            (found,) = [method for method in all_methods(session, USER_ID) if method.code == METHODS[0]]
            assert str(found.flat_fee) == fee
            session.rollback()


def test_what_another_process_changes_counts_at_the_next_call(tmp_path: Path) -> None:
    here, there = (
        create_sandbox(database=f"sqlite:///{tmp_path / 'world.db'}", control_token=CONTROL_TOKEN) for _ in range(2)
    )
    merchant, tester = Merchant(here), Tester(there)

    def switch(**switches: object) -> None:
        tester.does("POST", "account", switches)

    assert merchant.asks_checkout(**DOLLARS).code == 200
    switch(checkoutEnabled=False)
    assert merchant.asks_checkout(**DOLLARS).message == "Checkout is not enabled"
    switch(checkoutEnabled=True, paymentMethods=[{"code": code, "enabled": False} for code in METHODS])
    assert merchant.asks_checkout(**DOLLARS).code == 400
    switch(paymentMethods=[{"code": METHODS[0], "enabled": True}])
    assert merchant.asks_checkout(**DOLLARS).code == 200
    with there.app_context(), transaction() as session:
        session.execute(update(PaymentMethod).values(min_amount=Decimal(13)))
        session.execute(update(Conversion).values(rate=Decimal(2)))
    assert merchant.asks_checkout(**DOLLARS).code == 400
    converted = merchant.asks_checkout(inputCurrency="USD", outputCurrency="EUR", inputAmount=20).data["id"]
    with there.app_context(), transaction() as session:
        assert session.get_one(Checkout, converted).rate == 2
    tester.does("POST", "unknowns", {"checkout_status_code": "201"})
    assert merchant.asks_checkout(**DOLLARS | {"inputAmount": 20}).code == 201
    assert [entry["status"] for entry in tester.requests()][:2] == [201, 200]
    tester.does("POST", "accounts/default/keys")
    assert merchant.asks_checkout(**DOLLARS | {"inputAmount": 20}).code == 401

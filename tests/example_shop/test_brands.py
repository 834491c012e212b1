"""The second brand: its orders are paid into its own account, whose keys are encrypted in the database."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest
from cryptography.fernet import Fernet
from sqlalchemy import text

from example_shop.database import db
from example_shop.payments import LIGHTHOUSE, BrandAccount, keep_keys, paycheckout
from tests.example_shop.conftest import Payments, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from flask_paycheckout.testing import Sandbox, SandboxAccount


@pytest.fixture
def shop(make_shop: Callable[..., Flask]) -> Flask:
    return make_shop(BRAND_KEYS=[Fernet.generate_key().decode()])


@pytest.fixture
def lighthouse(shop: Flask, paycheckout_sandbox: Sandbox) -> SandboxAccount:
    account = paycheckout_sandbox.account(LIGHTHOUSE)
    with shop.app_context():
        keys = {name: getattr(account, name) for name in ("client_id", "client_secret", "access_token")}
        keep_keys(BrandAccount(brand=LIGHTHOUSE, **keys))
    return account


@pytest.mark.usefixtures("lighthouse")
@pytest.mark.parametrize(
    ("jars", "account"),
    [
        ({"sea_breeze": 1, "full_moon": 1}, LIGHTHOUSE),
        ({"first_snow": 1}, ""),
        ({"first_snow": 1, "sea_breeze": 1}, ""),
    ],
)
def test_an_order_is_paid_into_the_account_of_its_brand(
    jars: dict[str, int], account: str, shop: Flask, payments: Payments, paycheckout_sandbox: Sandbox
) -> None:
    order_id = payments.buys(**jars)
    with shop.app_context():
        assert paycheckout.order_status(order_id) == "paid"
    assert rows(shop, paycheckout.Checkout.account) == [account]
    assert set(rows(shop, paycheckout.Payout.account)) == {account}
    calls = paycheckout_sandbox.control("GET", "requests")
    assert {call["account"] for call in calls} == {account or "default"}


def test_keys_are_encrypted_in_the_database(shop: Flask, lighthouse: SandboxAccount) -> None:
    with shop.app_context():
        stored = str(db.session.execute(text("SELECT * FROM brand_accounts")).all())
    assert LIGHTHOUSE in stored
    assert lighthouse.client_secret not in stored
    assert lighthouse.access_token not in stored


def test_the_doctor_who_asks_about_no_order_causes_no_error(shop: Flask, caplog: pytest.LogCaptureFixture) -> None:
    shop.test_cli_runner().invoke(args=["paycheckout", "doctor"])
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []

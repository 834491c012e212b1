"""`pay_out`: in the shop's own transaction, once for each reference, refused by field, fault and remedy."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from sqlalchemy.exc import OperationalError

from flask_paycheckout import Account, Pay, PayoutConflict, ToBank, ToRecipient
from tests.conftest import OpenShop
from tests.payouts.shop import committing, decides, payout, payouts, pays_out
from tests.races.crowds import crowd
from tests.scripted import Shop

BANK = ToBank("Bo", "DE12500105170648489890", "b1", "Bank")


def test_it_exists_exactly_if_the_shop_commits(shop: Shop) -> None:
    with shop.app.app_context():
        shop.paycheckout.pay_out("maker-1", "80.00", "USD", ToRecipient("rec_1"))
        shop.db.session.rollback()
    assert payouts(shop) == []
    stored = pays_out(shop, note="jars sold", order_id="o-1")
    assert (stored.status, stored.kind, stored.currency, f"{stored.amount}") == ("ready", "payout", "USD", "80.00")
    assert (stored.note, stored.order_id, stored.refund_of, stored.revision) == ("jars sold", "o-1", None, 0)
    assert stored.service_reference not in ("maker-1", "")


@pytest.mark.on_each_database
def test_a_payout_requested_in_a_savepoint_exists_exactly_if_the_shop_commits(shop: Shop) -> None:
    """Python's SQLite driver would commit a savepoint at its release."""
    with shop.app.app_context():
        session, ada = shop.db.session, ToRecipient("rec_1")
        with session.begin_nested():
            shop.paycheckout.pay_out("undone", "80.00", "USD", ada)
        session.rollback()
        with session.begin_nested():
            shop.paycheckout.request(Pay("5.00", "USD"), title="Logo")
        session.rollback()
        with session.begin_nested():
            shop.paycheckout.pay_out("kept", "80.00", "USD", ada)
        session.commit()
    assert [payout.reference for payout in payouts(shop)] == ["kept"]
    assert shop.tells("requests") == []


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"amount": "80.01"}, "amount"),
        ({"currency": "EUR"}, "currency"),
        ({"to": BANK}, "destination"),
        ({"to": None}, "destination"),
        ({"account": "seller"}, "account"),
    ],
)
def test_the_same_reference_is_the_same_payout_with_the_same_content_and_a_conflict_with_another(
    shop: Shop, other: Any, difference: str
) -> None:
    shop.paycheckout.account(lambda name: Account("client", "secret"))
    first = pays_out(shop)
    assert pays_out(shop, amount="80.0000").service_reference == first.service_reference
    with pytest.raises(PayoutConflict, match=f"another {difference}"):
        pays_out(shop, **other)
    assert len(payouts(shop)) == 1


def test_content_is_still_compared_when_the_details_are_wiped(shop: Shop) -> None:
    pays_out(shop, to=BANK, approve=True)
    assert decides(shop, "cancel", "maker-1")
    stored = payout(shop)
    assert (stored.to_details, stored.destination) == (None, BANK.masked)
    assert pays_out(shop, to=BANK).status == "cancelled"
    with pytest.raises(PayoutConflict, match="another destination"):
        pays_out(shop, to=ToBank("Bo", "DE12500105170648489899", "b1", "Bank"))


def test_content_is_still_compared_when_the_secret_key_has_changed(shop: Shop) -> None:
    """It is compared with the key that made the fingerprint, or, without that key, by the masked form."""
    first, old = pays_out(shop, to=BANK), shop.app.secret_key
    shop.app.secret_key = "another-secret-key"
    for fallbacks, other in (([old], "DE99500105170648489890"), ([], "DE12500105170648489899")):
        shop.app.config["SECRET_KEY_FALLBACKS"] = fallbacks
        assert pays_out(shop, to=BANK).service_reference == first.service_reference
        with pytest.raises(PayoutConflict, match="another destination"):
            pays_out(shop, to=ToBank("Bo", other, "b1", "Bank"))


def test_an_account_number_is_sealed_where_a_key_is_set(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_SEAL_KEY=[Fernet.generate_key()])
    stored = pays_out(shop, to=BANK)
    assert stored.to_details.startswith("sealed:")
    assert "DE12500105170648489890" not in str(vars(stored))


@pytest.mark.parametrize(("amount", "approve"), [("499.99", None), ("500.00", False)])
def test_a_person_approves_from_the_amount_on_that_the_shop_says(
    open_shop: OpenShop, amount: str, approve: bool | None
) -> None:
    shop = open_shop(PAYCHECKOUT_APPROVE_OVER={"USD": "500.00"})
    assert pays_out(shop, "over", "500.00").status == "waiting"
    assert pays_out(shop, amount=amount, approve=approve).status == "ready"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"amount": 80.0}, "amount must be Decimal, int or str"),
        ({"amount": "0"}, "is not positive"),
        ({"currency": "usd"}, "currency 'usd' is neither"),
        ({"to": "rec_1"}, "to must be ToBank"),
        ({"approve": ""}, "approve must be True or False"),
        ({"reference": ""}, "reference must have 1 to 255"),
        ({"note": "a\nb"}, "note must have 255 characters at most"),
        ({"order_id": "\ud800"}, "order_id must have"),
        ({"account": "other"}, "account 'other' is not known"),
        ({"expires": timedelta(days=1)}, "expires is for"),
        ({"to": None, "expires": datetime(2030, 1, 1)}, "expires must have a time zone"),  # noqa: DTZ001 - the fault
        ({"to": None, "expires": "tomorrow"}, "expires must be"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_stored(shop: Shop, changes: dict[str, Any], fault: str) -> None:
    arguments = {"reference": "maker-1", "amount": "80.00"} | changes
    with pytest.raises((TypeError, ValueError), match=fault):
        pays_out(shop, **arguments)
    assert payouts(shop) == []


@pytest.mark.on_each_database
def test_of_those_who_say_it_at_once_one_stores_it(shop: Shop) -> None:
    """The others get the stored payout, or an error."""

    def say() -> str:
        try:
            with committing(shop) as paycheckout:
                return str(paycheckout.pay_out("maker-1", "80.00", "USD", ToRecipient("rec_1")).service_reference)
        except OperationalError:
            return "an error"

    with crowd(16) as threads:
        results = threads.does([say] * 16)
    (stored,) = payouts(shop)
    assert set(results) <= {stored.service_reference, "an error"}
    assert stored.service_reference in results

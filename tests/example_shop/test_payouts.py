"""Suppliers get what their jars earned, once: whatever is lost, repeated or refused on the way."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, update

from example_shop import payouts
from example_shop.clock import now
from example_shop.database import db
from example_shop.hooks import hooks
from example_shop.ledger import Earning, Payout
from example_shop.ledger import owed as all_owed
from example_shop.payments import paycheckout
from flask_paycheckout.testing import Sandbox
from tests.example_shop.conftest import Payments, Shopper
from tests.races.crowds import crowd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flask import Flask

#: What `sold` earns: Maren her price whole, the Highlands 45 in a hundred, Puddle 40.
EARNED = {"maren": Decimal("120.00"), "highland": Decimal("21.60"), "puddle": Decimal("15.36")}
FIAT, CRYPTO = "POST /v2/disbursement/fiat", "POST /v1/disbursement/crypto"


@pytest.fixture
def unknowns() -> dict[str, str]:
    return {"disbursement_progress": "completed"}


@pytest.fixture
def paycheckout_sandbox(unknowns: dict[str, str]) -> Iterator[Sandbox]:
    """A service whose banks carry out, after ten minutes, what they were asked for."""
    sandbox = Sandbox(unknowns=unknowns)
    yield sandbox
    sandbox.transport.close()


@pytest.fixture
def sold(payments: Payments) -> str:
    return payments.buys(northern_lights=1, first_snow=2, small_rainbow=1)


@pytest.fixture
def pay_out(shop: Flask) -> Callable[[], dict[str, str]]:
    """One round; gives the state of every payout by its supplier."""

    def run() -> dict[str, str]:
        with shop.app_context():
            payouts.pay_out()
        return {row.supplier: row.state for row in recorded(shop)}

    return run


def recorded(shop: Flask) -> list[Payout]:
    with shop.app_context():
        return list(db.session.scalars(select(Payout).order_by(Payout.made_at)))


def reference_of(shop: Flask, supplier: str) -> str:
    (found,) = [row.reference for row in recorded(shop) if row.supplier == supplier]
    return found


def owed(shop: Flask) -> dict[str, Decimal]:
    with shop.app_context():
        return all_owed()


def transfers(shop: Flask) -> list[tuple[str | None, Decimal | None]]:
    """Reference and amount of every bank transfer that the service knows."""
    with shop.app_context():
        return [(made.reference, made.amount) for made in paycheckout.client.fiat_disbursements.iterate(limit=100)]


def test_a_paid_order_earns_each_supplier_its_share_once(shop: Flask, sold: str, payments: Payments) -> None:
    assert owed(shop) == EARNED
    payments.passes(60)
    assert owed(shop) == EARNED


def test_suppliers_are_paid_in_their_way_and_followed_to_the_end(
    shop: Flask, sold: str, pay_out: Callable[[], dict[str, str]], paycheckout_sandbox: Sandbox
) -> None:
    assert pay_out() == {"maren": "pending", "highland": "pending", "puddle": "sent"}
    assert not any(owed(shop).values())
    paycheckout_sandbox.advance(minutes=11)
    assert pay_out() == {"maren": "completed", "highland": "completed", "puddle": "sent"}
    assert {row.supplier: row.amount for row in recorded(shop)} == EARNED
    assert {row.supplier: row.currency for row in recorded(shop)} == {
        "maren": "USD",
        "highland": "USD",
        "puddle": "usdc-polygon",
    }
    with shop.app_context():
        names = [found.name for found in paycheckout.client.recipients.iterate(search="example")]
    assert names.count("Maren of the Lighthouse") == 1


def test_a_batch_whose_answer_was_lost_is_found_by_its_references(
    shop: Flask, sold: str, pay_out: Callable[[], dict[str, str]], paycheckout_sandbox: Sandbox
) -> None:
    paycheckout_sandbox.fault(FIAT, "lose_response")
    states = pay_out()
    assert (states["maren"], states["highland"]) == ("pending", "pending")
    assert sorted(transfers(shop)) == sorted(
        (row.reference, row.amount) for row in recorded(shop) if row.supplier != "puddle"
    )


def test_a_batch_that_never_arrived_is_sent_again_with_its_references(
    shop: Flask, sold: str, pay_out: Callable[[], dict[str, str]], paycheckout_sandbox: Sandbox
) -> None:
    paycheckout_sandbox.fault(FIAT, "drop")
    assert pay_out()["maren"] == "sending"
    reference = reference_of(shop, "maren")
    assert "it may have been carried out" in str([row.trouble for row in recorded(shop) if row.reference == reference])
    assert pay_out()["maren"] == "sending"  # it may be on its way still
    assert transfers(shop) == []
    paycheckout_sandbox.advance(minutes=3)
    assert pay_out()["maren"] == "pending"
    assert (reference, Decimal("120.00")) in transfers(shop)
    assert len(transfers(shop)) == 2


@pytest.mark.parametrize("sent", [True, False], ids=["after it was sent", "before it was sent"])
def test_who_dies_while_paying_leaves_nothing_unpaid_or_paid_twice(
    shop: Flask, sold: str, pay_out: Callable[[], dict[str, str]], paycheckout_sandbox: Sandbox, sent: bool
) -> None:
    if sent:
        pay_out()
    with shop.app_context():
        # What a process that was killed leaves behind: it had said that it sends, and nothing since.
        for rail in hooks().rails:
            payouts.gather(rail)
        db.session.execute(update(Payout).values(state="sending", disbursement_id=None, sent_at=now()))
        db.session.commit()
    paycheckout_sandbox.advance(minutes=3)
    states = pay_out()
    assert states == {"maren": "pending", "highland": "pending", "puddle": "unknown"}
    assert len(transfers(shop)) == 2


def test_a_service_that_is_down_leaves_everything_to_the_next_round(
    shop: Flask, sold: str, pay_out: Callable[[], dict[str, str]], paycheckout_sandbox: Sandbox
) -> None:
    paycheckout_sandbox.fault("GET /v1/recipient", "error", times=3, statusCode=429)
    assert pay_out()["maren"] == "open"
    assert all(row.trouble for row in recorded(shop) if row.supplier == "maren")
    paycheckout_sandbox.control("DELETE", "faults")
    assert pay_out()["maren"] == "pending"
    assert not any(row.trouble for row in recorded(shop))


def test_a_batch_that_is_refused_is_tried_one_by_one(
    shop: Flask, sold: str, pay_out: Callable[[], dict[str, str]], paycheckout_sandbox: Sandbox
) -> None:
    paycheckout_sandbox.fault(FIAT, "error", times=2, statusCode=422)
    states = pay_out()
    assert sorted((states["maren"], states["highland"])) == ["open", "pending"]
    assert [row.trouble is not None for row in recorded(shop) if row.state == "open"] == [True]


@pytest.mark.parametrize("unknowns", [{"disbursement_progress": "failed"}])
def test_a_transfer_that_failed_is_owed_again_under_another_reference(
    shop: Flask,
    sold: str,
    pay_out: Callable[[], dict[str, str]],
    paycheckout_sandbox: Sandbox,
    unknowns: dict[str, str],
) -> None:
    pay_out()
    paycheckout_sandbox.advance(minutes=11)
    pay_out()
    assert owed(shop) == EARNED | {"puddle": 0}
    pay_out()
    maren = [row for row in recorded(shop) if row.supplier == "maren"]
    assert [row.state for row in maren] == ["failed", "pending"]
    assert len({row.reference for row in maren}) == 2


def test_who_is_wrong_about_a_lost_answer_still_pays_nobody_twice(
    shop: Flask, sold: str, pay_out: Callable[[], dict[str, str]], paycheckout_sandbox: Sandbox
) -> None:
    """The service takes a reference once, and says so."""
    paycheckout_sandbox.fault(CRYPTO, "lose_response")
    pay_out()
    paycheckout_sandbox.advance(minutes=3)
    pay_out()
    reference = reference_of(shop, "puddle")
    with shop.app_context():
        assert payouts.decide(reference, was_sent=False)
    assert pay_out()["puddle"] == "open"
    assert "reference" in str([row.trouble for row in recorded(shop) if row.supplier == "puddle"])


def test_rounds_at_the_same_moment_bind_every_earning_once(
    make_shop: Callable[..., Flask], each_database: str, paycheckout_sandbox: Sandbox
) -> None:
    shop = make_shop(SQLALCHEMY_DATABASE_URI=each_database)
    payments = Payments(Shopper(shop), paycheckout_sandbox)
    for _ in range(2):
        payments.buys(northern_lights=1, first_snow=2, small_rainbow=1)

    def pays() -> list[str]:
        with shop.app_context():
            mine = []
            for rail in hooks().rails:
                payouts.gather(rail)
                mine += [bill.reference for bills in payouts.claim(rail).values() for bill in bills]
            return mine

    with crowd(6) as people:
        claimed = [reference for mine in people.does([pays] * 6) for reference in mine]
    assert sorted(claimed) == sorted(row.reference for row in recorded(shop))
    assert {row.supplier: row.amount for row in recorded(shop)} == {slug: 2 * sum_ for slug, sum_ in EARNED.items()}
    with shop.app_context():
        assert db.session.scalars(select(Earning).where(Earning.payout.is_(None))).all() == []

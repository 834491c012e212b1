"""The statements on the checkout table: one process gets each claim, and a move is refused when another was first."""

from __future__ import annotations

from typing import Any

import pytest
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import FetchedValue, String
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import mapped_column

from flask_paycheckout import CheckoutMixin, EventMixin
from flask_paycheckout.checkouts.moves import Moved, confirm
from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.views.test_webhook import database_down

pytestmark = pytest.mark.on_each_database


def pays(shop: Shop, attempt: Any) -> Moved | None:
    return shop.runtime.moves.move(attempt, confirm("{}\n", {"next_read_at": None}, None), shop.clock.now)


def claims(shop: Shop, limit: int = 10, *, failing: bool = False) -> list[str]:
    now = shop.clock.now
    claimed = shop.runtime.checkouts.claim_due(now, now, limit, account="", failing=failing)
    return [attempt.checkout_id for attempt in claimed]


def test_a_due_read_is_claimed_once(shop: Shop) -> None:
    checkout_id = shop.starts()
    assert shop.runtime.checkouts.count_due(shop.clock.now) == 1
    assert claims(shop) == [checkout_id]
    assert claims(shop) == []
    shop.waits(seconds=60)
    assert claims(shop) == [checkout_id], "a claimant that died is replaced"


def test_a_pages_read_is_claimed_once(shop: Shop) -> None:
    seen = shop.attempt(shop.starts())
    assert shop.runtime.checkouts.claim_page_read(seen, shop.clock.now)
    assert not shop.runtime.checkouts.claim_page_read(seen, shop.clock.now)


class Conflict(Exception):
    """An error like the one of PostgreSQL's driver for a serialization failure."""

    sqlstate = "40001"


def test_a_claim_or_note_that_another_transaction_got_ahead_of_does_nothing(shop: Shop) -> None:
    seen, reads = shop.attempt(shop.starts()), shop.runtime.checkouts
    with database_down(shop, OperationalError("UPDATE", None, Conflict())):
        assert claims(shop) == []
        assert reads.note(seen, None, next_read_at=shop.clock.now, reads=9) is None
    with database_down(shop):
        for use in (lambda: claims(shop), lambda: reads.note(seen, None, next_read_at=shop.clock.now, reads=9)):
            with pytest.raises(OperationalError):
                use()
    assert (claims(shop), shop.attempt(seen.checkout_id).reads) == ([seen.checkout_id], 0)


def test_a_move_from_a_state_that_was_left_and_entered_again_is_refused(shop: Shop) -> None:
    """The status is the same, but the comparison was made when the checkout had it before."""
    checkout_id = shop.has_deposit("failed")
    seen = shop.settles(checkout_id)
    for status in ("pending", "failed"):
        shop.settles(checkout_id, says=status)
    assert shop.attempt(checkout_id).status == seen.status == "abandoned"
    assert pays(shop, seen) is None


@pytest.mark.parametrize("mixin", [CheckoutMixin, EventMixin])
def test_an_own_column_that_nobody_fills_is_reported_and_not_taken_for_a_lost_race(
    open_shop: OpenShop, mixin: type[Any]
) -> None:
    def add_model(db: SQLAlchemy) -> None:
        # Declared as filled by the database, which does not fill it.
        shelf = mapped_column(String(20), nullable=False, server_default=FetchedValue())
        type("Own", (mixin, db.Model), {"shelf": shelf})

    shop = open_shop(prepare=add_model)
    with pytest.raises(IntegrityError, match="shelf") as refused:
        shop.starts()
    assert len(shop.service.created) == 1
    # PostgreSQL quotes the whole row. The error is logged, and anybody with the URL can pay.
    assert "https://pay.example" not in f"{refused.value} {refused.value.__context__}"


def test_a_move_whose_event_cannot_be_stored_does_not_happen(shop: Shop) -> None:
    """A state change without its event would never be announced."""
    attempt = shop.attempt(shop.starts())
    with shop.app.app_context():
        (told,) = shop.db.session.scalars(shop.db.select(shop.paycheckout.Event))
        told.once = "order_paid:order:o-1"
        shop.db.session.commit()
    with pytest.raises(IntegrityError):
        pays(shop, attempt)
    assert shop.attempt(attempt.checkout_id).status == "created"

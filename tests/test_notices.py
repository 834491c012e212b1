"""Hints: plausible ones about open checkouts are stored; what is made of them never reaches the sender."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import SQLAlchemyError

from tests.conftest import OpenShop
from tests.scripted import Shop


@pytest.mark.parametrize("checkout_id", ["", "x" * 256, "a\x00b", "\ud800", "a\nb"])
def test_text_that_no_database_holds_is_not_even_looked_up(shop: Shop, checkout_id: str) -> None:
    with shop.app.app_context():
        shop.db.drop_all()
    shop.runtime.notices.receive(checkout_id)


def test_an_id_that_could_be_one_is_looked_up(shop: Shop) -> None:
    with shop.app.app_context():
        shop.db.drop_all()
    with pytest.raises(SQLAlchemyError):
        shop.runtime.notices.receive("x" * 255)


def test_a_hint_is_written_into_the_story(shop: Shop) -> None:
    checkout_id = shop.starts()
    shop.runtime.notices.receive(checkout_id)
    assert shop.attempt(checkout_id).history.count('"what":"webhook"') == 1


def test_whatever_goes_wrong_after_storing_stays_inside(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    checkout_id = shop.starts()
    shop.service.fails(checkout_id, RuntimeError("odd"))
    shop.runtime.notices.receive(checkout_id)
    assert "not read now, reconcile will" in caplog.text
    assert shop.attempt(checkout_id).webhooks == 1


def test_a_hint_about_an_abandoned_checkout_is_read(shop: Shop) -> None:
    checkout_id = shop.starts()
    shop.service.says(checkout_id, "failed")
    shop.settles(checkout_id)
    shop.service.says(checkout_id, "completed")
    shop.runtime.notices.receive(checkout_id)
    assert shop.attempt(checkout_id).status == "paid"


def test_each_checkout_has_a_cool_down_of_its_own(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_WEBHOOK_COOLDOWN=60)
    first, second = shop.starts("o-1"), shop.starts("o-2")
    for checkout_id in (first, second, first, second):
        shop.runtime.notices.receive(checkout_id)
    assert shop.service.reads == [first, second]

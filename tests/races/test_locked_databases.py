"""Another program holds the lock, or wins a conflict: each caller gets an answer, nothing is lost, a retry succeeds."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from flask_paycheckout import ReconcileReport
from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience, write_locked
from tests.races.effects import add_effects
from tests.scripted import Shop
from tests.views.pages import presses_pay

pytestmark = pytest.mark.on_each_database


@pytest.fixture
def shop(open_shop: OpenShop, new_database: NewDatabase) -> Shop:
    """A shop with a short lock timeout, which reads one deposit at a time."""
    return open_shop(
        prepare=add_effects,
        SQLALCHEMY_DATABASE_URI=with_patience(new_database("locked"), 0.1),
        PAYCHECKOUT_RECONCILE_READERS=1,
    )


def test_a_start_that_cannot_be_stored_hands_out_no_page_and_may_be_repeated(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    with write_locked(shop):
        answer = presses_pay(shop)
        assert answer.status_code == 503
        assert answer.location is None
        assert int(answer.headers["Retry-After"]) > 0
        assert "Try again" in answer.text
        assert "pay.example" not in answer.text + caplog.text
    assert shop.attempts() == []
    answer = presses_pay(shop)
    assert (answer.status_code, answer.location) == (303, shop.attempts()[0].url)


def test_reconcile_counts_what_it_cannot_store_and_goes_on(shop: Shop) -> None:
    """The lock is held only while the first of two checkouts is stored."""
    first, second = shop.starts("o-1"), shop.starts("o-2")
    for checkout_id in (first, second):
        shop.service.says(checkout_id, "completed")
    with ExitStack() as lock, shop.app.app_context():
        shop.service.meets_once(lambda: lock.enter_context(write_locked(shop)))
        report = shop.runtime.reconciler.run(None, lambda report: lock.close())
    assert report == ReconcileReport(checked=2, changed=1, delivered=1, failed=1)
    # The order in which the two accounts are read is undefined.
    assert sorted(shop.attempt(checkout_id).status for checkout_id in (first, second)) == ["created", "paid"]
    assert shop.reconciles(minutes=2) == ReconcileReport(checked=1, changed=1, delivered=1)

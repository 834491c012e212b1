"""Single flight: one read of a deposit at a time in each process, however it ends."""

from __future__ import annotations

import pytest

from flask_paycheckout.security.signed_links import STATUS
from flask_paycheckout.service.limits import SingleFlight
from tests.scripted import Shop


def test_a_read_that_fails_is_over() -> None:
    calls = SingleFlight()
    with pytest.raises(ZeroDivisionError), calls.join("a"):
        raise ZeroDivisionError
    with calls.join("a") as (_, again):
        assert again


# A service that is slower than the cool-downs


def comes_again(shop: Shop, path: str, **body: str) -> None:
    """The same request comes again while a read is under way, for longer than any cool-down."""

    def meanwhile() -> None:
        if len(shop.service.reads) < 5:
            shop.waits(seconds=6)
            answer = shop.browser.post(path, json=body) if body else shop.browser.get(path)
            assert answer.status_code == 200

    shop.service.meanwhile = meanwhile
    meanwhile()
    shop.service.meanwhile = lambda: None


def test_webhooks_pile_up_no_reads_while_the_service_is_slow(shop: Shop) -> None:
    checkout_id = shop.starts()
    comes_again(shop, "/paycheckout/webhook", orderId=checkout_id)
    assert len(shop.service.reads) == 1
    # The second webhook may report a newer change than the read under way sees, so it must not be lost.
    shop.service.says(checkout_id, "completed")
    shop.reconciles()
    assert shop.attempt(checkout_id).status == "paid"


@pytest.mark.parametrize("tail", ["", "/status"], ids=["page", "JSON"])
def test_visits_pile_up_no_reads_while_the_service_is_slow(shop: Shop, tail: str) -> None:
    shop.starts()
    link = f"/paycheckout/orders/{shop.runtime.signed_links.sign(STATUS, 'o-1')}{tail}"
    comes_again(shop, link)
    assert len(shop.service.reads) == 1
    shop.waits(seconds=6)
    shop.browser.get(link)
    assert len(shop.service.reads) == 2

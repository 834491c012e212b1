"""A "not found" counts only for the client id that made the checkout: keys of another one prove nothing."""

from __future__ import annotations

import pytest

from flask_paycheckout import Account
from flask_paycheckout.checkouts.payments import NotMadeByThisClient
from tests.conftest import OpenShop
from tests.scripted import Shop


def reads_twice(shop: Shop, checkout_id: str) -> None:
    """Two late reads, a minute apart."""
    for minutes in (17, 1):
        shop.waits(minutes=minutes)
        with pytest.raises(NotMadeByThisClient):
            shop.settles(checkout_id)


def test_a_deposit_that_another_client_id_does_not_find_is_no_evidence_and_is_reported(open_shop: OpenShop) -> None:
    first = open_shop(PAYCHECKOUT_CLIENT_ID="client-a")
    checkout_id = first.starts()
    assert first.attempt(checkout_id).client_id == "client-a"
    other = open_shop(PAYCHECKOUT_CLIENT_ID="client-b")
    reads_twice(other, checkout_id)
    other.clock.advance(minutes=6)
    assert other.attempt(checkout_id).status == "created"
    assert "made with client id 'client-a'" in other.runs("report").output
    assert "unreadable: deposit chk-1" in other.runs("audit").stdout
    assert other.settles(checkout_id, says="completed").status == "paid", "what it finds is evidence all the same"


def test_a_checkout_without_a_sign_of_money_is_watched_as_long_as_an_abandoned_one(open_shop: OpenShop) -> None:
    """Otherwise each cart that was open when the keys changed would raise an alarm for ever."""
    checkout_id = open_shop(PAYCHECKOUT_CLIENT_ID="client-a").starts()
    other = open_shop(PAYCHECKOUT_CLIENT_ID="client-b")
    for days, is_watched in ((6.5, True), (1, False)):
        other.reconciles(days=days)
        assert (other.attempt(checkout_id).problem is not None) is is_watched
    assert "unread-payments" not in other.runs("report", "--json").output
    other.hears_of(checkout_id)
    other.clock.advance(minutes=6)
    assert "made with client id 'client-a'" in other.runs("report").output, "somebody may have paid"


def test_the_keys_that_made_it_still_abandon_it(open_shop: OpenShop) -> None:
    """This also holds after reads with other keys in between."""
    first, other = open_shop(PAYCHECKOUT_CLIENT_ID="client-a"), open_shop(PAYCHECKOUT_CLIENT_ID="client-b")
    checkout_id = first.starts()
    reads_twice(other, checkout_id)
    first.settles(checkout_id)
    assert first.attempt(checkout_id).status == "created", "the misses of others are not counted"
    first.clock.advance(minutes=1)
    assert first.settles(checkout_id).status == "abandoned"


def test_a_page_of_another_client_id_is_not_used_again(open_shop: OpenShop) -> None:
    """The payment on such a page could not be read."""
    first = open_shop(PAYCHECKOUT_CLIENT_ID="client-a").starts()
    other = open_shop(PAYCHECKOUT_CLIENT_ID="client-b")
    second = other.starts()
    assert (second != first, other.starts()) == (True, second)


def test_an_account_with_another_client_id_than_before_abandons_nothing(shop: Shop) -> None:
    client_ids = ["id-ada"]
    shop.paycheckout.account_of(lambda order_id: "ada")
    shop.paycheckout.account(lambda name: Account(client_ids[-1], "canary-secret-of-ada"))
    checkout_id = shop.starts()
    assert shop.attempt(checkout_id).client_id == "id-ada"
    client_ids.append("id-of-another")
    shop.runtime.accounts.refused("ada")
    reads_twice(shop, checkout_id)
    assert shop.attempt(checkout_id).status == "created"


def test_a_webhook_about_a_checkout_that_was_never_found_is_reported(shop: Shop) -> None:
    checkout_id = shop.starts()
    shop.hears_of(checkout_id)
    assert "webhook" not in shop.runs("report").output
    shop.abandons(checkout_id)
    report = shop.runs("report")
    assert "a webhook announced a payment that the service does not find" in report.output


def test_a_checkout_that_is_no_longer_watched_is_neither_read_nor_reported(open_shop: OpenShop) -> None:
    first = open_shop(PAYCHECKOUT_CLIENT_ID="client-a")
    checkout_id = first.starts()
    first.abandons(checkout_id)
    other = open_shop(PAYCHECKOUT_CLIENT_ID="client-b")
    other.reconciles(days=8)
    assert (other.attempt(checkout_id).next_read_at, other.attempt(checkout_id).problem) == (None, None)

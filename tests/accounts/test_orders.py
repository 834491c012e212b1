"""Orders of several merchant accounts: the keys of an order's account sign its calls, and a failing account stops no
other.
"""

from __future__ import annotations

import pytest

from flask_paycheckout import Account
from flask_paycheckout.client import PaymentsError
from tests.accounts.conftest import SECRET, Sellers, SigningService
from tests.scripted import garbage
from tests.views.pages import fails_to_pay, opens, presses_pay


def test_every_call_for_an_order_is_signed_by_its_own_account(market: Sellers, service: SigningService) -> None:
    shop = market.shop
    shop.costs("12.50", "o-3")
    checkouts = {order_id: shop.has_deposit("completed", order_id) for order_id in ("o-1", "o-2", "o-3")}
    # The order may move to another seller in the meantime: its money stays in the account that received it.
    market.of |= {"o-1": "bo", "o-2": "ada"}
    shop.reconciles()
    owners = {"o-1": "id-ada", "o-2": "id-bo", "o-3": "shop-1"}
    assert {shop.attempt(checkout_id).status for checkout_id in checkouts.values()} == {"paid"}
    reads = [(client_id, path) for client_id, path in service.signed if path != "checkout"]
    assert sorted(reads) == sorted((owners[order_id], checkouts[order_id]) for order_id in checkouts)


def test_an_order_that_moves_to_another_seller_gets_another_page(market: Sellers) -> None:
    """This also holds if both sellers share one account at the service."""
    market.client_ids["bo"] = market.client_ids["ada"]
    first = market.shop.starts()
    assert market.shop.starts() == first
    market.of["o-1"] = "bo"
    second = market.shop.starts()
    assert market.shop.attempt(second).account == "bo"


@pytest.mark.parametrize("by", ["start", "settle"])
def test_rotated_keys_are_used_by_the_call_that_the_old_ones_are_refused_for(
    market: Sellers, service: SigningService, by: str
) -> None:
    shop = market.shop
    market.add("ada", "o-4")
    checkout_id = shop.has_deposit("completed")
    service.refused, market.client_ids["ada"] = {"id-ada"}, "rotated-ada"
    if by == "start":
        assert shop.starts("o-4")
    else:
        assert shop.settles(checkout_id).status == "paid"
    assert {client_id for client_id, _ in service.signed} == {"id-ada", "rotated-ada"}


def test_pay_buttons_lead_to_the_payment_pages_of_the_orders_account_only(
    market: Sellers, service: SigningService
) -> None:
    shop = market.shop
    shop.paycheckout.account(lambda name: Account(name, SECRET, checkout_origins=(f"https://{name}.example",)))
    for name, order_id in (("ada", "o-1"), ("bo", "o-2")):
        service.page = "https://ada.example/{id}"
        for answer in (opens(shop, order_id), fails_to_pay(shop, order_id)):
            policy = answer.headers["Content-Security-Policy"]
            assert policy.rpartition("form-action ")[2] == f"'self' https://{name}.example"
        assert presses_pay(shop, order_id).status_code == (303 if name == "ada" else 503)


def test_the_shop_is_not_asked_whose_an_order_is_that_cannot_be_paid(market: Sellers) -> None:
    market.shop.paycheckout.account_of({"o-1": "ada"}.__getitem__)
    assert presses_pay(market.shop, "no-such-order").status_code == 404
    assert opens(market.shop, "no-such-order").status_code == 200


def test_a_service_that_fails_for_one_account_is_still_asked_for_the_others(
    market: Sellers, service: SigningService
) -> None:
    """Each account has its own circuit breaker for web requests."""
    service.instead_of_created = [garbage()] * 3
    for number in range(4):
        order_id = f"a-{number}"
        market.add("ada", order_id)
        assert presses_pay(market.shop, order_id).status_code == 503
    assert [signer for signer, _ in service.signed] == ["id-ada"] * 3, "the fourth one is not asked"
    market.shop.costs("12.50", "o-3")
    assert presses_pay(market.shop, "o-2").status_code == presses_pay(market.shop, "o-3").status_code == 303


@pytest.mark.parametrize(
    ("client_id", "fault"),
    [
        (None, "the shop knows no such account; the function of @paycheckout.account"),
        ("", r"Account\(client_id=\.\.\.\) is missing"),
    ],
    ids=["gone", "empty"],
)
def test_an_account_without_keys_never_uses_those_of_the_settings_and_is_read_once_it_has_some(
    market: Sellers, service: SigningService, client_id: str | None, fault: str
) -> None:
    shop = market.shop
    checkout_id = shop.has_deposit("completed")
    market.client_ids["ada"] = client_id
    service.signed.clear()
    assert shop.reconciles(minutes=2).failed == 1
    with pytest.raises(PaymentsError, match=f"account 'ada': {fault}"):
        shop.starts("o-1")
    assert service.signed == []
    market.client_ids["ada"] = "id-ada"
    shop.reconciles(minutes=10)
    assert shop.attempt(checkout_id).status == "paid"

"""Payment requests: paid like orders, by their own row; never when expired or withdrawn; refused as order ids."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from flask_paycheckout import OrderNotPayable, Pay, TransitionRefused, UnknownRequest, order_paid, request_paid
from flask_paycheckout.testing import Signals
from flask_paycheckout.views.order import paycheckout_button
from tests.conftest import OpenShop
from tests.scripted import Shop, number

USD = Pay("12.50", "USD")
RTL = "\N{RIGHT-TO-LEFT OVERRIDE}"


def asks(shop: Shop, **changes: Any) -> Any:
    """Make a request and commit it."""
    with shop.app.app_context():
        arguments: dict[str, Any] = {"total": USD, "title": "Logo, two drafts"} | changes
        request = shop.paycheckout.request(**arguments)
        shop.db.session.commit()
        shop.db.session.refresh(request)
        shop.db.session.expunge(request)
        return request


def withdraws(shop: Shop, reference: str) -> Any:
    return shop.calls.withdraw_request(reference, by="Ada", why="paid in cash")


def refuse(*asked: object) -> Any:
    raise AssertionError(f"the shop was asked for {asked}")


@pytest.mark.on_each_database
def test_a_request_is_paid_like_an_order_that_the_shop_is_not_asked_for(shop: Shop, signals: Signals) -> None:
    for register in (shop.paycheckout.order_total, shop.paycheckout.account_of, shop.paycheckout.order_url):
        register(refuse)
    stored_request = asks(shop, note="As agreed on the phone.", by="Ada")
    assert stored_request.order_id == f"request:{stored_request.reference}"
    assert (stored_request.title, stored_request.note, stored_request.total, stored_request.account) == (
        "Logo, two drafts",
        "As agreed on the phone.",
        USD,
        "",
    )
    checkout_id = shop.has_deposit("completed", stored_request.order_id)
    assert shop.settles(checkout_id).status == "paid"
    assert [(event.name, event.order_id, event.checkout_id) for event in signals] == [
        ("request_paid", stored_request.order_id, checkout_id)
    ]
    assert shop.calls.order_status(stored_request.order_id) == "paid"
    assert [line.order_id for line in shop.calls.books()] == [stored_request.order_id]
    assert "Logo, two drafts" in str(shop.calls.explain(stored_request.order_id))


def test_the_shop_that_closes_its_orders_need_not_know_of_requests(shop: Shop) -> None:
    """README's receiver, which looks up an order for each id, works with a receiver for requests in the same commit."""
    closed: list[Any] = []

    @shop.paycheckout.atomic
    def close(app: object, *, order_id: str, **told: object) -> None:
        closed.append({"o-1": "o-1"}[order_id])

    @shop.paycheckout.atomic
    def record(app: object, *, request: Any, checkout: Any, event_id: str) -> None:
        closed.append((request.title, checkout.total))

    new_request = asks(shop)
    with order_paid.connected_to(close, sender=shop.app), request_paid.connected_to(record, sender=shop.app):
        shop.has_paid(new_request.order_id)
        shop.has_paid("o-1")
    assert closed == [("Logo, two drafts", USD), "o-1"]


def test_of_a_request_no_signal_but_its_own_is_sent(shop: Shop, signals: Signals) -> None:
    request = asks(shop, total=Pay("12.50", "USD", parts=True))
    first = shop.settles(shop.starts(request.order_id), "pending").checkout_id
    shop.settles(first, "failed")
    assert shop.settles(shop.starts(request.order_id), "completed", inputAmount=number("5")).status == "part"
    late = shop.has_arrived("9", request.order_id)
    assert shop.settles(late).status == "held"
    assert shop.resolves(late, True, refund_excess=True).status == "paid"
    assert signals.names == ["request_paid", "claim_wanted"], "and that of the refund"
    assert len(shop.runtime.payouts.of_checkout(late)) == 1


@pytest.mark.parametrize("ends", ["expired", "withdrawn"])
def test_the_page_of_one_that_is_partly_paid_says_that_the_rest_is_over(shop: Shop, ends: str) -> None:
    request = asks(shop, total=Pay("50", "USD", parts=True), expires=timedelta(hours=1))
    shop.has_deposit("completed", request.order_id)
    shop.reconciles()
    with shop.app.app_context():
        url = shop.paycheckout.request_url(request.reference)
        if ends == "withdrawn":
            shop.paycheckout.withdraw_request(request.reference, by="Ada", why="too late")
    assert "To be paid before" in shop.app.test_client().get(url).text or ends == "withdrawn"
    shop.waits(hours=1)
    page = shop.app.test_client().get(url).text
    assert ("Partly paid" in page, "To be paid before" in page) == (True, False)
    assert {"expired": "The time to pay the rest is over", "withdrawn": "does not ask for the rest"}[ends] in page
    with pytest.raises(OrderNotPayable, match="has expired or was withdrawn"):
        shop.starts(request.order_id)


def test_it_exists_only_if_the_shop_commits(shop: Shop) -> None:
    with shop.app.app_context():
        request = shop.paycheckout.request(USD, title="Logo")
        order_id = request.order_id
        assert shop.paycheckout.request_url(request.reference)
        assert shop.paycheckout.order_status(order_id) == "unpaid"
        shop.db.session.rollback()
        with pytest.raises(ValueError, match="no such request"):
            shop.paycheckout.order_status(order_id)


def expires(shop: Shop, reference: str) -> None:
    shop.waits(days=2)


@pytest.mark.parametrize("ends", [expires, withdraws])
def test_an_ended_request_is_not_payable_and_its_late_money_is_held(
    shop: Shop, ends: Callable[[Shop, str], object]
) -> None:
    request = asks(shop, expires=timedelta(days=2))
    checkout_id = shop.starts(request.order_id)
    ends(shop, request.reference)
    checkout = shop.settles(checkout_id, "completed")
    assert (checkout.status, checkout.reason) == ("held", "order_not_payable")
    other = asks(shop, expires=timedelta(days=2))
    ends(shop, other.reference)
    with pytest.raises(OrderNotPayable):
        shop.starts(other.order_id)


def test_a_withdrawal_is_a_deed_and_is_made_once(shop: Shop) -> None:
    request = asks(shop, by="Bo")
    assert withdraws(shop, request.reference).withdrawn_at == shop.clock()
    with pytest.raises(TransitionRefused, match="withdrawn already"):
        withdraws(shop, request.reference)
    deeds = shop.calls.stored_about(request.order_id)["deeds"]
    assert [(deed["by"], deed["deed"], deed["subject"], deed["why"]) for deed in deeds] == [
        ("Bo", "requested", request.reference, ""),
        ("Ada", "withdrawn", request.reference, "paid in cash"),
    ]
    paid = asks(shop)
    shop.has_paid(paid.order_id)
    with pytest.raises(TransitionRefused, match="paid already"):
        withdraws(shop, paid.reference)
    with pytest.raises(UnknownRequest):
        withdraws(shop, "nothing")


DOORS: list[Callable[[Any, str], object]] = [
    lambda own, order_id: own.start(order_id),
    lambda own, order_id: paycheckout_button(order_id),
    lambda own, order_id: own.order_status(order_id),
    lambda own, order_id: own.explain(order_id),
    lambda own, order_id: own.pay_url(order_id),
    lambda own, order_id: own.status_url(order_id),
    lambda own, order_id: own.stored_about(order_id),
    lambda own, order_id: own.erase(order_id, by="Ada", why="asked"),
    lambda own, order_id: own.pay_out("p-1", 5, "USD", order_id=order_id),
]


def test_no_order_of_the_shop_has_the_id_of_a_request(shop: Shop) -> None:
    shop.totals["request:7"] = USD
    for door in DOORS:
        with shop.app.test_request_context(), pytest.raises(ValueError, match="must not begin with 'request:'"):
            door(shop.paycheckout, "request:7")
    assert shop.runs("show", "request:7").exit_code == shop.runs("deliver", "--order", "request:7").exit_code == 2
    assert shop.service.created == []


def test_a_title_has_the_blanks_of_the_keyboard_it_was_typed_with(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_SHOP_NAME="印刷\u3000山田")
    request = asks(shop, title="ロゴ\u3000二案", note="Deux projets\u00a0: voir le devis")
    with shop.app.app_context():
        page = shop.browser.get(shop.paycheckout.request_url(request.reference)).text
    assert [each for each in ("印刷\u3000山田", request.title, request.note) if each not in page] == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"total": "12.50"}, TypeError, "total must be Pay or Receive"),
        ({"title": " "}, ValueError, "title must not be empty"),
        ({"title": f"Logo {RTL}gnp"}, ValueError, "title .*marks of direction"),
        ({"note": "two\nlines"}, ValueError, "note must have"),
        ({"expires": timedelta(0)}, ValueError, "expires must be later than now"),
        ({"account": "ada"}, ValueError, "account 'ada' is not known"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_an_argument_of_a_request_that_cannot_be_used_is_refused_by_name(
    shop: Shop, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        asks(shop, **arguments)


def test_erasing_empties_title_and_note_and_the_whys_about_it(shop: Shop) -> None:
    made = asks(shop, note="for Bo Nilsson", by="Ada")
    withdraws(shop, made.reference)
    with shop.app.app_context():
        stored = shop.paycheckout.stored_about(made.order_id)
        assert [(request["title"], request["note"]) for request in stored["requests"]] == [
            ("Logo, two drafts", "for Bo Nilsson")
        ]
        shop.paycheckout.erase(made.order_id, by="Ada", why="Bo asked for it")
        stored = shop.paycheckout.stored_about(made.order_id)
    assert [(request["title"], request["note"]) for request in stored["requests"]] == [("", None)]
    assert [(deed["deed"], deed["why"]) for deed in stored["deeds"]] == [
        *(("requested", ""), ("withdrawn", "")),
        ("erased", "Bo asked for it"),
    ]


def test_commands_make_and_list_requests(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_TIME_ZONE="Europe/Berlin")
    title = ("--title", "Logo")
    result = shop.runs("request", "12.50", "USD", *title, "--expires", "2026-02-01", "--note", "Two drafts", "--json")
    assert result.exit_code == 0, result.output
    assert '"expires_at": "2026-01-31T23:00:00+00:00"' in result.output
    refused = shop.runs("request", "5", "JPY", *title)
    assert "/paycheckout/requests/" in refused.output
    listed = shop.runs("requests")
    assert [line.split()[2:] for line in listed.output.splitlines()[1:]] == [
        ["unpaid", "5", "JPY"],
        ["unpaid", "2026-01-31", "23:00:00Z", "12.50", "USD"],
    ]
    shop.waits(days=40)
    assert '"status": "expired"' in shop.runs("requests", "--json").output
    for wrong in (["12.505", "USD"], ["1", "XXY"]):
        assert shop.runs("request", *wrong, *title).exit_code == 2
    assert shop.runs("request", "1", "USD", "--title", " ").exit_code == 2

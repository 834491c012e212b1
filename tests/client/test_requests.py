"""Requests: the time limit of each call, retries, logging, and the User-Agent."""

from __future__ import annotations

import logging
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from flask_paycheckout.client import NotFound, Page, TransportFailed
from tests.client import samples
from tests.client.samples import DEPOSIT
from tests.client.wire import ACCESS_TOKEN, CLIENT_SECRET, Script, Shop, paged, refusal, success

if TYPE_CHECKING:
    from collections.abc import Callable


TIMED: list[Callable[[Shop], object]] = [
    lambda c: c.deposits.get("chk_1", timeout=3),
    lambda c: c.fiat_disbursements.create("USD", samples.ITEMS, timeout=3),
    lambda c: next(c.fiat_disbursements.iterate(timeout=3)),
    lambda c: c.fiat_disbursements.find(["ref-1"], timeout=3),
]


@pytest.mark.parametrize("call", TIMED)
def test_a_call_may_have_a_time_budget_of_its_own(call: Callable[[Shop], object]) -> None:
    timeouts = list[float]()

    def late(request: httpx.Request) -> httpx.Response:
        timeouts.append(request.extensions["timeout"]["read"])
        raise httpx.ReadTimeout("")

    with pytest.raises(TransportFailed):
        call(Shop(late, count=0))
    assert timeouts == [3.0]


@pytest.mark.parametrize("timeout", [0, float("nan")])
def test_a_time_budget_that_is_none_is_refused(timeout: float) -> None:
    script = Script(success(DEPOSIT))
    with pytest.raises(ValueError, match="timeout must be"):
        Shop(script).deposits.get("chk_1", timeout=timeout)
    assert script.requests == []


def test_payouts_that_may_have_been_sent_are_all_named_and_not_sent_again() -> None:
    script = Script(httpx.ConnectError("refused"), httpx.ReadTimeout("late"), success(samples.BATCH))
    with pytest.raises(TransportFailed) as caught:
        Shop(script).fiat_disbursements.create("USD", [*samples.ITEMS, replace(samples.ITEMS[0], reference="ref-2")])
    assert (len(script.requests), caught.value.carried_out) == (2, "unknown")
    assert caught.value.references == ("ref-1", "ref-2")


def test_requests_are_logged_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    script = Script(success(DEPOSIT), refusal(404), success(paged(samples.RECIPIENT)), success(samples.BATCH))
    shop = Shop(script)
    with caplog.at_level(logging.DEBUG, "flask_paycheckout.client"):
        shop.deposits.get("a/b")
        with pytest.raises(NotFound):
            shop.deposits.get("chk_1")
        shop.recipients.list(search="zoe@example.com")
        shop.fiat_disbursements.create("USD", samples.ITEMS)
    assert [record.getMessage() for record in caplog.records] == [
        "GET /v1/deposit/a%2Fb: HTTP 200 (0 ms)",
        "GET /v1/deposit/chk_1: GET /v1/deposit/{id}: 404 Bad: No (0 ms)",
        "GET /v1/recipient: HTTP 200 (0 ms)",
        "POST /v2/disbursement/fiat: HTTP 200 (0 ms)",
    ]
    for secret in (CLIENT_SECRET, ACCESS_TOKEN, "zoe@example.com", "1234567890"):
        assert secret not in caplog.text


@pytest.mark.parametrize(("app", "rest"), [(None, ""), ("my-shop/2.3", " my-shop/2.3")])
def test_the_user_agent_names_version_and_app(app: str | None, rest: str) -> None:
    script = Script(success(DEPOSIT))
    Shop(script, app=app).within(3).deposits.get("chk_1")
    assert script.requests[0].headers["user-agent"] == f"flask-paycheckout/{version('flask-paycheckout')}{rest}"


def test_the_banks_beyond_one_page_are_read() -> None:
    banks = (samples.BANK | {"id": f"b{number}"} for number in (1, 2))
    script = Script(*(success(paged(bank, page=number, total_pages=2)) for number, bank in enumerate(banks, start=1)))
    shop = Shop(script)
    with pytest.warns(DeprecationWarning, match="payment_methods"):
        page = shop.references.banks(currency="EUR")
    following = shop.next_page(page)
    assert following is not None
    assert (following.page, shop.next_page(following)) == (2, None)
    assert script.requests[1].url.query == b"currency=EUR&page=2"


@pytest.mark.filterwarnings(r"ignore:client\.:DeprecationWarning")
def test_a_list_that_takes_no_page_is_not_read_in_circles() -> None:
    banks, array = success(paged(samples.BANK, total_pages=2)), success([samples.FIAT] * 10)
    shop = Shop(Script(banks, array, banks, array))
    pages: tuple[Page[Any], ...] = (shop.references.banks(), shop.fiat_disbursements.list())
    for page in pages:
        with pytest.raises(TransportFailed, match="page 2 has the records of the page before"):
            shop.next_page(page)

from __future__ import annotations

import httpx
import pytest

from flask_paycheckout.client import (
    RateLimited,
    ServiceFault,
    TransportFailed,
)
from flask_paycheckout.client.waiting import seconds_to_wait
from tests.client.samples import DEPOSIT
from tests.client.wire import Handler, Script, Shop, Watch, refusal, success

NOW = 1767225600.0
GOOD = success(DEPOSIT)


def limited(seconds: str, body: bytes = b"") -> httpx.Response:
    return httpx.Response(429, headers={"Retry-After": seconds}, content=body or refusal(429))


@pytest.mark.parametrize(
    ("chance", "sleeps"), [(1.0, [0.2, 0.4, 0.8, 1.6, 2.0]), (0.5, [0.1, 0.2, 0.4, 0.8, 1.0]), (0.0, [0.0] * 5)]
)
def test_waits_double_under_full_jitter(chance: float, sleeps: list[float]) -> None:
    shop = Shop(Script(refusal(500)), watch=Watch(chance=chance), count=5)
    with pytest.raises(ServiceFault):
        shop.deposits.get("chk_1")
    assert shop.watch.sleeps == pytest.approx(sleeps)


def test_a_wait_that_the_service_names_is_kept() -> None:
    shop = Shop(Script(limited("3"), limited("Thu, 01 Jan 2026 00:00:07 GMT", b"no envelope"), GOOD))
    shop.deposits.get("chk_1")
    assert shop.watch.sleeps == [3.0, 4.0]


def test_a_wait_beyond_the_budget_is_handed_to_the_caller() -> None:
    shop = Shop(Script(limited("15")), budget=15.0)
    with pytest.raises(RateLimited) as caught:
        shop.deposits.get("chk_1")
    assert caught.value.retry_after == 15.0
    assert shop.watch.sleeps == []


def test_a_wait_is_known_from_the_head_of_a_response_that_is_not_read() -> None:
    shop = Shop(Script(*(httpx.Response(302, headers={"Retry-After": seconds}) for seconds in ("7", "15"))))
    with pytest.raises(TransportFailed, match="a redirect") as caught:
        shop.deposits.get("chk_1")
    assert shop.watch.sleeps == [7.0]
    assert (caught.value.http_status, caught.value.retry_after) == (302, 15.0)


def slow(watch: Watch, seconds: float, timeouts: list[float]) -> Handler:
    def handle(request: httpx.Request) -> httpx.Response:
        timeouts.append(request.extensions["timeout"]["read"])
        watch.passed += seconds
        raise httpx.ReadTimeout("")

    return handle


def test_attempts_share_one_budget() -> None:
    watch, timeouts = Watch(), list[float]()
    shop = Shop(slow(watch, 2.0, timeouts), watch=watch, count=9, budget=5.0)
    with pytest.raises(TransportFailed):
        shop.deposits.get("chk_1")
    assert timeouts == pytest.approx([5.0, 2.8, 0.4])
    assert watch.passed == pytest.approx(sum(watch.sleeps) + 3 * 2.0)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("Thu, 01 Jan 2026 00:01:00 -0000", 60.0),
        ("Wed, 31 Dec 2025 23:59:00 GMT", 0.0),
        ("-5", None),
        ("٣", None),
        ("9" * 41, None),
    ],
)
def test_the_wait_that_retry_after_asks_for(header: str | None, seconds: float | None) -> None:
    assert seconds_to_wait(header, NOW) == seconds

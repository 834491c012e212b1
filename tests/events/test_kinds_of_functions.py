"""Functions of the shop by their kind: coroutine functions run to their end, others that would not run are refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout import Pay, order_paid
from flask_paycheckout.wiring import Observation
from tests.conftest import OpenShop
from tests.races.effects import add_effects, counts, writes
from tests.scripted import Shop


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    return open_shop(prepare=add_effects)


async def in_loop(call: Callable[[], object]) -> None:
    await asyncio.sleep(0)
    call()


@pytest.mark.parametrize("loop", [False, True], ids=["no loop", "inside a loop"])
@pytest.mark.parametrize("atomic", [False, True], ids=["plain", "atomic"])
def test_a_coroutine_receiver_runs_to_its_end_in_its_transaction(shop: Shop, atomic: bool, loop: bool) -> None:
    pytest.importorskip("asgiref")

    async def receiver(app: Flask, *, order_id: str, **facts: object) -> None:
        await asyncio.sleep(0)
        writes(shop, "receiver", order_id)

    checkout_id = shop.has_deposit("completed")
    with order_paid.connected_to(shop.paycheckout.atomic(receiver) if atomic else receiver, shop.app):
        settle = partial(shop.settles, checkout_id)
        asyncio.run(in_loop(settle)) if loop else settle()
    assert (shop.attempt(checkout_id).status, counts(shop, "o-1")) == ("paid", {"receiver": 1})
    assert shop.events("order_paid")[0].delivered_at is not None


def test_coroutine_callbacks_and_observers_run(shop: Shop) -> None:
    pytest.importorskip("asgiref")
    seen: list[str] = []

    @shop.paycheckout.order_total
    async def order_total(order_id: str) -> Pay:
        return Pay("12.50", "USD")

    @shop.paycheckout.account_of
    async def account_of(order_id: str) -> str:
        return ""

    async def observer(observed: Observation) -> None:
        seen.append(observed.kind)

    shop.paycheckout.observe(shop.app, observer)
    assert shop.settles(shop.has_deposit("completed")).status == "paid"
    assert "read" in seen


def generator(*arguments: object, **facts: object) -> Iterator[None]:
    yield


async def async_generator(*arguments: object, **facts: object) -> AsyncIterator[None]:
    yield


class Called:
    __qualname__ = "generator"

    def __call__(self, *arguments: object, **facts: object) -> Iterator[None]:
        yield


@pytest.mark.parametrize(
    "function",
    [generator, async_generator, partial(generator), Called(), None],
    ids=["generator", "async", "partial", "object", "a decorator returned none"],
)
def test_a_function_that_would_run_nothing_is_refused_by_name_where_it_is_given(shop: Shop, function: Any) -> None:
    givers: list[Callable[[Any], object]] = [
        order_paid.connect,
        order_paid.connect_via(shop.app),
        shop.paycheckout.atomic,
        shop.paycheckout.order_total,
        shop.paycheckout.order_url,
        shop.paycheckout.account_of,
        shop.paycheckout.account,
        partial(shop.paycheckout.observe, shop.app),
    ]
    for give in givers:
        with pytest.raises(TypeError, match=r"(generator|partial) is a generator function|a function is needed here"):
            give(function)


async def nothing() -> None: ...


@pytest.mark.parametrize("result", [generator, async_generator, nothing], ids=lambda kind: str(kind.__name__))
def test_a_function_that_returns_an_awaitable_or_iterator_has_failed(shop: Shop, result: Callable[[], Any]) -> None:
    returns = lambda *arguments, **told: result()  # noqa: E731 - as a merchant writes it
    checkout_id = shop.has_deposit("completed")
    with order_paid.connected_to(returns, shop.app):
        shop.settles(checkout_id)
    assert f"returned a {'coroutine' if result is nothing else ''}" in shop.events("order_paid")[0].last_error
    shop.paycheckout.account_of(returns)
    with pytest.raises(TypeError, match="of which nothing has run"):
        shop.starts("o-2")
    shop.paycheckout.order_total(returns)
    with pytest.raises(TypeError, match="of which nothing has run"):
        shop.starts("o-2")

"""Atomic receivers: their writes and the move of the checkout are committed together, or not at all."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from blinker import NamedSignal
from flask import Flask

from flask_paycheckout import (
    CheckoutMixin,
    ReceiverFailed,
    StartContended,
    checkout_created,
    order_abandoned,
    order_paid,
    order_pending,
    payment_held,
)
from tests.carts import Carts, add_carts
from tests.conftest import OpenShop
from tests.payouts.shop import refunds
from tests.scripted import Shop, number, raising

pytestmark = pytest.mark.on_each_database

Receiver = Callable[..., object]


@pytest.fixture
def carts(open_shop: OpenShop) -> Iterator[Carts]:
    carts = Carts(open_shop(prepare=add_carts))
    carts.fill()
    with carts.receiving():
        yield carts


@contextmanager
def atomic(shop: Shop, receiver: Receiver, signal: NamedSignal = order_paid) -> Iterator[None]:
    with signal.connected_to(shop.paycheckout.atomic(receiver), shop.app):
        yield


@pytest.mark.parametrize("above", [True, False], ids=["above connect", "below connect"])
def test_the_mark_stands_above_or_below_connect(shop: Shop, above: bool) -> None:
    close = raising(LookupError())
    if above:
        shop.paycheckout.atomic(order_paid.connect(close, shop.app))
    else:
        order_paid.connect(shop.paycheckout.atomic(close), shop.app)
    checkout_id = shop.has_deposit("completed")
    shop.settles(checkout_id)
    order_paid.disconnect(close)
    assert shop.attempt(checkout_id).status == "created", "no other receiver could stop the payment"


@pytest.mark.parametrize("raises", [False, True], ids=["returns", "raises"])
@pytest.mark.parametrize("is_atomic", [False, True], ids=["plain", "atomic"])
def test_a_receiver_may_keep_the_checkout(shop: Shop, is_atomic: bool, raises: bool) -> None:
    kept: list[CheckoutMixin] = []

    def keep(app: Flask, *, checkout: CheckoutMixin, **facts: object) -> None:
        kept.append(checkout)
        if raises:
            raise LookupError

    checkout_id = shop.has_deposit("completed")
    receiver = shop.paycheckout.atomic(keep) if is_atomic else keep
    with order_paid.connected_to(receiver, shop.app):
        shop.settles(checkout_id)
    assert (kept[0].checkout_id, kept[0].status, str(kept[0].total)) == (checkout_id, "paid", "12.50 USD")
    assert checkout_id in repr(kept[0])


class Wordless(Exception):
    def __str__(self) -> str:
        raise LookupError("no translation")


@pytest.mark.parametrize(
    "error", [OSError("NUL \0"), OSError("no file \udcff"), Wordless()], ids=["NUL", "half", "none"]
)
@pytest.mark.parametrize("is_atomic", [False, True], ids=["plain", "atomic"])
def test_a_receiver_is_named_whatever_its_error_says(
    shop: Shop, caplog: pytest.LogCaptureFixture, is_atomic: bool, error: Exception
) -> None:
    """PostgreSQL stores no NUL, no database half of a surrogate pair, and some errors raise when made text."""
    # Parallel tests send their log as UTF-8.
    caplog.set_level("CRITICAL", "flask_paycheckout")

    def broken(app: Flask, **facts: object) -> None:
        raise error

    checkout_id = shop.has_deposit("completed")
    with order_paid.connected_to(shop.paycheckout.atomic(broken) if is_atomic else broken, shop.app):
        shop.settles(checkout_id)
    problem = shop.attempt(checkout_id).problem if is_atomic else shop.events("order_paid")[0].last_error
    assert "broken" in problem


def test_nothing_is_committed_when_an_atomic_receiver_raises(carts: Carts) -> None:
    shop = carts.shop

    def broken(app: Flask, **facts: object) -> None:
        raise ZeroDivisionError("no such shelf")

    with atomic(shop, broken):
        carts.settle()
        assert (carts.checkout.status, carts.cart.state, shop.events("order_paid")) == ("created", "open", [])
        assert carts.checkout.deposit_status == "completed"
        assert carts.checkout.problem.endswith("broken of order_paid failed: ZeroDivisionError: no such shelf")
        assert carts.checkout.problem_since == shop.clock.now
        assert shop.reconciles(seconds=5).failed == 1
        assert shop.reconciles().checked == 0, "it waits, ever longer"

    assert carts.change(total="198.00")
    assert shop.reconciles(seconds=10).changed == 1
    assert (carts.checkout.status, carts.checkout.reason) == ("held", "order_changed"), "order_total was asked again"
    assert carts.checkout.problem is None


def open_socket(app: Flask, **facts: object) -> None:
    socket.socket().close()


def test_a_socket_in_an_atomic_receiver_is_an_error_while_testing(carts: Carts) -> None:
    with atomic(carts.shop, open_socket):
        carts.settle()
        assert "opened a socket" in carts.checkout.problem
        open_socket(carts.shop.app)
        carts.shop.app.testing = False
        carts.shop.reconciles(seconds=5)
    assert carts.checkout.status == "paid"


def test_every_move_has_its_atomic_receivers(shop: Shop) -> None:
    names: list[str] = []

    def recorder(name: str) -> Receiver:
        def record(app: Flask, *, checkout: CheckoutMixin, **told_too: object) -> None:
            assert shop.runtime.sessions.of_context().in_transaction()
            names.append(f"{name}: {checkout.status}")

        return record

    with ExitStack() as stack:
        for signal in (checkout_created, order_pending, payment_held, order_abandoned):
            stack.enter_context(atomic(shop, recorder(signal.name), signal))
        checkout_id = shop.has_deposit("pending")
        shop.settles(checkout_id)
        shop.settles(checkout_id, says="completed", inputAmount=number("1"))
        # Rejects the payment, in the shop's transaction.
        refunds(shop, checkout_id, "0.40")
    assert names == [
        "checkout_created: created",
        "order_pending: pending",
        "payment_held: held",
        "order_abandoned: rejected",
    ]


def test_a_start_whose_atomic_receiver_raises_stores_nothing(shop: Shop) -> None:
    with shop.refusing(checkout_created), pytest.raises(ReceiverFailed):
        shop.starts()
    assert shop.attempts() == []


def test_a_start_that_waits_for_its_own_request_says_what_to_do(open_shop: OpenShop) -> None:
    carts = Carts(open_shop(prepare=add_carts))
    carts.fill()
    with carts.shop.app.app_context():
        if carts.shop.db.engine.dialect.name == "sqlite":
            pytest.skip("no row can be locked there")
        assert carts.order_total(carts.order_id)
        with pytest.raises(StartContended, match="with_for_update must commit or roll back"):
            carts.shop.paycheckout.start(carts.order_id)

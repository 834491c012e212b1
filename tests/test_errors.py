"""Errors go from one process to another, as task queues send them."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal

import pytest

from flask_paycheckout import Pay, client, errors
from flask_paycheckout.books.export import UnreadableBookings
from flask_paycheckout.errors import PayCheckoutError

ERRORS: list[Exception] = [
    errors.ConfigurationError("PAYCHECKOUT_TIMEOUT is 0."),
    errors.UncommittedChanges("start('o-1')", "Order"),
    errors.OrderNotPayable("o-1", "order_total returned None"),
    errors.AmountRefused("o-1", Pay("1", "USD"), client.Invalid("POST /v1/checkout", 400, "Bad Request", "too small")),
    errors.OrderSettled("o-1", "paid"),
    errors.UnknownCheckout("chk-1"),
    errors.TransitionRefused("chk-1", "paid", "a person keeps the money", "refunds cover it"),
    errors.PayoutRefused("p-1", "sent", "a person cancelled it", "Wait for its end."),
    errors.WithdrawalRefused("r-1", "paid"),
    errors.ReceiverFailed("shop.close", "order_paid", "o-1", RuntimeError("closed")),
    errors.UnknownPayout("p-1"),
    errors.UnknownRequest("r-1"),
    errors.PayoutConflict("p-1", "amount"),
    errors.NothingToRefund("chk-1", "paid", taken_back=True),
    errors.RefundTooLarge("chk-1", Decimal("2.00"), Decimal("1.00"), "USD"),
    errors.UnsafeCheckoutUrl("is not https"),
    errors.StartContended("o-1", locked=True),
    errors.TooManyAttempts("o-1", 20, 60.0),
    UnreadableBookings(range(99)),
    client.TransportFailed("GET /x", "gone", 3.0, request_sent=False),
    client.OutcomeUnknown("POST /x", "gone"),
    client.NotFound("GET /x", 404, "Not Found", "Deposit not found"),
    client.RateLimited("GET /x", 429, None, None, 7.5),
]


def test_each_error_of_the_extension_is_tried() -> None:
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, PayCheckoutError)}
    assert kinds - {*map(type, ERRORS)} == {PayCheckoutError}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_after_its_way(error: Exception) -> None:
    error.add_note("told by the worker")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):  # noqa: S301 - made here
        assert (type(again), str(again)) == (type(error), str(error))
        facts = {name: value for name, value in vars(error).items() if not isinstance(value, Exception)}
        assert {name: vars(again)[name] for name in facts} == facts

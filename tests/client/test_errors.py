from __future__ import annotations

import pickle
from collections.abc import Callable

import httpx
import pytest

from flask_paycheckout import Pay
from flask_paycheckout.client import (
    FiatItem,
    Invalid,
    NotFound,
    OutcomeUnknown,
    PaymentsError,
    RateLimited,
    RequestRefused,
    ServiceFault,
    TransportFailed,
    Unauthorized,
)
from flask_paycheckout.client.errors import refusal_for
from tests.client.wire import Script, Shop, refusal


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Invalid),
        (401, Unauthorized),
        (403, Unauthorized),
        (404, NotFound),
        (429, RateLimited),
        (499, Invalid),
        (500, ServiceFault),
    ],
)
def test_each_status_code_has_its_error(status: int, kind: type[RequestRefused]) -> None:
    assert refusal_for(status) is kind


ERRORS = [
    TransportFailed("GET /x", "gone", 3.0, request_sent=False),
    OutcomeUnknown("POST /x", "gone"),
    NotFound("GET /x", 404, "Not Found", "Deposit not found"),
    RateLimited("GET /x", 429, None, None, 7.5),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_survive_a_queue(error: PaymentsError) -> None:
    twin = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(twin) is type(error)
    assert vars(twin) == vars(error)
    assert str(twin) == str(error)


def test_what_a_stranger_says_stays_short_and_on_one_line() -> None:
    error = Invalid("GET /x", 400, "e\x1b[31m\n" * 9000, "m\r\nFAKE LOG \u2028" * 9000)
    assert len(error.message or "") == len(error.error or "") == 300
    assert str(error).isprintable()
    assert repr(error).isprintable()
    assert len(repr(error)) < 800


_FAILURES: dict[str, bytes | Exception] = {
    "nobody-there": httpx.ConnectError("refused"),
    "connecting-too-slow": httpx.ConnectTimeout("slow"),
    "hung-up": httpx.RemoteProtocolError("gone"),
    "half-sent": httpx.WriteError("gone"),
    "no-answer": httpx.ReadTimeout("slow"),
    "garbage": b"<html>502 Bad Gateway</html>",
    "no-data": b'{"statusCode": 200}',
    **{str(status): refusal(status) for status in (400, 401, 403, 404, 409, 422, 429, 500, 503)},
}
_NEVER_ARRIVED = {"nobody-there", "connecting-too-slow"}
_NOT_NOW = {"401", "429"}
_REFUSED = {"400", "403", "404", "409", "422"} | _NOT_NOW


def _failure_of(use: Callable[[Shop], object], failure: str) -> PaymentsError:
    with pytest.raises(PaymentsError) as caught:
        use(Shop(Script(_FAILURES[failure]), count=0))
    return caught.value


@pytest.mark.parametrize("failure", _FAILURES)
@pytest.mark.parametrize(
    "create",
    [
        lambda s: s.fiat_disbursements.create("USD", [FiatItem(amount=1, recipient_id="r", reference="ref-1")]),
        lambda s: s.recipients.delete("r"),
    ],
    ids=["fiat", "recipient"],
)
def test_a_create_says_whether_it_may_have_been_carried_out(create: Callable[[Shop], object], failure: str) -> None:
    error = _failure_of(create, failure)
    assert error.carried_out == ("no" if failure in _REFUSED | _NEVER_ARRIVED else "unknown")
    assert error.retryable is (failure in _NOT_NOW | _NEVER_ARRIVED)


@pytest.mark.parametrize("failure", _FAILURES)
@pytest.mark.parametrize(
    ("use", "lost"),
    [
        pytest.param(lambda s: s.deposits.get("d"), "no", id="read"),
        pytest.param(lambda s: s.fiat_disbursements.find(["ref-1"]), "no", id="look-up"),
        pytest.param(lambda s: s.checkouts.create(Pay(1, "USD")), "unknown", id="checkout"),
    ],
)
def test_a_call_that_may_be_repeated_says_so(use: Callable[[Shop], object], lost: str, failure: str) -> None:
    error = _failure_of(use, failure)
    assert error.carried_out == ("no" if failure in _REFUSED | _NEVER_ARRIVED else lost)
    assert error.retryable is (failure not in _REFUSED - _NOT_NOW)

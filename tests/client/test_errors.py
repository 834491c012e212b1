from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from flask_paycheckout import Pay
from flask_paycheckout.client import (
    Invalid,
    NotFound,
    PaymentsError,
    RateLimited,
    RequestRefused,
    ServiceFault,
    TransportFailed,
    Unauthorized,
)
from tests.client.samples import ITEMS
from tests.client.wire import Script, Shop, refusal

_KINDS: dict[str | int, type[RequestRefused]] = {
    **dict.fromkeys((400, 409, 422, 499), Invalid),
    **dict.fromkeys((401, 403), Unauthorized),
    **{404: NotFound, 429: RateLimited, 500: ServiceFault, 503: ServiceFault},
}
_FAILURES: dict[str | int, bytes | Exception] = {
    "nobody-there": httpx.ConnectError("refused"),
    "connecting-too-slow": httpx.ConnectTimeout("slow"),
    "no-connection-free": httpx.PoolTimeout("busy"),
    "hung-up": httpx.RemoteProtocolError("gone"),
    "half-sent": httpx.WriteError("gone"),
    "no-answer": httpx.ReadTimeout("slow"),
    "garbage": b"<html>502 Bad Gateway</html>",
    "no-data": b'{"statusCode": 200}',
    **{status: refusal(int(status)) for status in _KINDS},
}
_NEVER_ARRIVED = {"nobody-there", "connecting-too-slow", "no-connection-free"}
_NOT_NOW = {401, 429}
_REFUSED = {failure for failure, kind in _KINDS.items() if kind is not ServiceFault}


@pytest.mark.parametrize("failure", _FAILURES)
@pytest.mark.parametrize(
    ("use", "lost", "may_be_repeated"),
    [
        pytest.param(lambda s: s.fiat_disbursements.create("USD", ITEMS), "unknown", False, id="fiat"),
        pytest.param(lambda s: s.recipients.delete("r"), "unknown", False, id="recipient"),
        pytest.param(lambda s: s.checkouts.create(Pay(1, "USD")), "unknown", True, id="checkout"),
        pytest.param(lambda s: s.deposits.get("d"), "no", True, id="read"),
        pytest.param(lambda s: s.fiat_disbursements.find(["ref-1"]), "no", True, id="look-up"),
    ],
)
def test_a_call_says_whether_it_may_have_been_carried_out(
    use: Callable[[Shop], object], lost: str, may_be_repeated: bool, failure: str | int
) -> None:
    with pytest.raises(PaymentsError) as caught:
        use(Shop(Script(_FAILURES[failure]), count=0))
    assert isinstance(caught.value, _KINDS.get(failure, TransportFailed))
    certain = failure in _REFUSED | _NEVER_ARRIVED
    assert caught.value.carried_out == ("no" if certain else lost)
    assert caught.value.retryable is (failure in _NOT_NOW | _NEVER_ARRIVED or (may_be_repeated and not certain))

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout.client import CheckoutLink, TransportFailed
from flask_paycheckout.client.hidden import Hidden
from flask_paycheckout.totals import Pay, Receive, Total
from tests.client.samples import LINK
from tests.client.wire import Script, Shop, success


@pytest.mark.parametrize(
    ("total", "body"),
    [
        pytest.param(
            Pay("12.5", "USD", receive_in="usdc-polygon"),
            b'{"inputCurrency":"USD","inputAmount":12.50,"outputCurrency":"usdc-polygon"}',
            id="pay-receive-in",
        ),
        pytest.param(
            Receive(Decimal("1E+2"), "usdc-polygon", pay_in="USD"),
            b'{"inputCurrency":"USD","outputCurrency":"usdc-polygon","outputAmount":100}',
            id="receive",
        ),
    ],
)
def test_a_total_names_exactly_one_amount(total: Total, body: bytes) -> None:
    script = Script(success(LINK, 201))
    assert Shop(script).checkouts.create(total) == CheckoutLink(LINK["id"], Hidden(LINK["url"]))
    (request,) = script.requests
    assert (request.method, request.url.raw_path, request.content) == ("POST", b"/v1/checkout", body)
    assert request.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({**LINK, "id": "x" * 501}, id="long-id"),
        pytest.param({**LINK, "url": ""}, id="empty-url"),
    ],
)
def test_half_a_link_is_no_link(data: Any) -> None:
    with pytest.raises(TransportFailed, match=r"POST /v1/checkout: .* \(HTTP 200\)"):
        Shop(Script(success(data)), count=0).checkouts.create(Pay(1, "USD"))

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout.client import (
    FeeEstimate,
)
from tests.client.wire import Script, Shop, success


@pytest.mark.parametrize(("amount", "sent"), [(5, b"5"), ("1E+3", b"1000"), (Decimal("5.00"), b"5")])
def test_an_estimate_is_asked_for_a_whole_number(amount: Any, sent: bytes) -> None:
    script = Script(success({"token": "usdc-polygon", "amount": 5, "fee": 0.51}))
    fee = Shop(script).crypto_disbursements.estimate("usdc-polygon", amount)
    assert fee == FeeEstimate("usdc-polygon", Decimal(5), Decimal("0.51"))
    assert script.requests[0].url.raw_path == b"/v1/disbursement/crypto/estimate?token=usdc-polygon&amount=" + sent

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout.client import (
    CryptoReceiver,
    FeeEstimate,
)
from tests.client.samples import CRYPTO_DISBURSEMENT
from tests.client.wire import Script, Shop, success

BATCH = {"totalReceiver": 1, "disburseData": [CRYPTO_DISBURSEMENT], "sumFees": 0.5, "sumAmount": 1}


def receiver(**changed: Any) -> CryptoReceiver:
    return CryptoReceiver(**{"amount": 1, "receiver_wallet_address": "0xr", **changed})


@pytest.mark.parametrize(
    ("wrong", "kind", "fault"),
    [
        (receiver(amount=0.1), TypeError, r"receivers\[1\]\.amount must be Decimal, int or str, not float"),
        (
            receiver(receiver_wallet_address=None),
            TypeError,
            r"receivers\[1\]\.receiver_wallet_address must be a string",
        ),
        (5, TypeError, r"receivers\[1\] must be a CryptoReceiver, not int"),
    ],
)
def test_a_wrong_receiver_is_named_and_nothing_is_sent(wrong: Any, kind: type[Exception], fault: str) -> None:
    script = Script(success(BATCH))
    with pytest.raises(kind, match=fault):
        Shop(script).crypto_disbursements.create("usdc-polygon", [receiver(), wrong])
    assert script.requests == []


@pytest.mark.parametrize(("amount", "sent"), [(5, b"5"), ("1E+3", b"1000"), (Decimal("5.00"), b"5")])
def test_an_estimate_is_asked_for_a_whole_number(amount: Any, sent: bytes) -> None:
    script = Script(success({"token": "usdc-polygon", "amount": 5, "fee": 0.51}))
    fee = Shop(script).crypto_disbursements.estimate("usdc-polygon", amount)
    assert fee == FeeEstimate("usdc-polygon", Decimal(5), Decimal("0.51"))
    assert script.requests[0].url.raw_path == b"/v1/disbursement/crypto/estimate?token=usdc-polygon&amount=" + sent

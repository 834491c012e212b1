from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout.client import (
    Activity,
    Deposit,
    Fee,
    TransportFailed,
)
from tests.client.samples import DEPOSIT
from tests.client.wire import Script, Shop, success


def read(**changed: Any) -> Deposit:
    return Shop(Script(success({**DEPOSIT, **changed})), count=0).deposits.get("chk_1")


def test_only_id_and_status_are_certain() -> None:
    body = success({"depositId": "chk_1", "status": "pending"})
    assert Shop(Script(body)).deposits.get("chk_1") == Deposit("chk_1", "pending")


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"createdAt": "2026-01-01T09:00:00"}, "created_at", datetime(2026, 1, 1, 9, tzinfo=UTC)),
        ({"fee": {"amount": "1", "percentage": 3, "currency": 4}}, "fee", Fee(None, Decimal(3), None)),
        ({"inputAmount": 1e-300}, "input_amount", None),
        # Too deep to be printed or stored.
        ({"paymentCrypto": {"a": json.loads("[" * 900 + "]" * 900)}}, "payment_crypto", None),
        ({"activityHistory": [1, {"activity": "a"}, None]}, "activity_history", (Activity("a"),)),
    ],
)
def test_what_a_malformed_field_reads_as(changed: dict[str, Any], field: str, value: object) -> None:
    assert getattr(read(**changed), field) == value


@pytest.mark.parametrize("wire", ["depositId", "status"])
@pytest.mark.parametrize("value", [None, 5, "x" * 501, "a\0"], ids=lambda value: repr(value)[:9])
def test_without_id_or_status_there_is_no_deposit(wire: str, value: object) -> None:
    with pytest.raises(TransportFailed, match=r"GET /v1/deposit/\{id\}: the d"):
        read(**{wire: value})


def test_a_doubled_key_in_a_side_matter_hides_nothing() -> None:
    body = b'{"statusCode":200,"data":{"depositId":"c","status":"completed","fee":{"amount":1,"amount":2},'
    body += b'"paymentCrypto":{"a":1,"a":2},"inputAmount":9,"activityHistory":[{"status":"a","status":"b"}]}}'
    deposit = Shop(Script(body)).deposits.get("c")
    assert deposit == Deposit("c", "completed", input_amount=Decimal(9))

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
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


@pytest.mark.parametrize(
    ("changed", "field", "value"),
    [
        ({"createdAt": "2026-01-01T09:00:00"}, "created_at", datetime(2026, 1, 1, 9, tzinfo=UTC)),
        ({"fee": {"amount": "1", "percentage": 3, "currency": 4}}, "fee", Fee(percentage=Decimal(3))),
        # Nested too deeply to be printed or stored.
        ({"paymentCrypto": {"a": json.loads("[" * 900 + "]" * 900)}}, "payment_crypto", None),
        ({"activityHistory": [1, {"activity": "a"}, None]}, "activity_history", (Activity("a"),)),
    ],
)
def test_the_value_of_a_malformed_field(changed: dict[str, Any], field: str, value: object) -> None:
    assert getattr(read(**changed), field) == value


def test_a_field_that_is_always_given_fails_only_where_it_is_used() -> None:
    deposit = read(inputAmount="12.50", fee={"amount": 1e-300, "currency": "USD"}, createdAt=None)
    assert (deposit.status, deposit.fee.currency, deposit.output_amount) == ("completed", "USD", Decimal("1.25"))
    plain = deposit.to_dict()
    assert (plain["input_amount"], plain["fee"]["amount"], plain["created_at"]) == (None, None, None)
    uses: dict[str, Callable[[], object]] = {
        "input_amount": lambda: deposit.input_amount,
        "amount": lambda: deposit.fee.amount,
        "created_at": lambda: deposit.created_at,
    }
    for name, use in uses.items():
        with pytest.raises(TransportFailed, match=f"the answer has no usable {name}$"):
            use()
    with pytest.raises(TransportFailed) as caught:
        uses["input_amount"]()
    assert (caught.value.operation, caught.value.carried_out) == ("GET /v1/deposit/{id}", "no")
    assert pickle.loads(pickle.dumps(deposit)) == deposit  # noqa: S301


@pytest.mark.parametrize("wire", ["depositId", "status"])
@pytest.mark.parametrize("value", [None, 5, "x" * 501, "a\0"], ids=lambda value: repr(value)[:9])
def test_without_id_or_status_there_is_no_deposit(wire: str, value: object) -> None:
    with pytest.raises(TransportFailed, match=r"GET /v1/deposit/\{id\}: the d"):
        read(**{wire: value})

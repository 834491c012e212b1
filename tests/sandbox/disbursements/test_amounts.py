"""Money adds up: sums are the sums of the items, in currencies of no, two, three and eighteen decimals."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given, strategies as st

from flask_paycheckout.sandbox.disbursements.batches import fee_of
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, WALLET, Payer


@given(
    units=st.integers(1, 10**12),
    flat=st.integers(0, 10**6),
    percentage=st.decimals("0", "5", places=3),
    currency=st.sampled_from(["JPY", "USD", "KWD", "eth-ethereum"]),
)
def test_a_fee_is_the_formulas_rounded_up_by_less_than_a_unit(
    units: int, flat: int, percentage: Decimal, currency: str
) -> None:
    decimals = {"JPY": 0, "USD": 2, "KWD": 3, "eth-ethereum": 18}[currency]
    amount, fixed = Decimal(units).scaleb(-decimals), Decimal(flat).scaleb(-decimals)
    exact = Fraction(fixed) + Fraction(amount) * Fraction(percentage) / 100
    over = Fraction(fee_of(amount, currency, percentage, fixed)) - exact
    assert 0 <= over < Fraction(1, 10**decimals)


def test_unknown_batch_maximum(make_sandbox: MakeSandbox) -> None:
    most, payer = 100, Payer(make_sandbox(batch_maximum="100"))
    item = {"recipientId": RECIPIENTS["USD"], "amount": 5}
    sent = {"receiverWalletAddress": WALLET, "amount": 5}
    assert payer.pays(*[item] * (most + 1)).message.startswith(f"disburseData must hold at most {most} items")
    assert payer.pays_v1(*[item | {"currency": "USD"}] * (most + 1)).code == 400
    assert payer.sends_tokens(*[sent] * (most + 1)).message.startswith(f"receivers must hold at most {most} items")
    assert payer.pays(*[item] * most).code == 200

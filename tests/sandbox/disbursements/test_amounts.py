"""Money adds up: sums are the sums of the items, in currencies of no, two, three and eighteen decimals."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from flask_paycheckout.sandbox.disbursements.batches import FeeTerms, fee_of, total
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, STELLAR_WALLET, WALLET, Payer, given as given_recipient

# Decimals, and what the currency's bank takes in smallest units.
LIMITS = {"JPY": (0, 100, 30_000_000), "USD": (2, 100, 25_000_000), "KWD": (3, 500, 15_000_000)}
TOKENS = {"usdc-polygon": 6, "usdc-stellar": 7, "eth-ethereum": 18}

relaxed = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def amount_in(currency: str) -> st.SearchStrategy[Decimal]:
    decimals, least, most = LIMITS[currency]
    return st.integers(least, most).map(lambda units: Decimal(units).scaleb(-decimals))


def expect_sums(items: list[dict[str, Any]], amounts: list[Decimal], sum_amount: Any, sum_fees: Any) -> None:
    assert [item["amount"] for item in items] == amounts
    assert sum_amount == sum(amounts)
    assert sum_fees == sum(item["feeAmount"] for item in items)


@pytest.mark.rule("The sums are those of the items.")
@relaxed
@given(data=st.data(), currency=st.sampled_from(sorted(LIMITS)))
def test_the_sums_of_the_second_version(payer: Payer, data: st.DataObject, currency: str) -> None:
    amounts = data.draw(st.lists(amount_in(currency), min_size=1, max_size=8))
    items = [{"amount": amount, "recipient": given_recipient(currency)} for amount in amounts]
    batch = payer.pays(*items, currency=currency).data
    expect_sums(batch["disburseData"], amounts, batch["sumAmount"], batch["sumFees"])


@pytest.mark.rule("Each sum is that of the items in its currency.")
@relaxed
@given(
    amounts=st.lists(st.sampled_from(["USD", "JPY"]).flatmap(lambda c: st.tuples(st.just(c), amount_in(c))), min_size=1)
)
def test_the_sums_of_the_first_version_by_currency(payer: Payer, amounts: list[tuple[str, Decimal]]) -> None:
    items = [{"currency": code, "recipientId": RECIPIENTS[code], "amount": amount} for code, amount in amounts]
    batch = payer.pays_v1(*items).data
    for sums, column in ((batch["sumAmount"], "amount"), (batch["sumFees"], "feeAmount")):
        for entry in sums:
            of_currency = [item[column] for item in batch["disburseData"] if item["currency"] == entry["currency"]]
            assert entry["totalAmount"] == sum(of_currency)
        assert {entry["currency"] for entry in sums} == {currency for currency, _ in amounts}


@pytest.mark.rule("The sums are those of the receivers, in the token.")
@relaxed
@given(data=st.data(), token=st.sampled_from(sorted(TOKENS)))
def test_the_sums_of_tokens(payer: Payer, data: st.DataObject, token: str) -> None:
    wallet = STELLAR_WALLET if "stellar" in token else WALLET
    units = data.draw(st.lists(st.integers(1, 10**21), min_size=1, max_size=5))
    amounts = [Decimal(unit).scaleb(-TOKENS[token]) for unit in units]
    receivers = [{"amount": amount, "receiverWalletAddress": wallet} for amount in amounts]
    batch = payer.sends_tokens(*receivers, token=token).data
    expect_sums(batch["disburseData"], amounts, batch["sumAmount"], batch["sumFees"])


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
    over = Fraction(fee_of(FeeTerms(fixed, percentage), amount, currency)) - exact
    assert 0 <= over < Fraction(1, 10**decimals)


def test_a_sum_of_very_long_amounts_loses_no_digit() -> None:
    long, tiny = Decimal("9" * 30), Decimal("0.000000000000000001")
    assert f"{total([long, tiny]):f}" == "9" * 30 + ".000000000000000001"


def test_large_batches_add_up_and_are_all_stored_and_larger_ones_refused(payer: Payer) -> None:
    amounts = [Decimal(100 + number).scaleb(-2) for number in range(1000)]
    items = [
        {"recipient": given_recipient(), "amount": amount, "reference": f"batch-{number}"}
        for number, amount in enumerate(amounts)
    ]
    batch = payer.pays(*items).data
    assert batch["totalRecipient"] == 1000
    expect_sums(batch["disburseData"], amounts, batch["sumAmount"], batch["sumFees"])
    assert payer.pays(*items, items[0]).message.startswith("disburseData must be a list of 1 to 1000")
    assert payer.lists("limit=1")["totalDocs"] == 1000


@pytest.mark.rule("How many items one request may hold is open.")
def test_unknown_batch_maximum(make_sandbox: MakeSandbox) -> None:
    most, payer = 100, Payer(make_sandbox(batch_maximum="100"))
    item = {"recipientId": RECIPIENTS["USD"], "amount": 5}
    sent = {"receiverWalletAddress": WALLET, "amount": 5}
    assert payer.pays(*[item] * (most + 1)).message.startswith(f"disburseData must hold at most {most} items")
    assert payer.pays_v1(*[item | {"currency": "USD"}] * (most + 1)).code == 400
    assert payer.sends_tokens(*[sent] * (most + 1)).message.startswith(f"receivers must hold at most {most} items")
    assert payer.pays(*[item] * most).code == 200

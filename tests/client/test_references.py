from __future__ import annotations

from decimal import Decimal

import pytest

from flask_paycheckout.client import Bank, Crypto, Currency, PaymentMethod, Quote, TransportFailed
from tests.client import samples
from tests.client.wire import Script, Shop, paged, success

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_what_the_lists_hold() -> None:
    (currency,) = Shop(Script(success([samples.CURRENCY]))).references.currencies()
    assert isinstance(currency, Currency)
    assert (currency.currency, currency.record_id, currency.id, currency.require_ach_or_wire) == (
        "USD",
        "x1",
        "us",
        True,
    )
    (crypto,) = Shop(Script(success([samples.CRYPTO]))).references.cryptos()
    assert isinstance(crypto, Crypto)
    assert (crypto.id, crypto.chain_id, crypto.decimal, crypto.currencies, crypto.is_native) == (
        "usdc-polygon",
        137,
        6,
        ("USD", "EUR"),
        False,
    )
    (bank,) = Shop(Script(success(paged(samples.BANK)))).references.banks().docs
    assert isinstance(bank, Bank)
    assert (bank.id, bank.record_id, bank.version, bank.payment_code) == ("b1", "x1", 0, "p")
    (method,) = Shop(Script(success([samples.PAYMENT_METHOD]))).references.payment_methods()
    assert isinstance(method, PaymentMethod)
    assert (method.code, method.flat_fee_amount, method.percent_fee_amount) == (
        "bank_transfer",
        Decimal("0.25"),
        Decimal(1),
    )


def test_odd_currencies_of_a_token_are_left_out() -> None:
    odd = {**samples.CRYPTO, "currencies": ["USD", 5, None, "EUR"]}
    (crypto,) = Shop(Script(success([odd]))).references.cryptos()
    assert crypto.currencies == ("USD", "EUR")


def test_banks_come_in_pages_only() -> None:
    with pytest.raises(TransportFailed, match="not a page"):
        Shop(Script(success([samples.BANK])), count=0).references.banks()


def test_a_quote_keeps_the_services_own_names() -> None:
    quote = Shop(Script(success(samples.QUOTE))).payments.quote(
        amount=100, input_currency="usdc-polygon", output_currency="USD"
    )
    assert quote == Quote(
        status=True,
        coin="usdc-polygon",
        currency="USD",
        amount=Decimal(100),
        rate_amount=Decimal("0.99"),
        amount_in_currency=Decimal("99.0"),
        total_fee_percentage=Decimal(1),
        total_fee_amount=Decimal("1.01"),
        total_fee_amount_in_currency=Decimal(1),
        total_received_amount=Decimal("98.99"),
        total_received_amount_in_currency=Decimal(98),
        payout_wallet="0xp",
    )


def test_a_payments_history_and_people() -> None:
    payment = Shop(Script(success(samples.PAYMENT))).payments.get("p1")
    assert payment.sender is not None
    assert payment.receiver is not None
    assert (payment.sender.wallet_address, payment.receiver.account_number) == ("0xw", "1234567890")
    assert (payment.activity_history[0].id, payment.activity_history[0].activity) == ("a1", "Disburse requested")
    assert payment.output_amount_exact == Decimal("9.912345")

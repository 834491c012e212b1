"""The read of a checkout's deposit, and the money that it reports: stored as exact text, returned as a record.

Each field may be missing, because the service may leave it out or send it malformed; that never hides a payment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from flask_paycheckout.client import Deposit, NotFound, PaymentsClient
from flask_paycheckout.clock import as_utc
from flask_paycheckout.totals import EXACT, Amount, amount_of, is_token, number_of, positive_amount

# Longer than any currency or bank name.
_MAX_TEXT = 255


def sums_of(amounts: Iterable[Amount | None]) -> tuple[Amount, ...]:
    """The sum of these amounts in each currency; unknown ones are left out."""
    sums: dict[str, Decimal] = {}
    for each in amounts:
        if each is not None:
            sums[each.currency] = EXACT.add(sums.get(each.currency, Decimal(0)), each.amount)
    return tuple(Amount(amount, currency) for currency, amount in sorted(sums.items()))


@dataclass(frozen=True, slots=True)
class PaymentFee:
    """The fee of the payment method; each part is None when the service did not report it."""

    amount: Decimal | None
    """The amount in `currency`."""

    percentage: Decimal | None
    """The fee in percent of the payment."""

    currency: str | None

    def __str__(self) -> str:
        amount = "of unknown amount" if self.amount is None else f"{self.amount:f}"
        currency = "" if self.currency is None else f" {self.currency}"
        percentage = "" if self.percentage is None else f" ({self.percentage:f} %)"
        return f"{amount}{currency}{percentage}"


@dataclass(frozen=True, slots=True)
class Payment:
    """The money that arrived for a checkout, as the completed deposit reported it; missing parts are None."""

    paid: Amount | None
    """The amount that the customer paid."""

    received: Amount | None
    """The amount that the shop receives."""

    fee: PaymentFee | None
    """The fee of the payment method."""

    method: str | None
    """The payment method: the bank's code, else its name, else `crypto`."""

    bank_name: str | None
    """The bank's name."""

    rate: Decimal | None
    """The exchange rate between the two currencies."""

    completed_at: datetime
    """The time when the deposit was first read as completed, as aware UTC."""

    token: Amount | None = None
    """The token amount that a wallet was asked for in place of `paid`, if reported; only a proposal for a refund."""

    def __str__(self) -> str:
        """One line with the amounts, fee, method and rate, as far as they are known."""
        bank = self.bank_name if self.bank_name != self.method else None
        parts = (
            f"{self.paid or 'an unknown amount'} paid",
            self.received and f"{self.received} received",
            self.fee and f"fee {self.fee}",
            self.method and f"method {self.method}{f' ({bank})' if bank else ''}",
            self.rate and f"rate {self.rate:f}",
        )
        return ", ".join(part for part in parts if part)


PAYMENT_COLUMNS = (
    "payment_paid_amount",
    "payment_paid_currency",
    "payment_received_amount",
    "payment_received_currency",
    "payment_fee_amount",
    "payment_fee_percentage",
    "payment_fee_currency",
    "payment_method",
    "payment_bank_name",
    "payment_rate",
    "payment_token",
    "payment_token_amount",
    "payment_completed_at",
)
"""The columns of the checkout table that hold a payment."""


def arrived_of(payment: Payment | None, total_kind: str) -> Amount | None:
    """The amount that arrived on the side that the total fixes: the customer's payment, or the shop's receipt."""
    if payment is None:
        return None
    return payment.received if total_kind == "receive" else payment.paid


def payment_columns(sent: Mapping[str, Any], now: datetime) -> dict[str, str | datetime | None]:
    """The columns for the money of a completed deposit.

    :param sent: the deposit as plain data, in which each field that the service left out is None.
    :param now: the time when the deposit was first read as completed.
    """
    fee, rates, bank = sent["fee"] or {}, sent["exchange_info"] or {}, sent["payment_fiat"] or {}
    token = _token(sent["payment_crypto"])
    return {
        "payment_paid_amount": _number_text(sent["input_amount"]),
        "payment_paid_currency": _text(sent["input_currency"]),
        "payment_received_amount": _number_text(sent["output_amount"]),
        "payment_received_currency": _text(sent["output_currency"]),
        "payment_fee_amount": _number_text(fee.get("amount")),
        "payment_fee_percentage": _number_text(fee.get("percentage")),
        "payment_fee_currency": _text(fee.get("currency")),
        "payment_method": _method(bank, sent["payment_crypto"]),
        "payment_bank_name": _text(bank.get("bank_name")),
        "payment_rate": _number_text(rates.get("exchange_rate")),
        "payment_token": None if token is None else token.currency,
        "payment_token_amount": None if token is None else f"{token.amount:f}",
        "payment_completed_at": now,
    }


def payment_of(columns: Mapping[Any, Any]) -> Payment | None:
    """The payment in these columns; None when no money arrived, or none is stored.

    :param columns: each of `PAYMENT_COLUMNS` by its name; a naive `payment_completed_at`, as SQLite returns it, is UTC.
    """
    if columns["payment_completed_at"] is None:
        return None
    completed_at = as_utc(columns["payment_completed_at"])
    percentage = number_of(columns["payment_fee_percentage"])
    fee = PaymentFee(number_of(columns["payment_fee_amount"]), percentage, columns["payment_fee_currency"])
    return Payment(
        amount_of(columns["payment_paid_amount"], columns["payment_paid_currency"]),
        amount_of(columns["payment_received_amount"], columns["payment_received_currency"]),
        None if fee == PaymentFee(None, None, None) else fee,
        columns["payment_method"],
        columns["payment_bank_name"],
        number_of(columns["payment_rate"]),
        completed_at,
        amount_of(columns["payment_token_amount"], columns["payment_token"]),
    )


def _method(bank: Mapping[str, Any], crypto: object) -> str | None:
    """The payment method: the bank's code, else its name, else `crypto`; None while unknown."""
    # The interface does not specify the content of `paymentCrypto`, which may be empty.
    wallet = None if crypto is None or (bank and not crypto) else "crypto"
    return (bank and (_text(bank["bank_code"]) or _text(bank["bank_name"]))) or wallet


def _token(crypto: object) -> Amount | None:
    """The token and the amount that a wallet was asked for, if the fields have the same names as in the sandbox.

    The interface does not specify the content of `paymentCrypto`.
    """
    if not isinstance(crypto, Mapping):
        return None
    token: Any = crypto.get("token")
    amount: Any = crypto.get("amount")
    try:
        return Amount(positive_amount(amount, token), token) if is_token(token) else None
    except (TypeError, ValueError):
        return None


def _number_text(number: Decimal | None) -> str | None:
    # The client accepts no number that is longer than a text may be.
    return None if number is None else f"{number:f}"


def _text(value: str | None) -> str | None:
    return value if value and len(value) <= _MAX_TEXT else None


# The service's own message; a gateway's 404 for an unknown route has another one.
_NOT_FOUND = "deposit not found"


class NotMadeByThisClient(NotFound):
    """A client id that did not create the checkout does not find its deposit, which proves nothing."""


def says_absent(error: NotFound) -> bool:
    """Whether the service itself sent this 404, which proves that the client id has no such deposit."""
    return (error.message or "").strip().rstrip(".").lower() == _NOT_FOUND


def read_deposit(checkout_id: str, made_with: str | None, client: PaymentsClient) -> Deposit | None:
    """Read a checkout's deposit; None if the service itself tells the creating client id that there is none.

    :param made_with: the client id that created the checkout.
    :raises NotMadeByThisClient: another client id does not find it.
    :raises flask_paycheckout.client.PaymentsError: there was no reliable answer.
    """
    try:
        return client.deposits.get(checkout_id)
    except NotFound as error:
        if not says_absent(error):
            raise
        operation = error.operation
    read_with = client.client_id
    if read_with != made_with:
        message = (
            f"it was made with client id {made_with!r}, and {read_with!r} does not find it;"
            f" read it with the keys of {made_with!r}"
        )
        raise NotMadeByThisClient(operation, 404, "Not Found", message)
    return None

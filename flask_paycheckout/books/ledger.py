"""The ledger: each movement of money is one row, inserted in the transaction of the change that it records.

The rows are computed from the checkout or payout before and after its change, so a caller has nothing to decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import cached_property, reduce
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from flask_paycheckout.checkouts.payments import Payment, payment_of
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.config.checks import PayoutFees
from flask_paycheckout.database.models import Models
from flask_paycheckout.database.state_table import Row
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.totals import EXACT, Amount

Values = dict[str, Any]

_NOTHING = Decimal(0)


class LineKind(StrEnum):
    """The kinds of lines in the books."""

    PAYMENT = "payment"
    """Money of a customer that paid an order, or a part of it."""

    HELD = "held"
    """Money of a customer that paid no order; a second line takes it back once the money pays an order after all."""

    FEE = "fee"
    """A fee that no other line has, such as a fee in another currency than the payment."""

    REFUND = "refund"
    PAYOUT = "payout"
    REFUND_RETURNED = "refund_returned"
    """A refund that was sent and then failed, so that its money is back."""

    PAYOUT_RETURNED = "payout_returned"
    """A payout that was sent and then failed, so that its money is back."""

    PAYMENT_RETURNED = "payment_returned"
    """Money of a customer that the service reported as arrived, and later as not arrived."""

    @property
    def base(self) -> LineKind:
        """The kind of line that a line of this kind takes back; this kind if it takes none back."""
        return LineKind(self.removesuffix("_returned"))


class Line(NamedTuple):
    """One line of the books. A value that the service did not report is None.

    Money in is positive, money out negative, fees are positive, and the net amount is gross less fee.
    """

    booked_at: datetime
    kind: LineKind
    order_id: str | None
    checkout_id: str | None
    reference: str | None
    """The payout's reference, as the shop gave it."""

    disbursement_id: str | None
    account: str
    """The name of the merchant account whose money moved; "" for the account of the settings."""

    currency: str | None
    """The currency of gross, fee and net: an ISO 4217 code, or a token id."""

    gross: Decimal | None
    fee: Decimal | None
    net: Decimal | None
    method: str | None
    """The payment method: the bank's code, else its name, else `crypto`."""

    received: Decimal | None
    """The amount that the shop receives of a payment; for a refund in another currency, the amount that it counts."""

    received_currency: str | None


# The states in which a payout's money has left the account.
MONEY_OUT = frozenset({PayoutStatus.SENT, PayoutStatus.COMPLETED})


def money_out(payout: Row) -> LineKind | None:
    """The kind of line for a payout's money; None while the money is in the account.

    :param payout: its row.
    """
    return LineKind(payout["kind"]) if payout["status"] in MONEY_OUT else None


@dataclass(frozen=True)
class Bookings:
    """Books the money of one app's checkouts and payouts.

    :param fees: the meaning of a disbursement's fee.
    """

    models: Models
    fees: PayoutFees

    def book_checkout(self, connection: Connection, before: Row, after: Row, now: datetime) -> None:
        """Book the money that a change of a checkout moves, if any, in the transaction of that change.

        Money that arrived is `held` until it pays the order. If the change clears the time of the payment, because the
        service does not report it as completed any more, the books take the money back.

        :param before: the checkout's row before the change, every column by its name.
        :param after: the row after it, with a higher revision.
        """
        was, now_is = booked_kind(before), booked_kind(after)
        if was is now_is:
            return
        lines: list[Values] = []
        if now_is is None:
            lines = [_returned(LineKind.PAYMENT_RETURNED, next(arrival_lines(LineKind.HELD, before)))]
        elif was is None:
            lines = list(arrival_lines(now_is, after))
            if before["payment_paid_amount"] is not None:
                # The payment and its fee were booked before the service took the payment back.
                lines = list(self._without_booked_fees(connection, after["checkout_id"], lines))
        else:
            lines = [opposite(next(arrival_lines(was, before))), next(arrival_lines(now_is, after))]
        self._store(connection, lines, after["revision"], after, now)

    def book_payout(self, connection: Connection, before: Row, after: Row, now: datetime) -> None:
        """Book the money that a change of a payout moves, if any, in the transaction of that change.

        Money that had left the account and came back is booked as returned. A corrected amount is booked as returned
        and sent again; a fee that becomes known later has a line of its own.

        :param before: the payout's row before the change.
        :param after: the row after it, with a higher number of changes.
        """
        was, now_is = money_out(before), money_out(after)
        lines: list[Values] = []
        if was is None and now_is is not None:
            fee = _fee_of(after)
            is_again = before["disbursement_id"] or before["service_reference"] != after["service_reference"]
            if after["fee"] is not None and is_again:
                # It was carried out after all. If it was booked before it came back, its fee was booked, too.
                fee = EXACT.subtract(fee, self._booked_fee(connection, after["service_reference"], after["currency"]))
            lines = [payout_line(now_is, {**after, "fee": fee}, self.fees)]
        elif was is not None and now_is is None:
            lines = [_returned_payout(was, after)]
        elif was is not None:
            lines = list(self._corrected(was, before, after))
        self._store(connection, lines, after["changes"], after, now)

    def _without_booked_fees(self, connection: Connection, subject: str, lines: list[Values]) -> Iterator[Values]:
        for line in lines:
            if fee := _fee_of(line):
                fee = EXACT.subtract(fee, self._booked_fee(connection, subject, line["currency"]))
                line |= {"fee": f"{fee:f}", "net": f"{EXACT.subtract(Decimal(line['gross']), fee):f}"}
            if fee or line["kind"] is not LineKind.FEE:
                yield line

    def _booked_fee(self, connection: Connection, subject: str, currency: str) -> Decimal:
        """The sum of the fees in the lines of a payment or payout in this currency."""
        c = self.models.bookings.c
        booked = connection.execute(select(c.fee).where(c.subject == subject, c.currency == currency))
        return reduce(EXACT.add, (_fee_of(row._mapping) for row in booked), _NOTHING)

    def _corrected(self, kind: LineKind, before: Row, after: Row) -> Iterator[Values]:
        if before["amount"] != after["amount"]:
            yield _returned_payout(kind, before)
            yield payout_line(kind, {**after, "fee": None}, self.fees)
        if (more := EXACT.subtract(_fee_of(after), _fee_of(before))) and after["fee"] is not None:
            yield _values(LineKind.FEE, Amount(_NOTHING, after["currency"]), more, fees=self.fees)

    def _store(self, connection: Connection, lines: list[Values], change: int, row: Row, now: datetime) -> None:
        common = about(row) | {"change": change, "booked_at": now}
        if lines:
            connection.execute(self._insert, [common | line for line in lines])

    @cached_property
    def _insert(self) -> Any:
        # Build it once, because most moves run it.
        return self.models.bookings.insert().inline()


def about(row: Row) -> Values:
    """The columns of a line that identify its checkout or payout.

    The account is the account whose money moves.
    """
    is_payout = "refund_of" in row
    return {
        "subject": row["service_reference" if is_payout else "checkout_id"],
        "order_id": row["order_id"],
        "checkout_id": row["refund_of" if is_payout else "checkout_id"],
        "reference": row.get("reference"),
        "disbursement_id": row.get("disbursement_id"),
        "account": row["account"] if row.get("paid_by") is None else row["paid_by"],
    }


def booked_kind(checkout: Row) -> LineKind | None:
    """The kind of line for a checkout's money; None while none has arrived.

    :param checkout: its row.
    """
    if checkout["payment_completed_at"] is None:
        return None
    status, pays_order = checkout["status"], checkout["paid_order_id"] is not None
    pays = status == Status.PART or (status == Status.PAID and pays_order)
    return LineKind.PAYMENT if pays else LineKind.HELD


def arrival_lines(kind: LineKind, checkout: Row) -> Iterator[Values]:
    """The line of money that arrived, and a line of its fee if that is in another currency.

    :param checkout: its row, with the columns of the payment.
    """
    payment = payment_of(checkout)
    if payment is None:
        return
    fee, other = _payment_fee(payment)
    yield _values(kind, payment.paid, fee, payment.received, payment.method)
    if other is not None:
        yield _values(LineKind.FEE, Amount(_NOTHING, other.currency), other.amount, method=payment.method)


def payout_line(kind: LineKind, payout: Row, fees: PayoutFees) -> Values:
    """The line of money that was sent.

    :param payout: its row; `fee` is None when the service reported none.
    """
    money = Amount(EXACT.minus(Decimal(payout["amount"])), payout["currency"])
    return _values(kind, money, _fee_of(payout), _counted(payout), fees=fees)


def _returned_payout(kind: LineKind, payout: Row) -> Values:
    return _returned(LineKind(f"{kind}_returned"), payout_line(kind, payout, PayoutFees.ON_TOP))


def _returned(kind: LineKind, line: Values) -> Values:
    """The line of money that came back; its fee does not."""
    back = opposite(line)
    return back | {"kind": kind, "fee": "0", "net": back["gross"]}


def opposite(line: Values) -> Values:
    """The line that takes another one back."""
    signs = {name: f"{EXACT.minus(Decimal(line[name])):f}" for name in NUMBERS if line[name] is not None}
    return line | signs


NUMBERS = ("gross", "fee", "net", "received")
"""The columns of a line that hold amounts."""


def _values(
    kind: LineKind,
    money: Amount | None,
    fee: Decimal | None,
    received: Amount | None = None,
    method: str | None = None,
    fees: PayoutFees = PayoutFees.ON_TOP,
) -> Values:
    gross = net = money.amount if money else None
    if fees is PayoutFees.ON_TOP:
        net = None if gross is None or fee is None else EXACT.subtract(gross, fee)
    numbers = zip(NUMBERS, (gross, fee, net, received and received.amount), strict=True)
    values = {name: None if number is None else f"{number:f}" for name, number in numbers}
    currencies = {"currency": money and money.currency, "received_currency": received and received.currency}
    return values | currencies | {"kind": kind, "method": method}


def _payment_fee(payment: Payment) -> tuple[Decimal | None, Amount | None]:
    """The fee in the currency of the payment, None when that is unknown; and the fee if it is in another currency."""
    fee, none_here = payment.fee, None if payment.paid is None else _NOTHING
    if fee is None:
        return none_here, None
    if fee.amount is None or fee.currency is None:
        return None, None
    if payment.paid is not None and fee.currency == payment.paid.currency:
        return fee.amount, None
    return none_here, Amount(fee.amount, fee.currency)


def _fee_of(row: Row) -> Decimal:
    return Decimal(row["fee"] or 0)


def _counted(payout: Row) -> Amount | None:
    """The amount of its payment that a refund counts, if it is sent in another currency; otherwise None."""
    currency = payout["counts_currency"]
    if currency in (None, payout["currency"]):
        return None
    return Amount(EXACT.minus(Decimal(payout["counts"])), currency)

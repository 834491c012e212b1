"""Comparison of a checkout's row with its deposit, and of a payout's with its disbursement.

Pure and exact: no float, no rounding, no tolerance. What the service leaves out of a disbursement is not compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from flask_paycheckout.books.audit.findings import Facts, Finding, Kind, Verdict
from flask_paycheckout.books.explain import total_text
from flask_paycheckout.books.ledger import MONEY_OUT
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS, arrived_of, payment_columns, payment_of
from flask_paycheckout.checkouts.ruling import COMPLETED, compare, status_of
from flask_paycheckout.checkouts.states import OPEN, Status
from flask_paycheckout.client import Deposit, FiatDisbursement
from flask_paycheckout.clock import EPOCH
from flask_paycheckout.payouts.calls import goes_elsewhere
from flask_paycheckout.payouts.destinations import Destination, masked_account
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutEvidence, PayoutStatus
from flask_paycheckout.text import plain

# `payment_method` names the bank already, and the time is when the shop read the deposit.
_MONEY = [
    name.removeprefix("payment_")
    for name in PAYMENT_COLUMNS
    if name not in ("payment_bank_name", "payment_completed_at")
]
_PAID = ("paid_amount", "paid_currency")
_GONE = (
    "Check that PAYCHECKOUT_BASE_URL and the keys are those with which it was {0}; if they are, ask the service what"
)

_PENDING = "pending"
# The status of a disbursement at the service, by the payout's state; in other states there should be none.
_SAID: dict[str, str] = {
    PayoutStatus.SENT: _PENDING,
    PayoutStatus.COMPLETED: "completed",
    PayoutStatus.FAILED: "failed",
}
_COMPARED = ("amount", "currency", "fee_amount", "service_reference", "disbursement_id")
_REMEDIES: dict[str, str] = {
    PayoutStatus.UNKNOWN: "If it is this payout: flask paycheckout payouts resolve {0.reference} --sent. If it is"
    " another one, resolve it with --not-sent, and ask the service who paid that.",
    PayoutStatus.SENDING: "Its answer was lost; flask paycheckout reconcile looks it up. Until then do not pay it"
    " otherwise.",
    PayoutStatus.READY: "The service has it already. Leave it as it is: reconcile sends it under the same reference,"
    " which the service refuses, and then finds it.",
    PayoutStatus.COMPLETED: "The service took its word back: ask it where the money is. If it came back: flask"
    " paycheckout payouts resolve {0.reference} --not-sent",
    PayoutStatus.FAILED: "The service pays it, or has paid it. Do not try it again and do not pay it otherwise; ask the"
    " service.",
}


def judge_deposit(row: CheckoutMixin, deposit: Deposit | None) -> Finding:
    """Compare a checkout with its deposit.

    Where no money arrived on either side they agree, whatever the states: the service's own states before a payment
    come and go.

    :param deposit: None when the service itself says that it does not exist.
    """
    settled = row.status not in OPEN
    had_money = settled or row.payment_completed_at is not None
    # The method is stored before any money arrives.
    stored = {name: getattr(row, f"payment_{name}") if row.payment_completed_at else None for name in _MONEY}
    here = {name: getattr(row, name) for name in ("status", "reason", "deposit_status")}
    here |= {"asked": total_text(row), **stored}
    agreed = Finding(Verdict.AGREED, Kind.DEPOSIT, row.account, row.order_id, row.checkout_id, here=here)
    if deposit is None:
        known = had_money or row.status == Status.PENDING
        return agreed.says(Verdict.MISSING_THERE, (), f"{_GONE.format('made')} became of it.") if known else agreed
    if deposit.deposit_id != row.checkout_id:
        answer = "The service answered with another deposit, so nothing is known of this one. Ask the service."
        return agreed.says(Verdict.UNREADABLE, (), answer)
    # The time is not compared.
    columns: dict[str, Any] = payment_columns(deposit, EPOCH)
    asked = arrived_of(payment_of(columns), row.total_kind)
    there = {"status": deposit.status, "asked": None if asked is None else str(asked)}
    there |= {name: columns[f"payment_{name}"] for name in _MONEY}
    agreed, arrived = replace(agreed, there=there), status_of(deposit) == COMPLETED
    if not arrived and not had_money:
        return agreed
    differing = [] if arrived and settled else ["status"]
    if arrived:
        # The method may be known from an earlier read.
        names = _MONEY if settled else _PAID
        differing += _differing(names, here, there, () if there["method"] else ("method",))
    if arrived and row.status == Status.PAID and row.reason is None and row.excess is None:
        # An order with parts is not compared here: any amount that is left may come.
        differing += [] if _is_as_asked(row, deposit) else ["asked"]
    return agreed.says(Verdict.DIFFERS, differing, _deposit_remedy(row, arrived, settled)) if differing else agreed


def judge_disbursement(
    payout: PayoutMixin, to: Destination | None, made: FiatDisbursement | None, now: datetime
) -> Finding:
    """Compare a payout with its disbursement.

    :param to: the payout's destination; None when it is wiped, or cannot be read.
    :param made: None when the service has none.
    """
    agreed = _agreed_payout(payout, made)
    if made is None:
        return _absent(payout, agreed)
    until = payout.next_attempt_at if payout.status == PayoutStatus.SENDING else None
    # A process is sending it now, and has not stored the answer yet.
    under_way = until is not None and until > now
    differing = [] if under_way or _SAID.get(payout.status) == _ended(made) else ["status"]
    # A record may leave fee and reference out, and fee and id are not known here before an answer named them.
    unknown = "fee_amount", "disbursement_id", "service_reference"
    differing += _differing(_COMPARED, agreed.here or {}, agreed.there or {}, unknown)
    if to is not None and goes_elsewhere(to, made):
        differing.append("destination")
    return agreed.says(Verdict.DIFFERS, differing, _remedy(payout, made, differing)) if differing else agreed


def judge_other(payout: PayoutMixin, made: FiatDisbursement) -> Finding:
    """Compare another disbursement of a payout, such as one that failed and was tried again; it must have failed."""
    here = {**_here(payout), "status": "another transfer"}
    agreed = replace(_agreed_payout(payout, made), here=here, disbursement_id=made.disbursement_id)
    remedy = (
        "It may be paid twice: another transfer of it did not fail. Ask the service to stop one of them, and do not try"
        " this payout again."
    )
    return agreed if _ended(made) == "failed" else agreed.says(Verdict.DIFFERS, ["status"], remedy)


def unknown_here(account: str, made: FiatDisbursement) -> Finding:
    """The finding about a disbursement that no payout here knows."""
    return Finding(
        Verdict.MISSING_HERE,
        Kind.DISBURSEMENT,
        account,
        reference=made.reference,
        disbursement_id=made.disbursement_id,
        there=_there(made),
        remedy=(
            "If the database was restored since: let the shop ask for it again, with the same reference, and run"
            " reconcile; it is found, not paid again. Else somebody paid this out past the shop, in the service's"
            " dashboard, or by another program with these keys: find out who, and book it by hand."
        ),
    )


def _agreed_payout(payout: PayoutMixin, made: FiatDisbursement | None) -> Finding:
    there = {} if made is None else _there(made)
    return Finding(
        Verdict.AGREED,
        Kind.DISBURSEMENT,
        *(payout.account, payout.order_id, payout.refund_of, payout.reference),
        payout.disbursement_id or there.get("disbursement_id"),
        _here(payout),
        there or None,
    )


def _differing(names: Iterable[str], here: Facts, there: Facts, unknown: Collection[str]) -> list[str]:
    """The names of the values that differ.

    :param unknown: values that one side may lack.
    """
    return [
        name
        for name in names
        if not (name in unknown and None in (here[name], there[name])) and not _is_same(here[name], there[name])
    ]


def _is_same(one: str | None, other: str | None) -> bool:
    """Whether two texts are equal, or are the same number."""
    if one == other:
        return True
    try:
        return one is not None and other is not None and Decimal(one) == Decimal(other)
    except InvalidOperation:
        return False


# Deposits


def _is_as_asked(row: CheckoutMixin, deposit: Deposit) -> bool:
    try:
        return all(compared.agrees for compared in compare(row.checkout_id, row.total, deposit))
    except (ValueError, TypeError, InvalidOperation):
        # Another program wrote what is no total.
        return False


def _deposit_remedy(row: CheckoutMixin, arrived: bool, settled: bool) -> str:
    if not arrived:
        return (
            "The service does not say that this was paid. Ship and pay back nothing for it before the service has"
            " answered why."
        )
    if settled:
        return (
            "Ask the service which values are right. What is stored never changes by itself, and neither does the"
            " export: correct your books by hand."
        )
    return (
        "Money arrived that pays nothing here yet. Reconcile reads it, or paycheckout.settle("
        f"{row.checkout_id!r}) in flask shell. To see what keeps it: flask paycheckout show {row.order_id}"
    )


# Disbursements


def _absent(payout: PayoutMixin, agreed: Finding) -> Finding:
    """The finding about a payout of which the service has nothing."""
    if payout.status == PayoutStatus.UNKNOWN:
        remedy = (
            "Look in the service's dashboard; if it is not there either, it is sent again by: flask paycheckout payouts"
            f" resolve {payout.reference} --not-sent"
        )
    elif payout.status in MONEY_OUT or (payout.status == PayoutStatus.FAILED and payout.disbursement_id is not None):
        remedy = (
            f"{_GONE.format('sent')} became of it before anybody pays it again. If it never left: flask paycheckout"
            f" payouts resolve {payout.reference} --not-sent"
        )
    else:
        return agreed
    return agreed.says(Verdict.MISSING_THERE, (), remedy)


def _ended(made: FiatDisbursement) -> str:
    """The record's status, of which only the two ends are certain; every other one is under way."""
    status = str(made.status).lower()
    return status if status in _SAID.values() else _PENDING


def _here(payout: PayoutMixin) -> dict[str, str | None]:
    names = ("kind", "status", "currency", "destination", "service_reference", "disbursement_id")
    amounts = {"amount": payout.exact_amount, "fee_amount": payout.exact_fee}
    return {name: getattr(payout, name) for name in names} | amounts


def _there(made: FiatDisbursement) -> dict[str, str | None]:
    names = ("amount", "currency", "fee_amount", "disbursement_id", "note", "created_at")
    return {
        **plain({name: getattr(made, name) for name in names}),
        "status": str(made.status),
        "destination": _masked(made),
        "service_reference": made.reference,
    }


def _masked(made: FiatDisbursement) -> str | None:
    """The destination of a record for people, with a masked account number."""
    recipient = made.recipient
    if recipient is None:
        return None
    bank = recipient.bank
    if recipient.recipient_id is not None:
        return f"recipient {recipient.recipient_id}"
    if bank is None:
        return recipient.name
    return masked_account(bank.account_name or "nobody", bank.bank_name or "no bank", bank.account_number or "")


def _remedy(payout: PayoutMixin, made: FiatDisbursement, differing: list[str]) -> str:
    status = payout.status
    if status == PayoutStatus.SENT and "amount" in differing:
        return (
            "Ask the service what it paid, and to whom. If the amount is all that differs, and was paid, then once"
            f" reconcile has read it: flask paycheckout payouts resolve {payout.reference} --sent"
        )
    if status == PayoutStatus.FAILED and payout.problem == PayoutEvidence.RETURNED:
        return "A person found that it came back, or never left. If the money is not in the account, ask the service."
    if status != PayoutStatus.UNKNOWN and differing != ["status"]:
        return (
            "Ask the service what it paid, and to whom. The stored values never change by themselves: correct your"
            " books by hand, and do not try this payout again."
        )
    if status == PayoutStatus.SENT:
        again = f" Then decide: flask paycheckout payouts retry {payout.reference}" if _ended(made) == "failed" else ""
        return f"It is read by flask paycheckout reconcile.{again}"
    return _REMEDIES.get(status, "Nothing here has sent it. Find out who did, and do not approve it before.").format(
        payout
    )

"""Comparison of a checkout's row with its deposit, and of a payout's with its disbursement.

Two tables give the rule for each state of a row and of the service's record. Then values are compared exactly, without
rounding or tolerance. Values that the service leaves out of a disbursement are not compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from flask_paycheckout.books.audit.findings import Facts, Finding, Kind, Verdict
from flask_paycheckout.books.ledger import MONEY_OUT
from flask_paycheckout.books.order_text import total_text
from flask_paycheckout.books.payout_remedies import BY_WHY
from flask_paycheckout.checkouts.checkout_model import KEPT, CheckoutMixin
from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS, arrived_of, payment_columns, payment_of
from flask_paycheckout.checkouts.ruling import COMPLETED, compare, status_of
from flask_paycheckout.checkouts.states import OPEN, Status
from flask_paycheckout.client import Deposit, FiatDisbursement
from flask_paycheckout.client.records import if_sent
from flask_paycheckout.clock import EPOCH
from flask_paycheckout.payouts.calls import goes_elsewhere, record_status
from flask_paycheckout.payouts.destinations import Destination, masked_account
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import Doubt, PayoutStatus
from flask_paycheckout.payouts.payout_table import late_tries, tries_of
from flask_paycheckout.text import plain


class Rule(NamedTuple):
    """The verdict on a row's state and the state at the service, and the remedy."""

    verdict: Verdict
    remedy: str = ""


_AGREED = Rule(Verdict.AGREED)


def _differs(remedy: str) -> Rule:
    return Rule(Verdict.DIFFERS, remedy)


def _missing(remedy: str) -> Rule:
    return Rule(Verdict.MISSING_THERE, remedy)


# Deposits

_FIND = _differs(
    "Money arrived that pays nothing here yet. Reconcile reads it, or paycheckout.settle({0.checkout_id!r}) in flask"
    " shell. To see what keeps it: flask paycheckout show {0.order_id}"
)
_NOT_PAID = _differs(
    "The service does not say that this was paid. Ship and pay back nothing for it before the service has answered why."
)
_GONE = (
    "Check that PAYCHECKOUT_BASE_URL and the keys are those with which it was {0}; if they are, ask the service what"
    " became of it"
)
_NO_DEPOSIT = _missing(f"{_GONE.format('made')}.")

_DEPOSITS: Mapping[str, Mapping[str, Rule]] = {
    # The rules by our state, and by the service's: no deposit, a deposit without money, or a completed one.
    "no money": {"missing": _AGREED, "open": _AGREED, "completed": _FIND},
    "picked": {"missing": _NO_DEPOSIT, "open": _AGREED, "completed": _FIND},
    "arrived": {"missing": _NO_DEPOSIT, "open": _NOT_PAID, "completed": _FIND},
    "settled": {"missing": _NO_DEPOSIT, "open": _NOT_PAID, "completed": _AGREED},
    "taken back": {"missing": _AGREED, "open": _AGREED, "completed": _FIND},
}
"""The service's states before a payment change by themselves, so they are no difference."""

_ASK_FOR_VALUES = (
    "Ask the service which values are right. What is stored never changes by itself, and neither does the export:"
    " correct your books by hand."
)
# Not compared: the bank's name, which `payment_method` has; the time, which is the shop's; and the token, a mere
# proposal.
_MONEY = [
    name.removeprefix("payment_")
    for name in PAYMENT_COLUMNS
    if name not in ("payment_bank_name", "payment_token", "payment_token_amount", "payment_completed_at")
]
_PAID = ("paid_amount", "paid_currency")


def compare_deposit(row: CheckoutMixin, deposit: Deposit | None) -> Finding:
    """Compare a checkout with its deposit.

    :param deposit: None when the service itself says that it does not exist.
    """
    settled, arrived_here = row.status not in OPEN, row.payment_completed_at is not None
    # The method is stored before money arrives.
    stored = {name: getattr(row, f"payment_{name}") if arrived_here else None for name in _MONEY}
    here = {name: getattr(row, name) for name in ("status", "reason", "deposit_status")}
    here |= {"asked": total_text(row), **stored}
    agreed = Finding(Verdict.AGREED, Kind.DEPOSIT, row.account, row.order_id, row.checkout_id, here=here)
    if deposit is not None and deposit.deposit_id != row.checkout_id:
        answer = "The service answered with another deposit, so nothing is known of this one. Ask the service."
        return agreed.says(Verdict.UNREADABLE, (), answer)
    picked = "picked" if row.status == Status.PENDING else "no money"
    gone = settled and not arrived_here
    ours = "taken back" if gone else "settled" if settled else "arrived" if arrived_here else picked
    there = _money_there(row, deposit)
    completed = deposit is not None and status_of(deposit) == COMPLETED
    theirs = "missing" if deposit is None else "completed" if completed else "open"
    rule, agreed = _DEPOSITS[ours][theirs], replace(agreed, there=there or None)
    differing = ["status"] if rule.verdict is Verdict.DIFFERS else []
    if completed:
        # The method may be known from an earlier read.
        names = _MONEY if settled else _PAID
        differing += _differing(names, here, there, () if there["method"] else ("method",))
    if completed and _must_be_exact(row) and not _is_as_asked(row, deposit):
        differing.append("asked")
    if rule is _AGREED and differing:
        rule = _differs(_ASK_FOR_VALUES)
    return agreed.says(rule.verdict, differing, rule.remedy.format(row)) if rule is not _AGREED else agreed


def _money_there(row: CheckoutMixin, deposit: Deposit | None) -> dict[str, str | None]:
    if deposit is None:
        return {}
    # EPOCH is a placeholder: the time is not compared.
    columns: dict[str, Any] = payment_columns(deposit.to_dict(), EPOCH)
    arrived = arrived_of(payment_of(columns), row.total_kind)
    money = {name: columns[f"payment_{name}"] for name in _MONEY}
    return {"status": deposit.status, "asked": None if arrived is None else str(arrived), **money}


def _must_be_exact(row: CheckoutMixin) -> bool:
    """Whether the payment must be exactly the order's total; for an order with parts, less may come.

    Another amount is also allowed if it came later and a person has dealt with it.
    """
    return row.status == Status.PAID and row.reason is None and row.excess is None and row.payback != KEPT


def _is_as_asked(row: CheckoutMixin, deposit: Deposit | None) -> bool:
    try:
        sent = {} if deposit is None else deposit.to_dict()
        return bool(sent) and all(compared.agrees for compared in compare(row.checkout_id, row.total, sent))
    except (ValueError, TypeError, InvalidOperation):
        # Another program has stored an invalid total.
        return False


# Disbursements

_LOST_AFTER_FAILURE = _missing(f"{_GONE.format('sent')} before anybody pays it again.")
_LOST = _missing(
    f"{_LOST_AFTER_FAILURE.remedy} If it never left: flask paycheckout payouts resolve {{0.reference}} --not-sent"
    f" {BY_WHY}"
)
_READ_LATER = _differs("It is read by flask paycheckout reconcile.")
_READ_AND_RETRY = _differs(
    f"It is read by flask paycheckout reconcile. Then decide: flask paycheckout payouts retry {{0.reference}} {BY_WHY}"
)
_CHANGED = _differs(
    "The service changed its answer. Ask it where the money is. If it came back: flask paycheckout payouts resolve"
    f" {{0.reference}} --not-sent {BY_WHY}"
)
_PAYS_IT = _differs(
    "The service pays it, or has paid it. Do not try it again and do not pay it otherwise; ask the service."
)
_NOT_THERE = _missing(
    "Look in the service's dashboard; if it is not there either, it is sent again by: flask paycheckout payouts"
    f" resolve {{0.reference}} --not-sent {BY_WHY}"
)
_IS_IT = _differs(
    "If it is another payout, resolve this one with --not-sent, and ask the service who paid that. If it is this one:"
    f" flask paycheckout payouts resolve {{0.reference}} --sent {BY_WHY}"
)
_LOOKED_UP = _differs(
    "Its answer was lost; flask paycheckout reconcile looks it up. Until then do not pay it otherwise."
)
_FOUND_LATER = _differs(
    "The service has it already. Leave it as it is: reconcile sends it under the same reference, which the service"
    " refuses, and then finds it."
)
_NOT_OURS = _differs("Nothing here has sent it. Find out who did, and do not approve it before.")


def _row(missing: Rule, pending: Rule, completed: Rule | None = None, failed: Rule | None = None) -> dict[str, Rule]:
    """The rules by the state at the service; the rule for `pending` is the default for omitted ones."""
    return {"missing": missing, "pending": pending, "completed": completed or pending, "failed": failed or pending}


_DISBURSEMENTS: Mapping[str, Mapping[str, Rule]] = {
    PayoutStatus.CLAIMABLE: _row(_AGREED, _NOT_OURS),
    PayoutStatus.WAITING: _row(_AGREED, _NOT_OURS),
    PayoutStatus.CANCELLED: _row(_AGREED, _NOT_OURS),
    PayoutStatus.READY: _row(_AGREED, _FOUND_LATER),
    # A process is sending it now, and has not stored the answer yet.
    "being sent": _row(_AGREED, _AGREED),
    PayoutStatus.SENDING: _row(_AGREED, _LOOKED_UP),
    PayoutStatus.UNKNOWN: _row(_NOT_THERE, _IS_IT),
    PayoutStatus.SENT: _row(_LOST, _AGREED, _READ_LATER, _READ_AND_RETRY),
    PayoutStatus.COMPLETED: _row(_LOST, _CHANGED, _AGREED, _CHANGED),
    PayoutStatus.FAILED: _row(_LOST_AFTER_FAILURE, _PAYS_IT, _PAYS_IT, _AGREED),
    # It was refused before the service gave it an id.
    "refused": _row(_AGREED, _PAYS_IT, _PAYS_IT, _AGREED),
    # A person recorded that it came back, or never left, whatever the service reports.
    "returned": _row(_AGREED, _AGREED),
}
_COMPARED = ("amount", "currency", "fee_amount", "service_reference", "disbursement_id")
# A record may leave out fee and reference, and fee and id are unknown here before an answer has named them.
_MAYBE_UNKNOWN = ("fee_amount", "disbursement_id", "service_reference")
_ASK_WHAT_IT_PAID = (
    "Ask the service what it paid, and to whom. The stored values never change by themselves: correct your books by"
    " hand, and do not try this payout again."
)
_MAY_BE_ACCEPTED = (
    "Ask the service what it paid, and to whom. If the amount is all that differs, and was paid, then once reconcile"
    f" has read it: flask paycheckout payouts resolve {{0.reference}} --sent {BY_WHY}"
)
_TWICE = (
    "It may be paid twice: another transfer of it did not fail. Ask the service to stop one of them, and do not try"
    " this payout again."
)


def compare_disbursement(
    payout: PayoutMixin, to: Destination | None, disbursement: FiatDisbursement | None, now: datetime
) -> Finding:
    """Compare a payout with its disbursement.

    :param to: the payout's destination; None when it is wiped, or cannot be read.
    :param disbursement: the disbursement; None if the service has none.
    """
    agreed = _agreed_payout(payout, disbursement)
    rule = _DISBURSEMENTS[_state_of(payout, now)]["missing" if disbursement is None else _ended(disbursement)]
    if disbursement is None:
        return agreed if rule is _AGREED else agreed.says(rule.verdict, (), rule.remedy.format(payout))
    values = _differing(_COMPARED, agreed.here or {}, agreed.there or {}, _MAYBE_UNKNOWN)
    if to is not None and goes_elsewhere(to, disbursement):
        values.append("destination")
    remedy = rule.remedy
    if values and payout.status != PayoutStatus.UNKNOWN:
        may_accept = payout.status == PayoutStatus.SENT and "amount" in values
        remedy = _MAY_BE_ACCEPTED if may_accept else _ASK_WHAT_IT_PAID
    differing = [*([] if rule is _AGREED else ["status"]), *values]
    return agreed.says(Verdict.DIFFERS, differing, remedy.format(payout)) if differing else agreed


def compare_other(payout: PayoutMixin, disbursement: FiatDisbursement) -> Finding:
    """Compare another disbursement of a payout, for instance of an earlier try; it must have failed."""
    here = {**_here(payout), "status": "another transfer"}
    agreed = replace(_agreed_payout(payout, disbursement), here=here, disbursement_id=disbursement.disbursement_id)
    tries = {each.service_reference: each for each in tries_of(payout.earlier)}
    other = tries.get(disbursement.reference or "")
    # The try agrees if a person recorded that it came back, and nothing else was sent.
    is_back = other is not None and other.doubt == Doubt.DENIED and payout.disbursement_id is None
    # A person has accepted the sum of its transfers, which is compared with the payout itself.
    is_accepted = payout.status in MONEY_OUT and payout.asked_amount is not None and other in late_tries(payout.earlier)
    agrees = is_back or is_accepted or _ended(disbursement) == "failed"
    return agreed if agrees else agreed.says(Verdict.DIFFERS, ["status"], _TWICE)


def not_proved(payout: PayoutMixin) -> Finding:
    """The finding about a token payout that was sent more than once; the service does not show such payouts again."""
    remedy = (
        "It was sent after a person said that it, or a refund before it, had not arrived, and may have been paid twice."
        " Compare it with the chain."
    )
    return _agreed_payout(payout, None).says(Verdict.UNREADABLE, (), remedy)


def unknown_here(account: str, disbursement: FiatDisbursement) -> Finding:
    """The finding about a disbursement that no payout here knows."""
    return Finding(
        Verdict.MISSING_HERE,
        Kind.DISBURSEMENT,
        account,
        reference=disbursement.reference,
        disbursement_id=disbursement.disbursement_id,
        there=_there(disbursement),
        remedy=(
            "If the database was restored since: let the shop ask for it again, with the same reference, and run"
            " reconcile; it is found, not paid again. Else somebody paid this out past the shop, in the service's"
            " dashboard, or by another program with these keys: find out who, and book it by hand."
        ),
    )


def _state_of(payout: PayoutMixin, now: datetime) -> str:
    """The row of `_DISBURSEMENTS` for a payout."""
    if payout.status == PayoutStatus.SENDING and payout.due_at is not None and payout.due_at > now:
        return "being sent"
    sent = payout.disbursement_id is not None
    # A payout that was sent and then cancelled has failed and was given up.
    status = PayoutStatus.FAILED if payout.status == PayoutStatus.CANCELLED and sent else payout.status
    if status == PayoutStatus.FAILED and payout.doubt == Doubt.DENIED:
        return "returned"
    return status if status != PayoutStatus.FAILED or sent else "refused"


def _agreed_payout(payout: PayoutMixin, disbursement: FiatDisbursement | None) -> Finding:
    there = {} if disbursement is None else _there(disbursement)
    return Finding(
        Verdict.AGREED,
        Kind.DISBURSEMENT,
        *(payout.account, payout.order_id, payout.refund_of, payout.reference),
        payout.disbursement_id or there.get("disbursement_id"),
        _here(payout),
        there or None,
    )


def _ended(disbursement: FiatDisbursement) -> str:
    """The record's status: `completed` or `failed`; every other status counts as `pending`."""
    status = record_status(disbursement)
    return status if status in ("completed", "failed") else "pending"


def _here(payout: PayoutMixin) -> dict[str, str | None]:
    names = ("kind", "status", "currency", "destination", "service_reference", "disbursement_id")
    amounts = {"amount": payout.exact_amount, "fee_amount": payout.exact_fee}
    return {name: getattr(payout, name) for name in names} | amounts


def _there(disbursement: FiatDisbursement) -> dict[str, str | None]:
    names = ("amount", "currency", "fee_amount", "disbursement_id", "note", "created_at")
    sent = disbursement.to_dict()
    return {
        **plain({name: sent[name] for name in names}),
        "status": sent["status"],
        "destination": _masked(disbursement),
        "service_reference": disbursement.reference,
    }


def _masked(disbursement: FiatDisbursement) -> str | None:
    """The destination of a record for people, with a masked account number."""
    recipient = if_sent(disbursement, "recipient")
    if recipient is None or recipient.recipient_id is not None:
        return None if recipient is None else f"Recipient: {recipient.recipient_id}"
    bank = if_sent(recipient, "bank")
    if bank is None:
        name: str | None = recipient.name
        return name
    holder, bank_name = if_sent(bank, "account_name") or "nobody", if_sent(bank, "bank_name") or "no bank"
    return masked_account(holder, bank_name, bank.account_number or "")


# Values


def _differing(names: Iterable[str], here: Facts, there: Facts, unknown: Collection[str]) -> list[str]:
    """The names of the values that differ.

    :param unknown: the names of values that one side may lack.
    """
    return [
        name
        for name in names
        if not (name in unknown and None in (here[name], there[name])) and not _is_same(here[name], there[name])
    ]


def _is_same(text: str | None, other: str | None) -> bool:
    """Whether two texts are equal, or are the same number."""
    if text == other:
        return True
    try:
        return text is not None and other is not None and Decimal(text) == Decimal(other)
    except InvalidOperation:
        return False

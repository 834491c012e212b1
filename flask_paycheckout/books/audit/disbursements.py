"""Comparison of a payout's row with its disbursement, as far as the service shows it. Pure and exact."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from flask_paycheckout.books.audit.deposits import same_value
from flask_paycheckout.books.audit.findings import Finding, Kind, Verdict
from flask_paycheckout.client import FiatDisbursement
from flask_paycheckout.payouts.calls import goes_elsewhere, is_same_number
from flask_paycheckout.payouts.destinations import Destination, masked_account
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.text import moment_text

__all__ = ["judge_disbursement", "judge_replaced", "unknown_here"]

_FAILED, _COMPLETED, _PENDING = "failed", "completed", "pending"
# What the service says of a payout in a state; in the other states it should not have any.
_SAID: dict[str, str] = {
    PayoutStatus.SENT: _PENDING,
    PayoutStatus.COMPLETED: _COMPLETED,
    PayoutStatus.FAILED: _FAILED,
}
_COMPARED = ("amount", "currency", "fee_amount", "service_reference", "disbursement_id")
_MASKING = "•*"


def judge_disbursement(
    payout: PayoutMixin, to: Destination | None, made: FiatDisbursement | None, now: datetime
) -> Finding:
    """Compare a payout with its disbursement.

    :param to: the payout's destination; None when it is wiped, or cannot be read.
    :param made: None when the service has none.
    :param now: only to say whether a read is due.
    """
    if made is None:
        return _absent(payout)
    here, there = _here(payout), _there(made)
    differing = [] if _is_under_way(payout, now) or _SAID.get(payout.status) == _ended(made) else ["status"]
    for name in _COMPARED:
        # A record may leave fee and reference out, and fee and id are not known here before an answer named them.
        if (there[name] is None and name in ("fee_amount", "service_reference")) or (
            here[name] is None and name in ("fee_amount", "disbursement_id")
        ):
            continue
        differing += [] if same_value(here[name], there[name]) else [name]
    if _is_elsewhere(payout, to, made):
        differing.append("destination")
    agreed = _agreed(payout, made)
    return agreed.says(Verdict.DIFFERS, differing, _remedy(payout, made, differing, now)) if differing else agreed


def judge_replaced(payout: PayoutMixin, made: FiatDisbursement) -> Finding:
    """Compare an earlier disbursement of a payout that had failed and was tried again; it must have failed."""
    here = {**_here(payout), "status": "failed, and tried again"}
    agreed = replace(_agreed(payout, made), here=here, disbursement_id=made.disbursement_id, row=None)
    remedy = (
        "It may be paid twice: the first transfer did not fail after all. Ask the service to stop one of them, and do"
        " not try this payout again."
    )
    return agreed if _ended(made) == _FAILED else agreed.says(Verdict.DIFFERS, ["status"], remedy)


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
            "Somebody paid this out past the shop: in the service's dashboard, by another program with these keys, or"
            " from a database that was restored since. Find out who, and book it by hand."
        ),
        changed_at=made.updated_at,
    )


def _absent(payout: PayoutMixin) -> Finding:
    """The finding about a payout of which the service has nothing."""
    status = payout.status
    lost = status in (PayoutStatus.SENT, PayoutStatus.COMPLETED, PayoutStatus.UNKNOWN)
    if not lost and (status != PayoutStatus.FAILED or payout.disbursement_id is None):
        return _agreed(payout, None)
    if status == PayoutStatus.UNKNOWN:
        remedy = (
            "Look in the service's dashboard; if it is not there either, it is sent again by: flask paycheckout payouts"
            f" resolve {payout.reference} --not-sent"
        )
    else:
        remedy = (
            "Check that PAYCHECKOUT_BASE_URL and the keys are those with which it was sent; if they are, ask the"
            " service what became of it before anybody pays it again."
        )
    return _agreed(payout, None).says(Verdict.MISSING_THERE, (), remedy)


def _ended(made: FiatDisbursement) -> str:
    """The record's status, of which only the two ends are certain; every other one is under way."""
    status = str(made.status).lower()
    return status if status in (_COMPLETED, _FAILED) else _PENDING


def _is_under_way(payout: PayoutMixin, now: datetime) -> bool:
    """Whether a process is sending it now, and has not stored the answer yet."""
    until = payout.next_attempt_at if payout.status == PayoutStatus.SENDING else None
    return until is not None and until > now


def _is_elsewhere(payout: PayoutMixin, to: Destination | None, made: FiatDisbursement) -> bool:
    if to is not None:
        return goes_elsewhere(to, made)
    bank = made.recipient.bank if made.recipient is not None else None
    if payout.to_kind != "bank" or payout.destination is None or bank is None:
        return False
    # The number is wiped; its last digits stay in the masked form.
    masked = payout.destination.rpartition(", ")[2]
    shown = "".join(char for char in masked if char.isalnum())
    number = bank.account_number
    if not shown or number is None or any(char in number for char in _MASKING):
        return False
    return not is_same_number(number, masked)


def _here(payout: PayoutMixin) -> dict[str, str | None]:
    return {
        "kind": payout.kind,
        "status": payout.status,
        "amount": payout.exact_amount,
        "currency": payout.currency,
        "fee_amount": payout.exact_fee,
        "destination": payout.destination,
        "service_reference": payout.service_reference,
        "disbursement_id": payout.disbursement_id,
    }


def _there(made: FiatDisbursement) -> dict[str, str | None]:
    return {
        "status": str(made.status),
        "amount": None if made.amount is None else f"{made.amount:f}",
        "currency": made.currency,
        "fee_amount": None if made.fee_amount is None else f"{made.fee_amount:f}",
        "destination": _masked(made),
        "service_reference": made.reference,
        "disbursement_id": made.disbursement_id,
        "note": made.note,
        "created_at": None if made.created_at is None else made.created_at.isoformat(),
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


def _remedy(payout: PayoutMixin, made: FiatDisbursement, differing: list[str], now: datetime) -> str:
    status, ended = payout.status, _ended(made)
    if status == PayoutStatus.UNKNOWN:
        return (
            f"If it is this payout: flask paycheckout payouts resolve {payout.reference} --sent. If it is another one,"
            " resolve it with --not-sent, and ask the service who paid that."
        )
    if differing != ["status"]:
        return (
            "Ask the service what it paid, and to whom. The stored values never change by themselves: correct your"
            " books by hand, and do not try this payout again."
        )
    if status == PayoutStatus.SENT:
        read = f"It is read by flask paycheckout reconcile, {_when(payout.next_attempt_at, now)}"
        again = f"; then decide: flask paycheckout payouts retry {payout.reference}" if ended == _FAILED else ""
        return f"{read}{again}."
    if status == PayoutStatus.SENDING:
        return "Its answer was lost; flask paycheckout reconcile looks it up. Until then do not pay it otherwise."
    if status == PayoutStatus.READY:
        return (
            "The service has it already. Leave it as it is: reconcile sends it under the same reference, which the"
            " service refuses, and then finds it."
        )
    if status == PayoutStatus.COMPLETED:
        return (
            "The service took its word back: ask it where the money is. A transfer that failed after all is paid by a"
            " new payout with another reference."
        )
    if status == PayoutStatus.FAILED:
        return "The service pays it, or has paid it. Do not try it again and do not pay it otherwise; ask the service."
    return "Nothing here has sent it. Find out who did, and do not approve it before."


def _when(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "once its next read is due; none is planned, so ask the service"
    return "now" if at <= now else f"from {moment_text(at)} on"


def _agreed(payout: PayoutMixin, made: FiatDisbursement | None) -> Finding:
    times = [payout.moved_at, *([made.updated_at] if made is not None and made.updated_at is not None else [])]
    return Finding(
        Verdict.AGREED,
        Kind.DISBURSEMENT,
        payout.account,
        payout.order_id,
        payout.refund_of,
        payout.reference,
        payout.disbursement_id or (None if made is None else made.disbursement_id),
        _here(payout),
        None if made is None else _there(made),
        row=payout.id,
        changed_at=max(times),
    )

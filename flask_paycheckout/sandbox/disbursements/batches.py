"""Batches: all items of a request are stored in one transaction or none, and no reference is used twice.

The fee of each item, for both kinds, in the currency or token that is paid out, and charged in addition to the amount:

    fee = flat + network + amount * percentage / 100, rounded up to a whole unit of the currency

Only the percentage can need rounding, by less than one unit, in favour of the service, because all other terms are
whole units.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

from sqlalchemy import select, true
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.tables import CRYPTO, FIAT, Disbursement
from flask_paycheckout.sandbox.wire.envelope import FieldError
from flask_paycheckout.sandbox.wire.operations import Credentials
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import assumption, current_time
from flask_paycheckout.sandbox.world.money import EXACT, rounded, share_of
from flask_paycheckout.sandbox.world.settings import new_id, new_ids
from flask_paycheckout.sandbox.world.transitions import PENDING, note


class UsedReference(FieldError):
    """Another disbursement has the reference."""

    switch = "reference_error"


MAX_ITEMS = 1000
"""The largest value of the unknown `batch_maximum`."""

_FIRST_ACTIVITIES = {
    FIAT: (
        ("Disburse requested", "The disbursement was accepted."),
        ("Recipient validated", "The recipient's bank account can be paid."),
    ),
    CRYPTO: (("Sent to recipient wallet", "The transfer was handed to the network."),),
}


def fee_of(amount: Decimal, currency: str, percentage: Decimal, *fixed: Decimal) -> Decimal:
    """The fee of one transfer.

    :param fixed: the parts that do not depend on the amount: the flat fee, and the fee of a chain's network.
    """
    return rounded(total([*fixed, share_of(amount, percentage)]), currency)


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Sum amounts exactly."""
    return reduce(EXACT.add, amounts, Decimal(0))


CREATES: dict[str, Any] = {
    "credentials": Credentials.ACCESS_TOKEN,
    "code": "disbursement_status_code",
    "message": "Disbursement created successfully",
}
"""The declaration that all three creates share."""


def sums_of(disbursements: Sequence[Disbursement]) -> dict[str, Decimal]:
    """The sums of a batch in one currency, as fields of its answer."""
    return {
        "sum_fees": total(disbursement.fee_amount for disbursement in disbursements),
        "sum_amount": total(disbursement.amount for disbursement in disbursements),
    }


def check_size(field: str, items: Sequence[object]) -> None:
    maximum = int(assumption("batch_maximum"))
    if len(items) > maximum:
        raise FieldError(f"{field} must hold at most {maximum} items; send the rest in further requests.")


def store_batch(session: Session, field: str, items: Sequence[Disbursement], *, grouped: bool) -> list[Disbursement]:
    """Store the disbursements of a request, and return them in its order.

    If the unknown `known_reference` says so, an item whose reference was used for the same kind, currency, amount
    and payee gets the earlier disbursement as its answer.

    :param field: the name of the request's list, for error messages.
    :param items: the checked items, without ids, all of one account and kind.
    :param grouped: whether they get a group id, which the first version of the operation does not have.
    :raises UsedReference: a reference cannot be used."""
    # Locked in this order, because two batches that share references could deadlock on each other's rows.
    is_service_wide = assumption("reference_scope") == "service"
    accounts = select(Account.user_id).where(true() if is_service_wide else Account.user_id == items[0].user_id)
    session.execute(accounts.order_by(Account.user_id).with_for_update(key_share=True))
    earlier = _made_before(session, field, items, grouped=grouped)
    new = [item for item in items if item.reference not in earlier]
    now, group_id = current_time(), new_id(session) if grouped else None
    for item, disbursement_id in zip(new, new_ids(session, len(new)), strict=True):
        item.id, item.group_id, item.status = disbursement_id, group_id, PENDING
        item.created_at = item.updated_at = now
        session.add(item)
    session.flush()
    for item in new:
        for activity, description in _FIRST_ACTIVITIES[item.kind]:
            note(session, item, activity, description)
    return [earlier.get(item.reference, item) for item in items]


def _made_before(
    session: Session, field: str, items: Sequence[Disbursement], *, grouped: bool
) -> dict[str | None, Disbursement]:
    """The stored disbursements that have a reference of these items, by reference.

    :raises UsedReference: two items have the same reference, or a stored one may not be used again.
    """
    of_account = Disbursement.user_id == items[0].user_id
    within = {"account": of_account, "kind": of_account & (Disbursement.kind == items[0].kind), "service": true()}
    references = [item.reference for item in items if item.reference is not None]
    query = select(Disbursement).where(within[assumption("reference_scope")], Disbursement.reference.in_(references))
    by_reference = {stored.reference: stored for stored in session.scalars(query)}
    indexes: dict[str | None, int] = {}
    for index, item in enumerate(items):
        first = indexes.setdefault(item.reference, index)
        if item.reference is not None and first != index:
            fault = f"{field}[{index}].reference is that of {field}[{first}] too"
            raise UsedReference(f"{fault}; give every disbursement its own.")
        stored = by_reference.get(item.reference)
        if stored is None:
            continue
        if assumption("known_reference") == "refused":
            raise UsedReference(f"{field}[{index}].reference was used before; give every disbursement its own.")
        before = stored.user_id, stored.kind, stored.currency, stored.amount, stored.payee, stored.group_id is not None
        if before != (item.user_id, item.kind, item.currency, item.amount, item.payee, grouped):
            raise UsedReference(f"{field}[{index}].reference was used before, for a disbursement that is not the same.")
    return by_reference

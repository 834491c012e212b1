"""Batches: all items of a request are stored in one transaction or none, and no reference is used twice.

The fee of each item, for both kinds, in the currency or token that is paid out, and charged in addition to the amount:

    fee = flat + network + amount * percentage / 100, rounded up to a whole unit of the currency

Only the percentage can need rounding, by less than one unit, in favour of the service, because all other terms are
whole units.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TypeVar

from sqlalchemy import select, true
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.disbursements.tables import (
    CRYPTO,
    FIAT,
    PENDING,
    BankTransfer,
    Disbursement,
    WalletTransfer,
)
from flask_paycheckout.sandbox.wire.envelope import FieldError
from flask_paycheckout.sandbox.world.context import assumption, current_time
from flask_paycheckout.sandbox.world.money import EXACT, rounded, share_of
from flask_paycheckout.sandbox.world.settings import new_id, new_ids
from flask_paycheckout.sandbox.world.transitions import note


class UsedReference(FieldError):
    """Another disbursement has the reference."""

    switch = "reference_error"


MAX_ITEMS = 1000
"""The largest value of the unknown `batch_maximum`."""

Transfer = TypeVar("Transfer", BankTransfer, WalletTransfer)
Item = tuple[Disbursement, Transfer]
"""A checked item of a request, as new rows without ids: the disbursement, and where its money goes."""

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
    result = Decimal(0)
    for amount in amounts:
        result = EXACT.add(result, amount)
    return result


def check_size(field: str, items: Sequence[object]) -> None:
    maximum = int(assumption("batch_maximum"))
    if len(items) > maximum:
        raise FieldError(f"{field} must hold at most {maximum} items; send the rest in further requests.")


def store_batch(session: Session, field: str, items: Sequence[Item[Transfer]], *, grouped: bool) -> list[Disbursement]:
    """Store the disbursements of a request, and return them in its order.

    Where the unknown `known_reference` says so, an item whose reference was used for the same kind, currency, amount
    and payee is answered by the disbursement that it made.

    :param field: the name of the request's list, for error messages.
    :param items: all of one account and kind.
    :param grouped: whether they get a group id, which the first version of the operation does not have.
    :raises UsedReference: a reference cannot be used."""
    # Two batches that share references could deadlock on each other's rows.
    everybody = assumption("reference_scope") == "service"
    accounts = select(Account.user_id).where(true() if everybody else Account.user_id == items[0][0].user_id)
    session.execute(accounts.order_by(Account.user_id).with_for_update(key_share=True))
    _check_distinct(field, items)
    known = _made_before(session, field, items, grouped=grouped)
    new = [(one, transfer) for one, transfer in items if one.reference not in known]
    now, group_id = current_time(), new_id(session) if grouped else None
    for (one, _), disbursement_id in zip(new, new_ids(session, len(new)), strict=True):
        one.id, one.group_id, one.status = disbursement_id, group_id, PENDING
        one.created_at = one.updated_at = now
        session.add(one)
    try:
        session.flush()
    except IntegrityError:
        raise UsedReference(f"{field} has a reference that was used before; give every disbursement its own.") from None
    for one, transfer in new:
        transfer.disbursement_id = one.id
        session.add(transfer)
        for activity, description in _FIRST_ACTIVITIES[one.kind]:
            note(session, one, activity, description)
    return [known.get(one.reference, one) for one, _ in items]


def transfers_of(session: Session, table: type[Transfer], disbursements: Iterable[Disbursement]) -> dict[str, Transfer]:
    """Where the money of these disbursements went, by their ids; one query."""
    ids = [made.id for made in disbursements]
    return {row.disbursement_id: row for row in session.scalars(select(table).where(table.disbursement_id.in_(ids)))}


def _check_distinct(field: str, items: Sequence[Item[Transfer]]) -> None:
    places: dict[str, int] = {}
    for place, (one, _) in enumerate(items):
        if one.reference is not None and places.setdefault(one.reference, place) != place:
            raise UsedReference(
                f"{field}[{place}].reference is that of {field}[{places[one.reference]}] too;"
                " give every disbursement its own."
            )


def _made_before(
    session: Session, field: str, items: Sequence[Item[Transfer]], *, grouped: bool
) -> dict[str | None, Disbursement]:
    """The disbursements that have a reference of these already. :raises UsedReference: one may not be used again."""
    first, its_transfer = items[0]
    of_account = Disbursement.user_id == first.user_id
    within = {"account": of_account, "kind": of_account & (Disbursement.kind == first.kind), "service": true()}
    references = [one.reference for one, _ in items if one.reference is not None]
    used = select(Disbursement).where(within[assumption("reference_scope")], Disbursement.reference.in_(references))
    known = {made.reference: made for made in session.scalars(used)}
    if not known:
        return {}
    transfers = transfers_of(session, type(its_transfer), known.values())
    for place, (one, transfer) in enumerate(items):
        made = known.get(one.reference)
        if made is None:
            continue
        if assumption("known_reference") == "refused":
            raise UsedReference(f"{field}[{place}].reference was used before; give every disbursement its own.")
        was = made.user_id, made.kind, made.currency, made.amount, made.group_id is not None
        now = one.user_id, one.kind, one.currency, one.amount, grouped
        if was != now or not transfers[made.id].goes_where(transfer):
            raise UsedReference(f"{field}[{place}].reference was used before, for a disbursement that is not the same.")
    return known

"""Batches: all items of a request are stored in one transaction or none, and no reference is used twice.

The fee of each item, for both kinds, in the currency or token that is paid out, and charged in addition to the amount:

    fee = flat + network + amount * percentage / 100, rounded up to a whole unit of the currency

Only the percentage can need rounding, by less than one unit, in favour of the service, because all other terms are
whole units.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

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
from flask_paycheckout.sandbox.world.money import EXACT, rounded
from flask_paycheckout.sandbox.world.settings import new_id, new_ids
from flask_paycheckout.sandbox.world.transitions import note

MAX_ITEMS = 1000
"""The largest value of the unknown `batch_maximum`."""

Transfer = TypeVar("Transfer", BankTransfer, WalletTransfer)

_FIRST_ACTIVITIES = {
    FIAT: (
        ("Disburse requested", "The disbursement was accepted."),
        ("Recipient validated", "The recipient's bank account can be paid."),
    ),
    CRYPTO: (("Sent to recipient wallet", "The transfer was handed to the network."),),
}


@dataclass(frozen=True)
class FeeTerms:
    """The fees of one transfer; `network` is the chain's fee, 0 for a bank."""

    flat: Decimal
    percentage: Decimal
    network: Decimal = Decimal(0)


def fee_of(terms: FeeTerms, amount: Decimal, currency: str) -> Decimal:
    share = EXACT.multiply(amount, terms.percentage.scaleb(-2, EXACT))
    return rounded(total([terms.flat, terms.network, share]), currency)


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Sum amounts exactly."""
    result = Decimal(0)
    for amount in amounts:
        result = EXACT.add(result, amount)
    return result


@dataclass(frozen=True)
class BatchItem:
    """A checked item of a request; its amount is a whole number of the currency's smallest unit."""

    currency: str
    amount: Decimal
    terms: FeeTerms
    reference: str | None
    note: str | None
    transfer: Any
    """Where the money goes: a new row of the kind's table, without the disbursement's id."""


def check_size(field: str, items: Sequence[object]) -> None:
    maximum = int(assumption("batch_maximum"))
    if len(items) > maximum:
        raise FieldError(f"{field} must hold at most {maximum} items; send the rest in further requests.")


def store_batch(
    session: Session, kind: str, user_id: str, field: str, items: Sequence[BatchItem], *, grouped: bool = True
) -> list[Disbursement]:
    """Store the disbursements of a request, and return them in its order.

    Where the unknown `known_reference` says so, an item whose reference was used for the same kind, currency, amount
    and payee is answered by the disbursement that it made.

    :param field: the name of the request's list, for error messages.
    :param grouped: whether they get a group id, which the first version of the operation does not have.
    :raises FieldError: a reference cannot be used."""
    # Two batches that share references could deadlock on each other's rows.
    everybody = assumption("reference_scope") == "service"
    accounts = select(Account.user_id).where(true() if everybody else Account.user_id == user_id)
    session.execute(accounts.order_by(Account.user_id).with_for_update(key_share=True))
    _check_distinct(field, items)
    known = _made_before(session, kind, user_id, field, items, grouped=grouped)
    new = [item for item in items if item.reference not in known]
    made = list(_made(session, kind, user_id, new, new_id(session) if grouped else None))
    session.add_all(made)
    try:
        session.flush()
    except IntegrityError:
        raise FieldError(f"{field} has a reference that was used before; give every disbursement its own.") from None
    for one, item in zip(made, new, strict=True):
        item.transfer.disbursement_id = one.id
        session.add(item.transfer)
        for activity, description in _FIRST_ACTIVITIES[kind]:
            note(session, one, activity, description)
    session.flush()
    following = iter(made)
    return [known[item.reference] if item.reference in known else next(following) for item in items]


def transfers_of(session: Session, table: type[Transfer], disbursements: Iterable[Disbursement]) -> dict[str, Transfer]:
    """Where the money of these disbursements went, by their ids; one query."""
    ids = [made.id for made in disbursements]
    return {row.disbursement_id: row for row in session.scalars(select(table).where(table.disbursement_id.in_(ids)))}


def _check_distinct(field: str, items: Sequence[BatchItem]) -> None:
    places: dict[str, int] = {}
    for place, item in enumerate(items):
        if item.reference is not None and places.setdefault(item.reference, place) != place:
            raise FieldError(
                f"{field}[{place}].reference is that of {field}[{places[item.reference]}] too;"
                " give every disbursement its own."
            )


def _made_before(
    session: Session, kind: str, user_id: str, field: str, items: Sequence[BatchItem], *, grouped: bool
) -> dict[str | None, Disbursement]:
    """The disbursements that have a reference of these already. :raises FieldError: one may not be used again."""
    references = [item.reference for item in items if item.reference is not None]
    within = {
        "account": Disbursement.user_id == user_id,
        "kind": (Disbursement.user_id == user_id) & (Disbursement.kind == kind),
        "service": true(),
    }
    used = select(Disbursement).where(within[assumption("reference_scope")], Disbursement.reference.in_(references))
    known = {made.reference: made for made in session.scalars(used)}
    if not known:
        return {}
    transfers = transfers_of(session, type(items[0].transfer), known.values())
    for place, item in enumerate(items):
        made = known.get(item.reference)
        if made is None:
            continue
        if assumption("known_reference") == "refused":
            raise FieldError(f"{field}[{place}].reference was used before; give every disbursement its own.")
        was = made.user_id, made.kind, made.currency, made.amount, made.group_id is not None
        now = user_id, kind, item.currency, item.amount, grouped
        if was != now or not transfers[made.id].goes_where(item.transfer):
            raise FieldError(f"{field}[{place}].reference was used before, for a disbursement that is not the same.")
    return known


def _made(
    session: Session, kind: str, user_id: str, items: Sequence[BatchItem], group_id: str | None
) -> Iterator[Disbursement]:
    now = current_time()
    for item, disbursement_id in zip(items, new_ids(session, len(items)), strict=True):
        yield Disbursement(
            id=disbursement_id,
            kind=kind,
            user_id=user_id,
            group_id=group_id,
            currency=item.currency,
            amount=item.amount,
            fee_amount=fee_of(item.terms, item.amount, item.currency),
            fee_percentage=item.terms.percentage,
            reference=item.reference,
            note=item.note,
            status=PENDING,
            created_at=now,
            updated_at=now,
        )

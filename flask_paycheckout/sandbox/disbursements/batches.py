"""Batches: all items of a request are stored in one transaction or none, and no reference is used twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NoReturn

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.disbursements.fees import FeeTerms, fee_of
from flask_paycheckout.sandbox.disbursements.history import begin_history
from flask_paycheckout.sandbox.disbursements.tables import PENDING, Disbursement
from flask_paycheckout.sandbox.wire.parsing import FieldError
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.ids import new_id, new_ids

MAX_ITEMS = 1000
"""The largest value of the unknown `batch_maximum`."""


@dataclass(frozen=True)
class BatchItem:
    """A checked item of a request; its amount is a whole number of the currency's smallest unit."""

    currency: str
    amount: Decimal
    terms: FeeTerms
    reference: str | None
    note: str | None


@dataclass(frozen=True)
class StoredBatch:
    """The disbursements of a request in its order, and the ids of those that an earlier request made."""

    disbursements: list[Disbursement]
    known: frozenset[str]


def check_size(field: str, items: Sequence[object]) -> None:
    maximum = int(assumption("batch_maximum"))
    if len(items) > maximum:
        raise FieldError(f"{field} must hold at most {maximum} items; send the rest in further requests.")


def store_batch(
    session: Session, kind: str, user_id: str, field: str, orders: Sequence[BatchItem], *, grouped: bool
) -> StoredBatch:
    """Store the disbursements of a request.

    Where the unknown `known_reference` says so, an item whose reference was used for the same kind, currency and amount
    is answered by the disbursement that it made. The caller compares where the money goes.

    :param field: the name of the request's list, for error messages.
    :param grouped: whether they get a group id, which the first version of the operation does not have."""
    _wait_for_other_batches(session, user_id)
    _check_distinct(field, orders)
    known = _made_before(session, kind, user_id, field, orders)
    new = [order for order in orders if order.reference not in known]
    made = list(_made(session, kind, user_id, new, new_id(session) if grouped else None))
    session.add_all(made)
    try:
        session.flush()
    except IntegrityError:
        raise FieldError(f"{field} has a reference that was used before; give every disbursement its own.") from None
    session.add_all(begin_history(made))
    session.flush()
    following = iter(made)
    together = [known[order.reference] if order.reference in known else next(following) for order in orders]
    return StoredBatch(together, frozenset(one.id for one in known.values()))


def group_of(made: Disbursement) -> str:
    """The group id of a disbursement. :raises LookupError: it has none."""
    if made.group_id is None:
        raise LookupError(f"the disbursement {made.id} has no group")
    return made.group_id


def _wait_for_other_batches(session: Session, user_id: str) -> None:
    """Lock the account, because two batches that share references could deadlock on each other's rows."""
    session.execute(select(Account.user_id).where(Account.user_id == user_id).with_for_update(key_share=True))


def _check_distinct(field: str, orders: Sequence[BatchItem]) -> None:
    places: dict[str, int] = {}
    for place, order in enumerate(orders):
        if order.reference is not None and places.setdefault(order.reference, place) != place:
            raise FieldError(
                f"{field}[{place}].reference is that of {field}[{places[order.reference]}] too;"
                " give every disbursement its own."
            )


def _made_before(
    session: Session, kind: str, user_id: str, field: str, orders: Sequence[BatchItem]
) -> dict[str | None, Disbursement]:
    """The disbursements that have a reference of these already. :raises FieldError: one may not be used again."""
    references = [order.reference for order in orders if order.reference is not None]
    rows = session.scalars(
        select(Disbursement).where(Disbursement.user_id == user_id, Disbursement.reference.in_(references))
    )
    known = {made.reference: made for made in rows}
    for place, order in enumerate(orders):
        made = known.get(order.reference)
        if made is None:
            continue
        if assumption("known_reference") == "refused":
            raise FieldError(f"{field}[{place}].reference was used before; give every disbursement its own.")
        if (made.kind, made.currency, made.amount) != (kind, order.currency, order.amount):
            refuse_other_content(field, place)
    return known


def refuse_other_content(field: str, place: int) -> NoReturn:
    raise FieldError(f"{field}[{place}].reference was used before, for a disbursement that is not the same.")


def _made(
    session: Session, kind: str, user_id: str, orders: Sequence[BatchItem], group_id: str | None
) -> Iterator[Disbursement]:
    now = world().clock.now()
    for order, disbursement_id in zip(orders, new_ids(session, len(orders)), strict=True):
        yield Disbursement(
            id=disbursement_id,
            kind=kind,
            user_id=user_id,
            group_id=group_id,
            currency=order.currency,
            amount=order.amount,
            fee_amount=fee_of(order.terms, order.amount, order.currency),
            fee_percentage=order.terms.percentage,
            reference=order.reference,
            note=order.note,
            status=PENDING,
            created_at=now,
            updated_at=now,
        )

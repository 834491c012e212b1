"""Request and records that both kinds of disbursements share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.tables import MAX_STATUS, Disbursement, DisbursementActivity
from flask_paycheckout.sandbox.wire.field_types import Text
from flask_paycheckout.sandbox.wire.schemas import Record, Timestamp

Represent = TypeVar("Represent", bound=Callable[[Session, Sequence[Disbursement]], Sequence[Record]])

_REPRESENT: dict[str, Callable[[Session, Sequence[Disbursement]], Sequence[Record]]] = {}


class Activity(Record, frozen=True):
    """One entry of `activityHistory`."""

    activity: str
    status: str
    description: str
    updated_at: Timestamp


def represent_history(entries: Iterable[DisbursementActivity]) -> list[Activity]:
    return [Activity(entry.activity, entry.status, entry.description, entry.updated_at) for entry in entries]


@dataclass(frozen=True)
class DisbursementUpdate:
    """The body of the sandbox update."""

    status: Annotated[str, Text(MAX_STATUS)]


def represents(kind: str) -> Callable[[Represent], Represent]:
    """Register the function that writes disbursements of a kind, so that shared code need not import the kinds."""

    def register(function: Represent) -> Represent:
        _REPRESENT[kind] = function
        return function

    return register


def represent(session: Session, made: Disbursement) -> Record:
    """Convert a disbursement to the record of its kind."""
    return _REPRESENT[made.kind](session, [made])[0]

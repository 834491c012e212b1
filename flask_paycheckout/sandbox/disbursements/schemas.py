"""Request and records that both kinds of disbursements share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, TypeVar

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.tables import MAX_STATUS, Disbursement, DisbursementActivity
from flask_paycheckout.sandbox.wire.field_types import Text
from flask_paycheckout.sandbox.wire.schemas import Record, Timestamp
from flask_paycheckout.sandbox.world.context import assumption

Represent = TypeVar("Represent", bound=Callable[[Session, Sequence[Disbursement]], Sequence[Record]])

_REPRESENT: dict[str, Callable[[Session, Sequence[Disbursement]], Sequence[Record]]] = {}


_DATE = "$date"


class Activity(Record, frozen=True):
    """One entry of `activityHistory`."""

    activity: str
    status: str
    description: str
    updated_at: Timestamp | dict[str, Timestamp]
    """The interface calls it an object, and shows a time."""

    @property
    def moment(self) -> datetime:
        return self.updated_at[_DATE] if isinstance(self.updated_at, dict) else self.updated_at


def represent_history(entries: Iterable[DisbursementActivity]) -> list[Activity]:
    is_object = assumption("activity_updated_at") == "object"
    return [
        Activity(
            entry.activity,
            entry.status,
            entry.description,
            {_DATE: entry.updated_at} if is_object else entry.updated_at,
        )
        for entry in entries
    ]


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

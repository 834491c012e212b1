"""Errors of the database: their kind, their text without the affected row, and their remedy."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeGuard

from sqlalchemy.exc import (
    DBAPIError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
    TimeoutError as NoFreeConnection,
)

from flask_paycheckout.text import first_line, reply_of

# SQLSTATEs of PostgreSQL: the server rolled the transaction back because of another one; it may be retried.
_SERIALIZATION_FAILURE, _DEADLOCK_DETECTED = "40001", "40P01"
# The class of SQLSTATEs for a row that violates a constraint.
_REFUSED_ROW = "23"
# An unknown table or column: the SQLSTATEs of PostgreSQL, and SQLite's messages, which share a code with other faults.
_UNKNOWN_NAME = ("42P01", "42703")
_UNKNOWN_TEXT = re.compile("no such (table|column)|has no column")

MIGRATE = "Bring the tables up to date: flask db migrate and flask db upgrade, or db.create_all() in a new database."


def is_lost_race(error: BaseException) -> bool:
    """Whether the transaction was rolled back because of another one: a serialization failure or a deadlock."""
    return isinstance(error, DBAPIError) and _code_of(error) in (_SERIALIZATION_FAILURE, _DEADLOCK_DETECTED)


def is_lock_timeout(error: BaseException) -> bool:
    """Whether another transaction held a lock for longer than this transaction's lock timeout."""
    return trouble_of(error) is _LOCKED


def is_passing(error: BaseException) -> bool:
    """Whether the statement is not at fault, so that a retry succeeds once the database's trouble is over."""
    return trouble_of(error) is not None or is_lost_race(error)


def is_refused_row(error: BaseException) -> TypeGuard[DBAPIError]:
    """Whether a row violates a constraint; pg8000 raises `IntegrityError` only for unique constraints."""
    if not isinstance(error, DBAPIError):
        return False
    return isinstance(error, IntegrityError) or _class_of(error) == _REFUSED_ROW


def lacks_payment_table(error: BaseException) -> TypeGuard[DBAPIError]:
    """Whether a table or column of a statement about payment tables does not exist."""
    if not isinstance(error, DBAPIError) or "paycheckout_" not in str(error.statement):
        return False
    return _code_of(error) in _UNKNOWN_NAME or _UNKNOWN_TEXT.search(first_line(error)) is not None


def cut_row(error: DBAPIError) -> None:
    """Cut an error's message, and the driver's message in it, to its first line, and hide the parameters."""
    error.hide_parameters = True
    reply = reply_of(error.orig)
    # pg8000 raises its error while handling another error with the same reply; keep the code, which is needed later.
    for each in filter(None, (error, error.orig, error.orig and error.orig.__context__)):
        if reply_of(each):
            each.args = ({field: text for field, text in reply.items() if field in ("C", "M")},)
        else:
            each.args = tuple(reply.get("M") or str(argument).partition("\n")[0] for argument in each.args)


def _code_of(error: DBAPIError) -> str | int | None:
    """PostgreSQL's SQLSTATE of an error, or SQLite's primary code; None for an error without a code."""
    # The attributes of psycopg and psycopg2, and the field of pg8000.
    state: str | None = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)
    state = state or reply_of(error.orig).get("C")
    code: int | None = getattr(error.orig, "sqlite_errorcode", None)
    # SQLite's extended codes have further bits above the lowest eight.
    return state or (None if code is None else code & 0xFF)


def _class_of(error: DBAPIError) -> str | None:
    """The first two characters of a SQLSTATE; None for an error of SQLite, or one without a code."""
    code = _code_of(error)
    return code[:2] if isinstance(code, str) else None


class Trouble(NamedTuple):
    """The reason why the database does not answer, and its remedy, in words for the shop's people."""

    found: str
    remedy: str


READ_ONLY = Trouble(
    "the database is read-only, so no payment can be recorded",
    "Send the shop to the primary: it is connected to a replica, or a person or the provider made the database"
    " read-only, mostly because its disk is full. What arrives meanwhile is found by reconcile afterwards.",
)
_FULL = Trouble(
    "the disk of the database is full, so no payment can be recorded",
    "Make room on it, and start the database again if it has stopped. What arrives meanwhile is found by reconcile"
    " afterwards.",
)
_AWAY = Trouble("the database cannot be reached", "Start it, or correct SQLALCHEMY_DATABASE_URI.")
_CLOSED = Trouble(
    "the database closed the connection: it was restarted, or another server took over",
    "The next call connects again; if that fails, start the database.",
)
_LOCKED = Trouble(
    "another transaction keeps what is needed locked",
    "End it: in PostgreSQL, pg_stat_activity lists transactions that are open for long; SQLite has one writer at a"
    " time.",
)
_SLOW = Trouble(
    "the database took longer than its statement_timeout allows",
    "Find what keeps it busy or locked: in PostgreSQL, see pg_stat_activity.",
)
_CROWDED = Trouble(
    "no connection to the database is free",
    "Let the database take more of them, start fewer processes, or find what keeps connections open.",
)
_POOLED = Trouble(
    "statements were prepared on another connection: a pooler such as PgBouncer stands before the database",
    'Set SQLALCHEMY_ENGINE_OPTIONS = {"connect_args": {"prepare_threshold": None}}.',
)
_UNSAVED = Trouble(
    "the database's files cannot be opened, read or written",
    "See its disk, and the permissions of the files and their folder.",
)
_SHORT = Trouble(
    "the database lacks memory, or has reached another of its limits",
    "Its log names what it lacks. What arrives meanwhile is found by reconcile afterwards.",
)

_BY_CODE: dict[str | int | None, Trouble] = {
    "25006": READ_ONLY,
    "53100": _FULL,
    "53300": _CROWDED,
    "55P03": _LOCKED,
    "57014": _SLOW,
    "57P03": _AWAY,
    "26000": _POOLED,
    "42P05": _POOLED,
    # The server does not know the database, the role, or its password; psycopg has no codes for these errors.
    **{"3D000": _AWAY, "28": _AWAY},
    # The classes of PostgreSQL's other codes: connections, resources, operator intervention, and system errors.
    **{"08": _CLOSED, "53": _SHORT, "57": _CLOSED, "58": _UNSAVED},
    # SQLite's primary codes.
    **{5: _LOCKED, 6: _LOCKED, 7: _SHORT, 8: READ_ONLY, 10: _UNSAVED, 13: _FULL, 14: _UNSAVED},
}
"""The troubles by code, or by the first two characters of a code that is not listed."""


def trouble_of(error: BaseException) -> Trouble | None:
    """The trouble that an error of the database reports; None if the statement itself is at fault."""
    if isinstance(error, NoFreeConnection):
        return _CROWDED
    if not isinstance(error, DBAPIError):
        return None
    code = _code_of(error)
    trouble = _BY_CODE.get(code) or _BY_CODE.get(_class_of(error))
    if trouble is not None:
        return trouble
    if error.connection_invalidated:
        return _CLOSED
    # Only a failed connection attempt has an error without a code, or, with pg8000, one caused by the socket's error.
    never_made = isinstance(error, OperationalError) or isinstance(getattr(error.orig, "__cause__", None), OSError)
    return _AWAY if never_made and code is None else None


def database_text(error: SQLAlchemyError) -> str:
    """The database's error message, shortened to one line, after its meaning for the shop if that is known."""
    message, trouble = first_line(error)[:200], trouble_of(error)
    return f"{trouble.found} ({message})" if trouble else message


def is_unavailable(error: BaseException) -> bool:
    """Whether the database cannot serve this call now, through no fault of the statement."""
    return isinstance(error, (OperationalError, InterfaceError)) or trouble_of(error) is not None

"""Errors of the database: their kind, their text without the affected row, and what people can do about them."""

from __future__ import annotations

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

# SQLSTATEs of PostgreSQL: the server rolled the transaction back because of another one, and it may be repeated.
_SERIALIZATION_FAILURE, _DEADLOCK_DETECTED = "40001", "40P01"
# The class of those with which a constraint refuses a row.
_REFUSED_ROW = "23"


def is_lost_race(error: BaseException) -> bool:
    """Whether the transaction was rolled back because of another one: a serialization failure or a deadlock."""
    return isinstance(error, DBAPIError) and _code_of(error) in (_SERIALIZATION_FAILURE, _DEADLOCK_DETECTED)


def is_lock_timeout(error: BaseException) -> bool:
    """Whether another transaction kept a row or the database locked for longer than this one waits."""
    return trouble_of(error) is _LOCKED


def is_passing(error: BaseException) -> bool:
    """Whether the statement is not at fault, so that the same call succeeds once a trouble of the database is over."""
    return trouble_of(error) is not None or is_lost_race(error)


def is_refused_row(error: BaseException) -> TypeGuard[DBAPIError]:
    """Whether a constraint refuses a row; of pg8000's errors only violations of unique ones are an `IntegrityError`."""
    if not isinstance(error, DBAPIError):
        return False
    return isinstance(error, IntegrityError) or _class_of(error) == _REFUSED_ROW


def cut_row(error: DBAPIError) -> None:
    """Cut an error's message, and the driver's message in it, to its first line, and hide the parameters."""
    error.hide_parameters = True
    reply = reply_of(error.orig)
    # pg8000 raises its error while it handles another one with the same reply, whose code tells later what it was.
    for one in filter(None, (error, error.orig, error.orig and error.orig.__context__)):
        if reply_of(one):
            one.args = ({field: text for field, text in reply.items() if field in ("C", "M")},)
        else:
            one.args = tuple(reply.get("M") or str(argument).partition("\n")[0] for argument in one.args)


def _code_of(error: DBAPIError) -> str | int | None:
    """PostgreSQL's SQLSTATE of an error, or SQLite's primary code of it; None when the error has none."""
    # The names in psycopg and in psycopg2, and the field in pg8000.
    state: str | None = getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)
    state = state or reply_of(error.orig).get("C")
    code: int | None = getattr(error.orig, "sqlite_errorcode", None)
    # SQLite's extended codes have further bits above the lowest eight.
    return state or (None if code is None else code & 0xFF)


def _class_of(error: DBAPIError) -> str | None:
    """The first two characters of a SQLSTATE; None for an error of SQLite, or without a code."""
    code = _code_of(error)
    return code[:2] if isinstance(code, str) else None


class Trouble(NamedTuple):
    """The reason why the database does not answer, in words for the shop's people."""

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
    # The server knows no such database, or not this role or its password; psycopg has no codes of these.
    **{"3D000": _AWAY, "28": _AWAY},
    # The classes of PostgreSQL's other codes: connections, resources, acts of its operator, and its system.
    **{"08": _CLOSED, "53": _SHORT, "57": _CLOSED, "58": _UNSAVED},
    # SQLite's.
    **{5: _LOCKED, 6: _LOCKED, 7: _SHORT, 8: READ_ONLY, 10: _UNSAVED, 13: _FULL, 14: _UNSAVED},
}
"""By code, or by the first two characters of one that is not here."""


def trouble_of(error: BaseException) -> Trouble | None:
    """The trouble that an error of the database tells of; None when the statement itself is at fault."""
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
    # Only a connection that was never made has an error without a code, or in pg8000 one that came of the socket's.
    never_made = isinstance(error, OperationalError) or isinstance(getattr(error.orig, "__cause__", None), OSError)
    return _AWAY if never_made and code is None else None


def database_text(error: SQLAlchemyError) -> str:
    """The database's error message, shortened to one line, after what it means for the shop where that is known."""
    told, trouble = first_line(error)[:200], trouble_of(error)
    return f"{trouble.found} ({told})" if trouble else told


def is_unavailable(error: BaseException) -> bool:
    """Whether the database cannot serve this call now, through no fault of the statement."""
    return isinstance(error, (OperationalError, InterfaceError)) or trouble_of(error) is not None

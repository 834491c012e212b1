"""Classification of database errors, and their text without the affected row."""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

# SQLSTATEs of PostgreSQL: the server rolled the transaction back because of another one, and it may be repeated.
_SERIALIZATION_FAILURE, _DEADLOCK_DETECTED = "40001", "40P01"
_LOCK_NOT_AVAILABLE = "55P03"
# SQLITE_BUSY and SQLITE_LOCKED.
_SQLITE_LOCKED = (5, 6)


def is_lost_race(error: BaseException) -> bool:
    """Whether the transaction was rolled back because of another one: a serialization failure or a deadlock."""
    return isinstance(error, OperationalError) and sqlstate(error) in (_SERIALIZATION_FAILURE, _DEADLOCK_DETECTED)


def is_lock_timeout(error: BaseException) -> bool:
    """Whether another transaction kept a row or the database locked for longer than this one waits."""
    if not isinstance(error, OperationalError):
        return False
    return sqlstate(error) == _LOCK_NOT_AVAILABLE or sqlite_code(error) in _SQLITE_LOCKED


def is_passing(error: BaseException) -> bool:
    """Whether the same call will probably succeed a little later."""
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    return lost or is_lost_race(error) or is_lock_timeout(error)


def first_line(error: BaseException) -> str:
    """The first line of the driver's message, without SQLAlchemy's statement and PostgreSQL's refused row."""
    message = str(getattr(error, "orig", None) or error).partition("\n")[0]
    return f"{type(error).__name__}: {message}"


def without_row(error: IntegrityError) -> IntegrityError:
    """Copy an error with only the first line of its message, as the refused row contains the payment URL.

    Raise the copy outside of the handler, or the original would be its context.
    """
    orig: Any = error.orig
    return IntegrityError(error.statement, None, type(orig)(str(orig).partition("\n")[0]), hide_parameters=True)


def sqlstate(error: DBAPIError) -> str | None:
    """PostgreSQL's code of an error."""
    # The names in psycopg and in psycopg2.
    return getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)


def sqlite_code(error: DBAPIError) -> int | None:
    """SQLite's primary code of an error; extended codes have further bits above the lowest eight."""
    code: int | None = getattr(error.orig, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF

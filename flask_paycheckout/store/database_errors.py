"""Which errors of the database mean that another transaction was first, and how an error is shown without a row."""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

__all__ = ["first_line", "is_lock_timeout", "is_lost_race", "is_passing", "without_row"]

# SQLSTATE of PostgreSQL: the server took the transaction back because of another one; it may simply be tried again.
_SERIALIZATION_FAILURE, _DEADLOCK_DETECTED = "40001", "40P01"
_LOCK_NOT_AVAILABLE = "55P03"
# The primary codes of SQLITE_BUSY and SQLITE_LOCKED; extended codes hold more in their higher bits.
_SQLITE_LOCKED = (5, 6)


def is_lost_race(error: BaseException) -> bool:
    """Whether the transaction was ended in favour of another one: under a stricter isolation level, or a deadlock."""
    return isinstance(error, OperationalError) and _state(error) in (_SERIALIZATION_FAILURE, _DEADLOCK_DETECTED)


def is_lock_timeout(error: BaseException) -> bool:
    """Whether another transaction kept a row or the database locked for longer than this one waits."""
    if not isinstance(error, OperationalError):
        return False
    code = getattr(error.orig, "sqlite_errorcode", None)
    return _state(error) == _LOCK_NOT_AVAILABLE or (code is not None and code & 0xFF in _SQLITE_LOCKED)


def is_passing(error: BaseException) -> bool:
    """Whether the same call may well succeed a little later, without anybody's doing."""
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    return lost or is_lost_race(error) or is_lock_timeout(error)


def first_line(error: BaseException) -> str:
    """The database's own words on one line; SQLAlchemy adds the statement, and PostgreSQL the row that it refused."""
    said = str(getattr(error, "orig", None) or error).partition("\n")[0]
    return f"{type(error).__name__}: {said}"


def without_row(error: IntegrityError) -> IntegrityError:
    """A copy of the error that says only the first line of the database's words: the row would show the payment URL.

    Raise it outside of the handler, so that the original does not come along as its context.
    """
    orig: Any = error.orig
    return IntegrityError(error.statement, None, type(orig)(str(orig).partition("\n")[0]), hide_parameters=True)


def _state(error: OperationalError) -> str | None:
    # As psycopg and as psycopg2 call it.
    return getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)

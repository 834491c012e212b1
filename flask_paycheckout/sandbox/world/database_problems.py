"""Error messages for databases that cannot be used: one line, which ends with the remedy.

The URL is never part of a message, because it contains a password; the driver's message names host, user and database.
"""

from __future__ import annotations

from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from flask_paycheckout.sandbox.world.database import read_url

_FORMS = (
    "Write sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %40 for @ and %2F for / in a password."
)
_BACKENDS = ("sqlite", "postgresql", "postgres")
_HIDDEN = "***"

_ROOM = "Make room on the disk of the database."
# Part of a message of PostgreSQL, its driver or SQLite, and the remedy; the first match counts.
_REMEDIES = (
    ("password authentication failed", "Correct the user or the password in the address."),
    ("no password supplied", "Put the password into the address: postgresql://USER:PASSWORD@HOST:PORT/DATABASE."),
    ('role "', "Make that user with createuser, or name another one in the address."),
    ("failed to resolve", "Correct the host in the address."),
    # psycopg 3.2.1 passes on this message of the system.
    ("name or service not known", "Correct the host in the address."),
    ("connection refused", "Start the server, or correct host and port in the address."),
    ("no such file", "Start the server, or correct the host in the address."),
    ("timeout", "Start the server, or correct host and port in the address."),
    ("permission denied", "Let the user make tables there, or take a database that belongs to it."),
    ("column ", "The tables are those of another version; take an empty database."),
    ("no such column", "The tables are those of another version; take an empty database."),
    ('database "', "Make that database with createdb, or name another one in the address."),
    ("unable to open database file", "Make its directory first, and let this user write to it."),
    ("file is not a database", "Name another file, or none yet."),
    ("disk is full", _ROOM),
    ("no space left", _ROOM),
)
_USUAL_REMEDY = "Check the server, and every part of the address."


class DatabaseUnusable(Exception):
    """The database cannot be used; the message is one line without secrets."""


def is_disk_full(error: Exception) -> bool:
    """Whether a statement failed because the database has no room left."""
    return isinstance(error, DBAPIError) and _remedy(_words(error)) == _ROOM


def explain_failure(database: str, error: SQLAlchemyError | ImportError) -> DatabaseUnusable:
    """Explain an error of the database with this URL."""
    fault = _fault_of(database)
    if fault is not None:
        return DatabaseUnusable(f"{fault} {_FORMS}")
    if isinstance(error, ImportError):
        missing = error.name or "psycopg"
        return DatabaseUnusable(
            f"the database's driver, the package {missing!r}, cannot be imported."
            " Install flask-paycheckout[postgres], and begin the address with postgresql://."
        )
    words = _without_password(_words(error), read_url(database))
    return DatabaseUnusable(f"the database cannot be used: {words.rstrip('.')}. {_remedy(words)}")


def _fault_of(database: str) -> str | None:
    try:
        backend = read_url(database).get_backend_name()
    except ArgumentError:
        # The parser's own message may contain a part of the password.
        return "the address of the database cannot be read."
    return None if backend in _BACKENDS else f"a sandbox cannot live in a database of the kind {backend!r}."


def _words(error: SQLAlchemyError) -> str:
    # The following lines are advice for developers of drivers and statements.
    told = str(error.orig if isinstance(error, DBAPIError) else error)
    return told.strip().partition("\n")[0]


def _without_password(words: str, url: URL) -> str:
    return words.replace(str(url.password), _HIDDEN) if url.password else words


def _remedy(words: str) -> str:
    found = (remedy for part, remedy in _REMEDIES if part in words.casefold())
    return next(found, _USUAL_REMEDY)

"""Errors of a database that cannot be used, each as one line with a remedy.

The URL is never part of a message, because it contains a password; the driver's message names host, user and database.
"""

from __future__ import annotations

from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from flask_paycheckout.sandbox.world.database import read_url

_FORMS = (
    "Write sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %40 for @ and %2F for / in a password."
)
_BACKENDS = ("sqlite", "postgresql", "postgres")
_REMEDY = "Check the server, its user, and every part of the address. Tables of another version need an empty database."


class DatabaseUnusable(Exception):
    """The database cannot be used; the message is one line without secrets."""


def explain_failure(database: str, error: SQLAlchemyError | ImportError) -> DatabaseUnusable:
    """Explain an error of the database with this URL."""
    try:
        url = read_url(database)
    except ArgumentError:
        # The parser's own message may contain a part of the password.
        return DatabaseUnusable(f"the address of the database cannot be read. {_FORMS}")
    if url.get_backend_name() not in _BACKENDS:
        return DatabaseUnusable(f"a sandbox cannot live in a database of the kind {url.get_backend_name()!r}. {_FORMS}")
    if isinstance(error, ImportError):
        return DatabaseUnusable(
            f"the database's driver, the package {error.name or 'psycopg'!r}, cannot be imported."
            " Install flask-paycheckout[postgres], and begin the address with postgresql://."
        )
    # The following lines are advice for developers of drivers and statements.
    reason = str(error.orig if isinstance(error, DBAPIError) else error).strip().partition("\n")[0].rstrip(".")
    if url.password:
        reason = reason.replace(str(url.password), "***")
    return DatabaseUnusable(f"the database cannot be used: {reason}. {_REMEDY}")

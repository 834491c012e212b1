"""After a failover: connections to a database that has become read-only are replaced, as broken ones are."""

from __future__ import annotations

from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext

from flask_paycheckout.database.troubles import is_read_only


def replace_read_only_connections(engine: Engine) -> None:
    """Let the pool drop its connections when one of them turns out to be read-only.

    A connection to a server that became a replica works on for reading, so the pool would keep it for ever.
    """
    if engine.dialect.name == "postgresql":
        # SQLAlchemy ignores a listener that is added twice.
        event.listen(engine, "handle_error", _on_error)


def _on_error(context: ExceptionContext) -> None:
    error = context.sqlalchemy_exception
    if error is not None and is_read_only(error):
        context.is_disconnect = True

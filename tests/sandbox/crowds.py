"""A world with many rows of everything, to ask databases for their plans, and pages for their size."""

from __future__ import annotations

import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.world.database import Table, UtcTime, db, transaction
from tests.sandbox.actors import CONTROL_TOKEN, ENDPOINT, Receiver

#: Disbursements, with what belongs to them; mails and requests, which are long; and everything else.
ROWS = 100_000
FEW = 1000
FEWER = 20_000

_NUMBERS = "WITH RECURSIVE made(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM made WHERE n < :rows) "
_FIRST = 100_000_000_000_000_000
_ID = f"'5a6d00' || CAST({_FIRST} + n AS VARCHAR)"
# A thousand things happened to the first one.
_OF = f"CASE WHEN n <= {FEW} THEN '5a6d00{_FIRST + 1}' ELSE {_ID} END"
_LONG = f"'{'x' * 4000}'"
_KEY = f"'{'0' * 29}' || CAST(1000000000 + n AS VARCHAR) || '.{'0' * 18}'"
_CURRENCY = "CASE n % 3 WHEN 0 THEN 'USD' WHEN 1 THEN 'EUR' ELSE 'JPY' END"
_STATUS = "CASE n % 4 WHEN 0 THEN 'pending' WHEN 1 THEN 'failed' ELSE 'completed' END"
_NAME = "'person ' || CAST(n AS VARCHAR)"
#: So far ahead that nothing falls due, which would change what was filled in.
_DAY = "2126-01-01"

#: What differs from row to row; every other column that must have a value has the same one in all rows.
_TABLES = {
    "disbursement": {
        **{"id": _ID, "kind": "'fiat'", "currency": _CURRENCY, "status": _STATUS},
        "reference": "'r-' || CAST(n AS VARCHAR)",
    },
    "bank_transfer": {"disbursement_id": _ID},
    "activity": {"about": _OF, "description": f"'{'d' * 200}'"},
    "recipient": {
        **{"id": _ID, "name_key": _NAME, "email_key": _NAME, "currency": _CURRENCY},
        "country": "CASE n % 5 WHEN 0 THEN 'France' ELSE 'Spain' END",
    },
    "payment": {
        **{"id": _ID, "status": _STATUS, "receiver_key": _NAME, "text_key": _NAME},
        **{"reason": "CASE n % 5 WHEN 0 THEN 'Rent' ELSE 'Wages' END", "input_key": _KEY, "output_key": _KEY},
        "blockchain": "CASE n % 5 WHEN 0 THEN 'stellar' ELSE 'polygon' END",
        "organization_id": "CASE n % 5 WHEN 0 THEN 'one' ELSE 'other' END",
        "organization_name": "CASE n % 5 WHEN 0 THEN 'One' ELSE 'Other' END",
    },
    "checkout": {"id": _ID, "input_amount": "'12.5'"},
    "deposit": {"id": _ID, "status": _STATUS, "reference": "'r-' || CAST(n AS VARCHAR)", "method": "'us_qr'"},
    "webhook": {
        **{"id": _ID, "order_id": _ID, "state": "CASE n % 100 WHEN 0 THEN 'waiting' ELSE 'delivered' END"},
        "payload": f"CASE WHEN n > {FEWER - 100} THEN {_LONG} ELSE '1' END",
    },
    "webhook_attempt": {"webhook_id": _OF, "url": f"'http://x/{'y' * 1900}'", "headers": "'{}'"},
    "mail": {"recipient": "'p' || CAST(n AS VARCHAR) || '@example.com'", "subject": f"'{'s' * 400}'", "text": _LONG},
    "logged_request": {"target": _LONG, "request_body": _LONG, "answer_body": _LONG, "status": "200"},
}


def id_of(number: int) -> str:
    """The id that the row of this number has in every table."""
    return f"5a6d00{_FIRST + number}"


def crowded_sandbox(database: str) -> Flask:
    """A sandbox on an empty database, filled, for tests that only read."""
    unknowns = {"deposit_after_expiry": "expired"}
    app = create_sandbox(
        database=database, control_token=CONTROL_TOKEN, webhook_url=ENDPOINT, send_webhook=Receiver(), unknowns=unknowns
    )
    with app.app_context():
        with transaction() as session:
            if session.get_bind().dialect.name == "postgresql":
                # The rows are right; asking after each foreign key takes longer than storing them.
                session.execute(sa.text("SET LOCAL session_replication_role = replica"))
            for name, columns in _TABLES.items():
                many = ROWS if name.startswith(("disbursement", "bank_transfer")) else FEWER
                rows = FEW if name in {"mail", "logged_request"} else many
                _fill(session, Table.metadata.tables[name], columns, rows)
        _tell_the_planner()
    return app


def _fill(session: Session, table: sa.Table, own: dict[str, str], rows: int) -> None:
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    columns = {
        column.name: own.get(column.name) or _usual(column, is_postgresql=is_postgresql)
        for column in table.columns
        # The number is given by the database.
        if column.name in own or not (column.nullable or column.primary_key)
    }
    names, values = ", ".join(columns), ", ".join(columns.values())
    insert = f"INSERT INTO {table.name} ({names}) {_NUMBERS} SELECT {values} FROM made"  # noqa: S608 - of our own words
    session.execute(sa.text(insert), {"rows": rows})


def _usual(column: sa.Column[object], *, is_postgresql: bool) -> str:
    if column.name == "user_id":
        return f"'{USER_ID}'"
    if isinstance(column.type, UtcTime):
        # Creation goes with the number; updates come in another order, and several in the same instant.
        return _moment("n % 1000" if column.name == "updated_at" else "n / 5", is_postgresql=is_postgresql)
    if isinstance(column.type, sa.Boolean):
        return "false"
    return "1" if isinstance(column.type, sa.Integer) else "'1'"


def _moment(seconds: str, *, is_postgresql: bool) -> str:
    if is_postgresql:
        return f"TIMESTAMPTZ '{_DAY} 00:00:00Z' + ({seconds}) * INTERVAL '1 second'"
    return f"datetime('{_DAY}', ({seconds}) || ' seconds') || '.000000'"


def _tell_the_planner() -> None:
    """Run VACUUM ANALYZE, which a server does by itself after a while."""
    with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE" if connection.dialect.name == "postgresql" else "ANALYZE")

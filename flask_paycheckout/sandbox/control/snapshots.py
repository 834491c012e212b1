"""Snapshots: the whole state of a sandbox as one file, to which it or another sandbox can return.

A snapshot is JSON: `{"format", "version", "digest", "state"}`. The state has the sandbox's time, the values of all
unknowns, and every row of every table, in types that do not depend on the database. It therefore holds the secrets of
the sandbox's accounts, and mails with one-time passwords.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from typing import Any

import msgspec
from sqlalchemy import Table as AnyTable, func, insert, null, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS
from flask_paycheckout.sandbox.world.context import World
from flask_paycheckout.sandbox.world.database import empty_tables, tables_of_world
from flask_paycheckout.sandbox.world.settings import WorldSettings, set_unknowns

MAX_BYTES = 32 * 1024 * 1024
"""The largest snapshot, 32 MiB."""
TOO_LARGE = f"larger than {MAX_BYTES // 1024**2} MiB"
FORMAT = "flask_paycheckout sandbox snapshot"
# Claims end by the machine's clock, and their holders do not come back with a snapshot. A world keeps its own control
# token in every restore.
_LEFT_OUT = ("claimed_until", "control_token")


class SnapshotFile(msgspec.Struct):
    """A snapshot as it is written."""

    format: str
    version: str
    digest: str
    state: msgspec.Raw


class _State(msgspec.Struct):
    now: str
    unknowns: dict[str, str]
    tables: dict[str, msgspec.Raw]


def take_snapshot(session: Session, world: World) -> bytes:
    """The state of the sandbox as a file. The transaction must be exclusive, so that all tables are of one moment.

    :raises CallRefused: it would be larger than `MAX_BYTES`.
    """
    tables = {table.name: _rows(session, table) for table in tables_of_world()}
    state = {"now": world.clock.now(), "unknowns": dict(world.unknowns), "tables": tables}
    # Libraries that freeze time have a datetime class of their own, which msgspec cannot encode.
    encoded = msgspec.json.encode(state, enc_hook=datetime.isoformat)
    digest = sha256(encoded).hexdigest()
    content = msgspec.json.encode(SnapshotFile(FORMAT, version(), digest, msgspec.Raw(encoded)))
    if len(content) > MAX_BYTES:
        remedy = "Remove accounts that you do not need, or copy the database with its own tools."
        raise CallRefused(409, "snapshot", f"would be {TOO_LARGE}", remedy)
    return content


def _rows(session: Session, table: AnyTable) -> list[tuple[Any, ...]]:
    columns = [null().label(column.name) if column.name in _LEFT_OUT else column for column in table.columns]
    return [tuple(row) for row in session.execute(select(*columns).order_by(*table.primary_key))]


def restore_snapshot(session: Session, world: World, content: bytes) -> None:
    """Return to the state of a snapshot. The transaction must be exclusive.

    Time goes on from the time of the snapshot. Whether the clock runs or is frozen, the control token, the address and
    the other options stay as the sandbox was started.

    :raises CallRefused: it cannot be restored; the transaction must be rolled back.
    """
    # The digest proves that a sandbox of this version wrote the state.
    state = msgspec.json.decode(_read(content), type=_State)
    began = session.get_one(WorldSettings, 1).began + 1
    _exchange_rows(session, state)
    settings = session.get_one(WorldSettings, 1)
    offset = datetime.fromisoformat(state.now) - world.clock.begin()
    settings.began = began
    settings.control_token = world.control_token if world.name else None
    settings.clock_offset = offset // timedelta(microseconds=1)
    set_unknowns(settings, world, state.unknowns)
    session.flush()
    world.clock.offset = offset
    world.any_fault_added = True
    world.has_seed = settings.seed is not None


def _refused(fault: str) -> CallRefused:
    remedy = "Send the whole file as it was taken, by a sandbox of this version; nothing was changed."
    return CallRefused(400, "snapshot", fault, remedy)


def _read(content: bytes) -> msgspec.Raw:
    """Read the state in a snapshot, which must be complete and of this version."""
    try:
        snapshot = msgspec.json.decode(content, type=SnapshotFile)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise _refused("is no snapshot of a sandbox, or is cut off") from None
    if snapshot.format != FORMAT:
        raise _refused("is no snapshot of a sandbox")
    if snapshot.version != version():
        raise _refused(f"is of another version: {snapshot.version[:40]}, where this sandbox has {version()}")
    if sha256(bytes(snapshot.state)).hexdigest() != snapshot.digest:
        raise _refused("is damaged: its content is not what its digest says")
    return snapshot.state


def _exchange_rows(session: Session, state: _State) -> None:
    empty_tables(session)
    connection = session.connection()
    for table in tables_of_world():
        names = [column.name for column in table.columns]
        rows = msgspec.json.decode(state.tables[table.name], type=_type_of_rows(table))
        if rows:
            connection.execute(insert(table), [dict(zip(names, row, strict=True)) for row in rows])
        if connection.dialect.name == "postgresql":
            _raise_sequence(session, table)


def _raise_sequence(session: Session, table: AnyTable) -> None:
    """Raise a table's sequence above its highest number.

    It is never lowered, because PostgreSQL does not roll sequences back when a transaction fails.
    """
    column = table.autoincrement_column
    highest = None if column is None else session.scalar(select(func.max(column)))
    if column is not None and highest is not None:
        sequence = func.pg_get_serial_sequence(table.name, column.name)
        session.execute(select(func.setval(sequence, func.greatest(func.nextval(sequence), highest))))


@cache
def version() -> str:
    """The version of snapshots: it differs when tables, columns or unknowns differ."""
    tables = [
        [table.name, [[column.name, str(column.type), column.nullable] for column in table.columns]]
        for table in tables_of_world()
    ]
    unknowns = [[unknown.name, *unknown.values] for unknown in ASSUMPTIONS]
    return sha256(json.dumps([1, tables, unknowns]).encode()).hexdigest()[:12]


def _type_of_rows(table: AnyTable) -> Any:
    kinds = [column.type.python_type | None if column.nullable else column.type.python_type for column in table.columns]
    return list[tuple[tuple(kinds)]]  # type: ignore[misc]  # made at run time

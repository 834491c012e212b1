"""The stored settings of a sandbox: seed, clock offset, changed unknowns, values for a reset; and its identifiers.

Identifiers are hexadecimal digits or UUIDs, opaque to callers. Without a seed they are random. With a seed, the n-th
identifier is always the same; their number is stored in the database, so that a restart continues the sequence.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from hashlib import blake2b
from uuid import UUID

from flask import g
from sqlalchemy import JSON, BigInteger, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.world.clock import LAST_DAY, Clock, ClockAtItsEnd
from flask_paycheckout.sandbox.world.context import World, assumption, world
from flask_paycheckout.sandbox.world.database import Table

_MICROSECOND = timedelta(microseconds=1)


class WorldSettings(Table):
    __tablename__ = "world_settings"

    id: Mapped[int] = mapped_column(primary_key=True, default=1)
    seed: Mapped[str | None]
    ids_given: Mapped[int] = mapped_column(BigInteger, default=0)
    clock_offset: Mapped[int] = mapped_column(BigInteger, default=0)
    """Microseconds that the virtual clock is ahead of the machine's."""
    began: Mapped[int] = mapped_column(BigInteger)
    """When the sandbox began, in microseconds; one more with each reset and restore, also while the clock stands."""
    control_token: Mapped[str | None]
    """The control token of a named world."""
    first_webhook_url: Mapped[str | None]
    """The first account's webhook URL to which a reset returns."""
    changed_unknowns: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    """Values of unknowns that differ from those at the start, by name."""


def follow(session: Session, world: World) -> None:
    """Read clock, unknowns and control token, if another process may have changed them."""
    if not world.shared_database:
        return
    columns = WorldSettings.clock_offset, WorldSettings.changed_unknowns, WorldSettings.control_token
    offset, changed_unknowns, control_token = session.execute(select(*columns)).one()
    if world.name and control_token:
        world.control_token = control_token
    world.clock.offset = offset * _MICROSECOND
    world.unknowns.take(changed_unknowns)


def change_unknowns(session: Session, world: World, values: Mapping[str, str | None]) -> None:
    """Change unknowns for all processes of this sandbox; None stands for the value at the start.

    :param values: existing values, by name.
    """
    # Locked, so that two changes happen one after the other.
    settings = session.get_one(WorldSettings, 1, with_for_update=True)
    merged = {**settings.changed_unknowns, **values}
    set_unknowns(settings, world, {name: value for name, value in merged.items() if value is not None})


def set_unknowns(settings: WorldSettings, world: World, values: Mapping[str, str]) -> None:
    """Give these unknowns these values, and all others the value at the start."""
    at_start = world.unknowns.started_with
    changed = {name: value for name, value in values.items() if name in at_start and value != at_start[name]}
    settings.changed_unknowns = changed
    world.unknowns.take(changed)


def advance_clock(session: Session, clock: Clock, by: timedelta) -> None:
    """Advance the virtual clock of all processes of this sandbox.

    :raises ClockAtItsEnd: it would be moved past `LAST_DAY`; roll back.
    """
    settings = session.get_one(WorldSettings, 1, with_for_update=True, populate_existing=True)
    settings.clock_offset += by // _MICROSECOND
    offset = settings.clock_offset * _MICROSECOND
    if clock.begin() + offset > LAST_DAY:
        raise ClockAtItsEnd
    clock.offset = offset


_BYTES = {"hex24": 12, "uuid": 16, "hex64": 32}
"""The bytes of an identifier, by the unknown `id_format`."""


def new_id(session: Session) -> str:
    """A new identifier, counted in the current transaction."""
    return new_ids(session, 1)[0]


def new_ids(session: Session, count: int) -> list[str]:
    """Several new identifiers, the same as from as many calls of `new_id`; or the ids that `g` holds for this call."""
    if "next_ids" in g:
        return list(g.pop("next_ids"))
    if not world().counts_ids:
        return _random(count)
    count_ids = (
        update(WorldSettings)
        .where(WorldSettings.seed.is_not(None))
        .values(ids_given=WorldSettings.ids_given + count)
        .returning(WorldSettings.seed, WorldSettings.ids_given)
    )
    row = session.execute(count_ids, execution_options={"synchronize_session": False}).one_or_none()
    if row is None:
        return _random(count)
    seed, last = row
    return [_identifier(partial(derived, f"{seed}:{number}")) for number in range(last - count + 1, last + 1)]


def new_secret(session: Session) -> str:
    """A secret of 32 characters; with a seed it repeats, as identifiers do."""
    return "".join(digits[:16] for digits in new_ids(session, 2))


def _random(count: int) -> list[str]:
    return [_identifier(secrets.token_hex) for _ in range(count)]


def _identifier(digits_of: Callable[[int], str]) -> str:
    """An identifier as the unknown `id_format` says; its digits come from a function of its size in bytes."""
    form = assumption("id_format")
    digits = digits_of(_BYTES[form])
    return str(UUID(digits)) if form == "uuid" else digits


def derived(text: str, size: int = 12) -> str:
    """Hexadecimal digits that look random and depend on `text` only."""
    return blake2b(text.encode(), digest_size=size).hexdigest()

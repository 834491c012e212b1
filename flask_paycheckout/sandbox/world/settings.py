"""Settings of a sandbox that are stored in its database: seed, clock offset and what a reset returns to."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import BigInteger, String, Text, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.world.clock import Clock
from flask_paycheckout.sandbox.world.database import Table

_MICROSECOND = timedelta(microseconds=1)


class WorldSettings(Table):
    __tablename__ = "world_settings"

    id: Mapped[int] = mapped_column(primary_key=True)
    seed: Mapped[str | None] = mapped_column(String(80))
    ids_given: Mapped[int] = mapped_column(BigInteger, default=0)
    clock_offset: Mapped[int] = mapped_column(BigInteger, default=0)
    """Microseconds that the virtual clock is ahead of the machine's."""
    first_webhook_url: Mapped[str | None] = mapped_column(Text)
    """The first account's webhook URL to which a reset returns."""
    first_accounts: Mapped[str] = mapped_column(Text)
    """Further accounts that a reset makes again, with their credentials, as JSON."""


def read_clock(session: Session, clock: Clock) -> None:
    """Read the clock's offset, which another process may have changed."""
    offset = session.execute(select(WorldSettings.clock_offset)).scalar_one()
    clock.offset = offset * _MICROSECOND


def advance_clock(session: Session, clock: Clock, by: timedelta) -> None:
    """Advance the virtual clock of all processes of this sandbox."""
    offset = session.execute(
        update(WorldSettings)
        .values(clock_offset=WorldSettings.clock_offset + by // _MICROSECOND)
        .returning(WorldSettings.clock_offset)
    ).scalar_one()
    clock.offset = offset * _MICROSECOND

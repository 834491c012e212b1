"""The one row of a world's own settings: its seed, its clock's offset, where its webhooks go."""

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
    webhook_url: Mapped[str | None] = mapped_column(Text)
    first_webhook_url: Mapped[str | None] = mapped_column(Text)
    """The one a reset goes back to."""


def read_clock(session: Session, clock: Clock) -> None:
    """Take over the offset that another process may have set."""
    offset = session.execute(select(WorldSettings.clock_offset)).scalar_one()
    clock.offset = offset * _MICROSECOND


def advance_clock(session: Session, clock: Clock, by: timedelta) -> None:
    """Move the virtual time of every process of this world on."""
    offset = session.execute(
        update(WorldSettings)
        .values(clock_offset=WorldSettings.clock_offset + by // _MICROSECOND)
        .returning(WorldSettings.clock_offset)
    ).scalar_one()
    clock.offset = offset * _MICROSECOND


def webhook_url(session: Session) -> str | None:
    return session.execute(select(WorldSettings.webhook_url)).scalar_one()


def set_webhook_url(session: Session, url: str | None) -> None:
    session.execute(update(WorldSettings).values(webhook_url=url))

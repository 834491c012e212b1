"""The state in which a sandbox starts, and to which a reset returns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.start_state import add_start_account, add_start_user
from flask_paycheckout.sandbox.checkouts.start_state import add_start_methods
from flask_paycheckout.sandbox.recipients.start_state import add_start_recipients
from flask_paycheckout.sandbox.world.context import World
from flask_paycheckout.sandbox.world.database import Table, make_tables
from flask_paycheckout.sandbox.world.settings import WorldSettings


@dataclass(frozen=True)
class StartOptions:
    """Options that a reset keeps."""

    seed: str | None
    webhook_url: str | None


def prepare_world(session: Session, world: World, beginning: StartOptions, *, is_new: bool) -> None:
    """Create the tables and the start state, unless the database already holds a sandbox.

    The transaction must be exclusive, since another process may be starting on the same database.
    """
    make_tables(session, is_new=is_new)
    settings = None if is_new else session.execute(select(WorldSettings)).scalar_one_or_none()
    if settings is None:
        _begin(session, beginning)
        return
    world.clock.offset = timedelta(microseconds=settings.clock_offset)
    if beginning.webhook_url is not None:
        settings.webhook_url = settings.first_webhook_url = beginning.webhook_url


def reset_world(session: Session, world: World) -> None:
    """Return to the start state. The transaction must be exclusive."""
    settings = session.execute(select(WorldSettings)).scalar_one()
    beginning = StartOptions(settings.seed, settings.first_webhook_url)
    for table in reversed(Table.metadata.sorted_tables):
        session.execute(table.delete())
    session.expunge_all()
    _begin(session, beginning)
    session.flush()
    world.clock.offset = timedelta()


def _begin(session: Session, beginning: StartOptions) -> None:
    session.add(
        WorldSettings(
            id=1,
            seed=beginning.seed,
            ids_given=0,
            clock_offset=0,
            webhook_url=beginning.webhook_url,
            first_webhook_url=beginning.webhook_url,
        )
    )
    add_start_account(session)
    session.flush()
    add_start_user(session)
    add_start_recipients(session)
    add_start_methods(session)

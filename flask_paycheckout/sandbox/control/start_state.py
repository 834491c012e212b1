"""The state in which a sandbox starts, and to which a reset returns."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.start_state import PUBLISHED, USER_ID, add_first_account, first_keys
from flask_paycheckout.sandbox.auth.tables import User, password_digest
from flask_paycheckout.sandbox.recipients.tables import add_start_recipients
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import World
from flask_paycheckout.sandbox.world.database import empty_tables, make_tables
from flask_paycheckout.sandbox.world.settings import WorldSettings, follow


def prepare_world(session: Session, world: World, seed: str | None, webhook_url: str | None, *, is_new: bool) -> None:
    """Create the tables and the start state, unless the database already holds a sandbox.

    The transaction must be exclusive, since another process may be starting on the same database.

    :param webhook_url: where the webhooks of the first account go, also after a reset.
    """
    make_tables(session, is_new=is_new)
    settings = None if is_new else session.get(WorldSettings, 1)
    if settings is None:
        began = int(world.clock.begin().timestamp() * 1_000_000)
        _begin(session, world, WorldSettings(began=began, seed=seed, first_webhook_url=webhook_url))
        return
    follow(session, world)
    _hide_published_keys(session, world)
    if webhook_url is not None:
        settings.first_webhook_url = session.get_one(Account, USER_ID).webhook_url = webhook_url


def _hide_published_keys(session: Session, world: World) -> None:
    """Replace the published credentials of a sandbox that was started for its developer alone before."""
    account = session.get_one(Account, USER_ID)
    if not world.is_shared or account.client_secret != PUBLISHED["client_secret"]:
        return
    for name, value in first_keys(world).items():
        setattr(account, name, value)
    for user in session.scalars(select(User).where(User.account_id == USER_ID)):
        user.password_digest = password_digest(user.id, str(account.password))


def reset_world(session: Session, world: World) -> None:
    """Return to the start state. The transaction must be exclusive."""
    settings = session.get_one(WorldSettings, 1)
    kept = {"seed": settings.seed, "first_webhook_url": settings.first_webhook_url}
    empty_tables(session)
    world.unknowns.take({})
    _begin(session, world, WorldSettings(began=settings.began + 1, **kept))
    session.flush()
    world.clock.offset = timedelta()


def _begin(session: Session, world: World, settings: WorldSettings) -> None:
    settings.control_token = world.control_token if world.name else None
    session.add(settings)
    add_first_account(session, world, settings.first_webhook_url)
    add_start_recipients(session, session.get_one(Account, USER_ID))

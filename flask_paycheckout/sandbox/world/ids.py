"""Identifiers of 24 hexadecimal digits, opaque to callers.

Without a seed they are random. With a seed, the n-th identifier is always the same; their number is stored in the
database, so that a restart continues the sequence.
"""

from __future__ import annotations

import secrets
from hashlib import blake2b

from sqlalchemy import update
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.settings import WorldSettings

_BYTES = 12


def new_id(session: Session) -> str:
    """A new identifier, counted in the current transaction."""
    return new_ids(session, 1)[0]


def new_ids(session: Session, count: int) -> list[str]:
    """Several new identifiers, the same as from as many calls of `new_id`."""
    if not world().counts_ids:
        return _random(count)
    counting = (
        update(WorldSettings)
        .where(WorldSettings.seed.is_not(None))
        .values(ids_given=WorldSettings.ids_given + count)
        .returning(WorldSettings.seed, WorldSettings.ids_given)
    )
    counted = session.execute(counting, execution_options={"synchronize_session": False}).one_or_none()
    if counted is None:
        return _random(count)
    seed, last = counted
    return [derived(f"{seed}:{number}") for number in range(last - count + 1, last + 1)]


def new_secret(session: Session) -> str:
    """A secret of 32 characters; with a seed it repeats, as identifiers do."""
    return "".join(digits[:16] for digits in new_ids(session, 2))


def _random(count: int) -> list[str]:
    return [secrets.token_hex(_BYTES) for _ in range(count)]


def derived(text: str, size: int = _BYTES) -> str:
    """Hexadecimal digits that look random and depend on `text` only."""
    return blake2b(text.encode(), digest_size=size).hexdigest()

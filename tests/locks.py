"""Databases with locks of another program, and shops with short lock timeouts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from tests.scripted import Shop


def with_patience(address: str, seconds: float) -> str:
    """The address of this database for a shop with this lock timeout, in seconds."""
    url = sa.make_url(address)
    if url.get_backend_name() == "sqlite":
        return url.update_query_dict({"timeout": str(seconds)}).render_as_string(hide_password=False)
    return with_option(address, f"lock_timeout={int(seconds * 1000)}")


def with_option(address: str, option: str) -> str:
    """The address of this PostgreSQL database for a shop whose connections set this option."""
    url = sa.make_url(address)
    options = f"{url.query.get('options', '')} -c{option}"
    return url.update_query_dict({"options": options}).render_as_string(hide_password=False)


@contextmanager
def write_locked(shop: Shop) -> Iterator[None]:
    """Lock the shop's tables for writing by another program; they can still be read."""
    engine = shop.engine
    table = shop.runtime.models.checkouts.name
    taken = "BEGIN IMMEDIATE" if engine.dialect.name == "sqlite" else f"LOCK TABLE {table} IN EXCLUSIVE MODE"
    with engine.connect() as other:
        other.exec_driver_sql(taken)
        yield

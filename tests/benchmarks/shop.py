"""A merchant's shop with production settings: every order costs 12.50 USD, and a receiver writes a row when paid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.scripted import Shop
from tests.shop_app import create_shop


@contextmanager
def open_shop(database: str, service: str, transport: Any = None, **settings: Any) -> Iterator[Shop]:
    """The shop in this process, on an empty database.

    :param transport: an httpx transport to the service.
    """
    addresses = {"SQLALCHEMY_DATABASE_URI": database, "PAYCHECKOUT_BASE_URL": service}
    shop = create_shop(transport, **addresses | settings)
    with shop.app.app_context():
        shop.db.create_all()
    yield shop
    shop.runtime.client.close()
    shop.runtime.engine().dispose()

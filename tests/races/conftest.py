"""Shops for tests with many threads."""

from __future__ import annotations

import pytest

from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.payouts.books import Books, Pages, PayingService
from tests.races.effects import add_effects
from tests.scripted import Shop


@pytest.fixture
def accounts(database_kind: str) -> int:
    """Two accounts on PostgreSQL, one on SQLite; the crash tests have the reverse."""
    return 2 if database_kind == "postgresql" else 1


@pytest.fixture
def books() -> Books:
    """The books of a service that pays every request: a repeated call pays twice."""
    return Books(Pages(), unique=False)


@pytest.fixture
def service(books: Books) -> PayingService:
    return PayingService(books)


@pytest.fixture
def shop(open_shop: OpenShop, new_database: NewDatabase) -> Shop:
    """A shop with the table of effects, a long lock timeout for many threads, and payouts.

    Its reconcile starts no threads, because only the test's own threads are ordered. It has the address of
    `tests.shop_app`: a shop with another address sends no payouts from the same database.
    """
    return open_shop(
        prepare=add_effects,
        PAYCHECKOUT_PUBLIC_URL="http://127.0.0.1",
        PAYCHECKOUT_ACCESS_TOKEN="races-token",
        PAYCHECKOUT_RECONCILE_READERS=1,
        SQLALCHEMY_DATABASE_URI=with_patience(new_database("crowded"), 60),
        SQLALCHEMY_ENGINE_OPTIONS={"pool_size": 40},
    )

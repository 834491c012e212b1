"""Shops with room for a crowd."""

from __future__ import annotations

import pytest

from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.payouts.books import Books, Pages, PayingService
from tests.races.effects import add_effects
from tests.scripted import Shop


@pytest.fixture
def accounts(database_kind: str) -> int:
    """Two on PostgreSQL and one on SQLite; in the crash tests it is the other way round."""
    return 2 if database_kind == "postgresql" else 1


@pytest.fixture
def books() -> Books:
    """The books of a service that pays whatever it is asked to: a call that is made twice pays twice."""
    return Books(Pages(), unique=False)


@pytest.fixture
def service(books: Books) -> PayingService:
    return PayingService(books)


@pytest.fixture
def shop(open_shop: OpenShop, new_database: NewDatabase) -> Shop:
    """A shop with the table of effects that waits for its locks as long as a crowd may take, and sends payouts.

    Its reconcile starts no threads: the crowd's own are those whose statements are put in order.
    """
    return open_shop(
        prepare=add_effects,
        PAYCHECKOUT_ACCESS_TOKEN="races-token",
        PAYCHECKOUT_RECONCILE_READERS=1,
        SQLALCHEMY_DATABASE_URI=with_patience(new_database("crowded"), 60),
        SQLALCHEMY_ENGINE_OPTIONS={"pool_size": 40},
    )

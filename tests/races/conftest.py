"""Shops with room for a crowd."""

from __future__ import annotations

import pytest

from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.races.effects import add_effects
from tests.scripted import Shop


@pytest.fixture
def shop(open_shop: OpenShop, new_database: NewDatabase) -> Shop:
    """A shop with the table of effects that waits for its locks as long as a crowd may take.

    Its reconcile starts no threads: the crowd's own are those whose statements are put in order.
    """
    return open_shop(
        prepare=add_effects,
        PAYCHECKOUT_RECONCILE_READERS=1,
        SQLALCHEMY_DATABASE_URI=with_patience(new_database("crowded"), 60),
        SQLALCHEMY_ENGINE_OPTIONS={"pool_size": 40},
    )

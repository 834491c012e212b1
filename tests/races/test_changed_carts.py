"""A cart changes while its payment is settled: in every order of the statements, shipped goods are those paid for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.carts import Carts, add_carts
from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.races.interleaving import every_interleaving
from tests.races.pages import Acts


def open_carts(open_shop: OpenShop, new_database: NewDatabase, **engine_options: Any) -> Carts:
    return Carts(
        open_shop(
            prepare=add_carts,
            PAYCHECKOUT_RECONCILE_READERS=1,
            SQLALCHEMY_DATABASE_URI=with_patience(new_database("carts"), 60),
            SQLALCHEMY_ENGINE_OPTIONS=engine_options,
        )
    )


@pytest.fixture
def carts(open_shop: OpenShop, new_database: NewDatabase) -> Iterator[Carts]:
    carts = open_carts(open_shop, new_database)
    with carts.receiving():
        yield carts


CHANGES = [{"total": "198.00"}, {"state": "cancelled"}]


@pytest.mark.on_each_database
@pytest.mark.parametrize("values", CHANGES, ids=["changed", "cancelled"])
@pytest.mark.parametrize("failures", [0, 1], ids=["delivered", "delivery fails first"])
def test_a_cart_that_changes_while_it_is_settled(carts: Carts, values: dict[str, str], failures: int) -> None:
    def begin() -> Acts:
        carts.fill()
        carts.failures = failures
        return {"settles": carts.settle, "changes": lambda: carts.change(**values)}

    def check() -> None:
        carts.nothing_is_shipped_unpaid()
        carts.shop.reconciles(minutes=2)
        carts.nothing_is_shipped_unpaid()

    assert every_interleaving(carts.shop.engine, begin, check, preemptions=None) > 2


@pytest.mark.parametrize("database_kind", ["postgresql"])
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_cart_that_changes_under_a_stricter_isolation_level(
    open_shop: OpenShop, new_database: NewDatabase, level: str
) -> None:
    carts = open_carts(open_shop, new_database, isolation_level=level)

    def changes() -> None:
        # The server may end the shop's own transaction; then its customer presses the button again.
        try:
            carts.change(total="198.00")
        except Exception:
            carts.change(total="198.00")

    def begin() -> Acts:
        carts.fill()
        return {"settles": carts.settle, "changes": changes}

    engine = carts.shop.engine
    with carts.receiving():
        assert every_interleaving(engine, begin, carts.nothing_is_shipped_unpaid, preemptions=None) > 2


@pytest.mark.on_each_database
def test_a_cart_that_is_settled_twice_and_changed(carts: Carts) -> None:
    def begin() -> Acts:
        carts.fill()
        return {"one": carts.settle, "other": carts.settle, "changes": lambda: carts.change(total="198.00")}

    assert every_interleaving(carts.shop.engine, begin, carts.nothing_is_shipped_unpaid, preemptions=1) > 2

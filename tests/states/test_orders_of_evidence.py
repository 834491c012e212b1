"""Every order in which evidence can arrive, with each kind repeated once: the state moves only as the table allows.

The common beginning of several orders is walked once. If two beginnings end in the same stored state at the same time
with the same remaining evidence, the rest is the same; it is walked once and counts for both.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import pytest

from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.states.walk import KINDS, Walk
from tests.states.watching import watch_moves

#: The remaining evidence, in alphabetical order.
Coming = tuple[str, ...]


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    shop = open_shop(SQLALCHEMY_DATABASE_URI="sqlite://")
    with shop.app.app_context():
        watch_moves(shop.db.engine)
    return shop


def walk_every_order(walk: Walk, coming: Coming, walked: dict[Any, int]) -> int:
    """Walk every order of the remaining evidence; returns the number of orders."""
    if not coming:
        return 1
    key = (walk.content(), coming)
    if key not in walked:
        moment, orders = walk.moment(), 0
        for kind in sorted(set(coming)):
            walk.takes(kind)
            at = coming.index(kind)
            orders += walk_every_order(walk, coming[:at] + coming[at + 1 :], walked)
            walk.back_to(moment)
        walked[key] = orders
    return walked[key]


@pytest.mark.parametrize("accept", [True, False], ids=["accepted", "rejected"])
def test_no_order_of_evidence_moves_a_state_backwards(shop: Shop, accept: bool) -> None:
    walk = Walk(shop, accept=accept)
    walked: dict[Any, int] = {}
    orders = sum(walk_every_order(walk, tuple(sorted([*KINDS, doubled])), walked) for doubled in KINDS)
    assert orders == 7 * factorial(8) // 2 == 141_120

"""Every order in which evidence can come, with each kind once doubled: the state moves only as the table allows.

Orders that share a beginning are walked once up to where they part. Where two beginnings leave the same things stored
at the same time, and the same evidence is still to come, what follows is the same and is walked once; it counts for
both.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import pytest

from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.states.walk import KINDS, Walk
from tests.states.watching import watch_moves

#: Evidence that is still to come, in alphabetical order.
Coming = tuple[str, ...]


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    shop = open_shop(SQLALCHEMY_DATABASE_URI="sqlite://")
    with shop.app.app_context():
        watch_moves(shop.db.engine)
    return shop


def walk_every_order(walk: Walk, coming: Coming, walked: dict[Any, int]) -> int:
    """Walk every order of what is still to come; gives how many that are."""
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

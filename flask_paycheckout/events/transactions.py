"""Transactions on the payment tables: the extension's own, or one of the shop's session when the shop takes part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine

from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.events.shop_transaction import ShopTransaction, ShopTransactions

__all__ = ["Transactions"]


class Transactions:
    """Opens transactions on one app's payment tables.

    :param engine: returns the engine of the payment tables, when first needed.
    :param shop: opens transactions of the shop's session.
    """

    def __init__(self, engine: Callable[[], Engine], shop: ShopTransactions) -> None:
        self._engine = engine
        self._shop = shop

    @contextmanager
    def begin(self, *, in_session: bool) -> Iterator[tuple[Connection, ShopTransaction | None]]:
        """Open a transaction that is committed at the end of the `with` block, or rolled back when it raises.

        :param in_session: whether the shop's code runs in it.
        """
        if in_session:
            with self._shop.begin() as transaction:
                yield transaction.connection, transaction
        else:
            with begin_limited(self._engine()) as connection:
                yield connection, None

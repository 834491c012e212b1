"""A whole paid order against the sandbox in this process, as in a shop's own test, with a new sandbox for each.

The order is started, a method is picked, it is paid, the webhook is delivered, and `order_paid` is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from flask_paycheckout.signals import order_paid
from flask_paycheckout.testing import Sandbox
from tests.benchmarks.measuring import MS, OURS, Contender, Figure, Options, Row, repeated
from tests.benchmarks.shop import open_shop

FRESH = "ms for a fresh sandbox"


@contextmanager
def _paying() -> Iterator[Callable[[], object]]:
    """Yields a function that pays one more order."""
    sandbox = Sandbox()
    numbers, paid = count(), list[str]()

    def note(app: Any, *, order_id: str, **extra: Any) -> None:
        paid.append(order_id)

    with open_shop("sqlite://", sandbox.base_url, sandbox.transport, **sandbox.config) as shop:

        def pay() -> None:
            order_id = f"order-{next(numbers)}"
            checkout_id = shop.starts(order_id)
            sandbox.pick(checkout_id)
            sandbox.pay(checkout_id)
            assert paid[-1] == order_id

        sandbox.deliver_to(shop.app.test_client())
        with order_paid.connected_to(note, sender=shop.app):
            yield pay
    sandbox.transport.close()


@contextmanager
def _contenders(options: Options, database: str | None) -> Iterator[dict[str, Contender]]:
    times = options.amount(50)

    def ours() -> dict[str, float]:
        with _paying() as pay:
            pay()
            order = repeated(pay, times)()
        return {MS: order[MS], FRESH: repeated(_fresh, times)()[MS]}

    yield {OURS: ours}


def _fresh() -> None:
    Sandbox().transport.close()


ROW = Row(
    name="sandbox_order",
    title="in-process sandbox: a whole paid order (start, pick, pay, webhook, signal), and a fresh sandbox",
    shown=(Figure(MS), Figure(FRESH)),
    contenders=_contenders,
)

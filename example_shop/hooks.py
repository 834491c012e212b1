"""The shop's own signals, with which features react to changes of an order.

Each signal is sent with the app and an `order`, so pages and rules need not know any feature by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blinker import Signal
from flask import current_app

if TYPE_CHECKING:
    from example_shop.database import Order

against_paying = Signal("A receiver returns the reason why the order cannot be paid now, or None.")
against_sending = Signal("A receiver returns the reason why the order cannot be sent now, or None.")
order_changed = Signal("The order was changed or closed in the same transaction, which has locked the order.")


def reasons(signal: Signal, order: Order) -> list[str]:
    """Send a signal that asks for reasons, and return the reasons."""
    app = current_app._get_current_object()  # type: ignore[attr-defined]
    return [reason for _, reason in signal.send(app, order=order) if reason]

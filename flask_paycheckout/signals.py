"""What a shop hooks into. Sender of each: the Flask app. Keywords of each: `order_id`, `checkout`, `event_id`.

Receivers run after the commit that recorded the change, in an application context of their own. What they write
through `db.session`, without committing it, is committed together with the mark that they ran: database effects
happen exactly once. Other effects happen at least once with the same `event_id`, so hand that on as the
idempotency key. A receiver that raises is run again by reconcile, and only it.
"""

from __future__ import annotations

from blinker import Namespace

__all__ = [
    "BY_NAME",
    "checkout_created",
    "order_abandoned",
    "order_paid",
    "order_pending",
    "payment_held",
    "payment_resolved",
]

_signals = Namespace()

# The second argument becomes the signal's own docstring, which `pydoc` and `help()` show.

checkout_created = _signals.signal(
    "checkout_created",
    "Sent when an attempt at paying was stored, before the customer sees its URL.",
)

order_pending = _signals.signal(
    "order_pending",
    "Sent when the customer picked a payment method: the deposit exists, the money is not here yet.",
)

order_paid = _signals.signal(
    "order_paid",
    "Sent once per order, ever: the payment was read from the service and agrees with what the order costs.",
)

order_abandoned = _signals.signal(
    "order_abandoned",
    "Sent when no attempt of the order is live, pending, held or paid any more. A late payment can still follow.",
)

payment_held = _signals.signal(
    "payment_held",
    "Sent when money arrived that needs a person. Also passes `reason`: amount_mismatch, order_changed,"
    " order_not_payable or duplicate. `paycheckout.resolve(...)` decides.",
)

payment_resolved = _signals.signal(
    "payment_resolved",
    "Sent when a person decided a held payment, before the `order_paid` or `order_abandoned` that the decision causes."
    " Also passes `accepted`, `by` and `why`. Money that paid no order stays listed until"
    " `paycheckout.mark_paid_back(...)` says what became of it.",
)

BY_NAME = {
    signal.name: signal
    for signal in (checkout_created, order_pending, order_paid, order_abandoned, payment_held, payment_resolved)
}

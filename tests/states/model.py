"""The contract's table of states, written a second time: a model that knows no module of the product.

A model represents one checkout of an order that the shop still wants. It takes the time, the answer of a read of the
deposit, and a person's decision; it gives the state of the checkout and the signals that are due.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MINUTE = 60

TABLE = """
          open    agrees part disagrees closed    stalled   never     accepted as-part rejected reached gone other back
created   pending paid   part held      pending   -         abandoned -        -       -        -       -    -     -
pending   -       paid   part held      abandoned abandoned -         -        -       -        -       -    -     -
part      -       -      -    -         -         -         -         -        -       -        paid    -    -     -
paid      -       -      -    -         -         -         -         -        -       -        -       -    -     -
held      -       -      -    -         -         -         -         paid     part    rejected -       -    -     -
rejected  -       -      -    -         -         -         -         -        -       -        -       -    -     -
abandoned pending paid   part held      -         -         -         -        -       -        -       -    -     -
"""
_ROWS = [line.split() for line in TABLE.strip().splitlines()[1:]]
#: Exactly the moves that the table has a cell for.
LEGAL = frozenset((state, to) for state, *cells in _ROWS for to in cells if to != "-") | {(None, "created")}
_SIGNALS = {
    "created": "checkout_created",
    "pending": "order_pending",
    "paid": "order_paid",
    "held": "payment_held",
    "abandoned": "order_abandoned",
    # Once the payment of the only checkout is refused, none is live, pending, held or paid any more.
    "rejected": "order_abandoned",
}
_CLOSED = frozenset({"failed", "expired", "cancelled", "rejected"})


@dataclass
class Model:
    """One checkout as the contract describes it; times are seconds since its creation."""

    state: str = "created"
    signals: list[str] = field(default_factory=lambda: ["checkout_created"])
    not_found_since: float | None = None
    said: str | None = None

    def reads(self, answer: str | None, now: float, *, right: bool = True) -> None:
        """The deposit is read: its status, or None for "Deposit not found".

        :param right: whether a completed deposit agrees in everything.
        """
        if self.state not in ("created", "pending", "abandoned"):
            return
        if answer is None:
            self._is_not_found(now)
        elif answer == "completed":
            self._moves("paid" if right else "held")
        elif answer in _CLOSED:
            self._is_closed()
        else:
            self._is_open(answer)
        self.said = answer or self.said

    def decides(self, *, accept: bool) -> bool:
        """A person decides; False when there is nothing to decide."""
        if self.state != "held":
            return False
        self.signals.append("payment_resolved")
        self._moves("paid" if accept else "rejected")
        return True

    def _is_not_found(self, now: float) -> None:
        since = self.not_found_since = now if self.not_found_since is None else self.not_found_since
        if self.state == "created" and now >= since + MINUTE and now > 16 * MINUTE:
            self._moves("abandoned")

    def _is_closed(self) -> None:
        if self.state == "created":
            self._moves("pending")
        if self.state == "pending":
            self._moves("abandoned")

    def _is_open(self, answer: str) -> None:
        if self.state == "created" or (self.state == "abandoned" and answer != self.said):
            self._moves("pending")

    def _moves(self, to: str) -> None:
        self.state = to
        self.signals.append(_SIGNALS[to])

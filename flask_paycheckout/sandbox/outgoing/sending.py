"""When webhooks and mails are sent: soon after the call that causes them, by threads, or within it."""

from __future__ import annotations

from time import monotonic, sleep

from flask_paycheckout.sandbox.outgoing.mails import deliver_mails
from flask_paycheckout.sandbox.outgoing.webhook_sender import TIME_BUDGET
from flask_paycheckout.sandbox.outgoing.webhooks import deliver_due, is_being_sent
from flask_paycheckout.sandbox.world.context import world


def send_due() -> None:
    """Have the webhooks sent that are due; must be called outside of a transaction."""
    (world().wake or deliver_due)()


def send_mails() -> None:
    """Have the mails sent that wait; must be called outside of a transaction."""
    (world().wake or deliver_mails)()


def send_first(order_id: str) -> None:
    """Send the webhooks about an order before the current call goes on, whichever thread or process sends them."""
    end = monotonic() + 2 * TIME_BUDGET
    while monotonic() < end and (deliver_due(order_id) or is_being_sent(order_id)):
        sleep(0.01)

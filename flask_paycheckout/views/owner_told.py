"""What a customer was sent about an order or refund, as far as it is stored: reminders, and links that were shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from flask_paycheckout.books.lists import links_of
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.runtime import runtime

_REMINDERS = ("payment_reminder", "request_reminder")


def reminders_told(events: Iterable[EventMixin], customer: str) -> Iterator[tuple[datetime, str]]:
    """The sentences about reminders, with their times; none for one that no part of the shop has sent."""
    for event in events:
        if event.name not in _REMINDERS or event.superseded_at is not None:
            continue
        if event.delivered_at is not None and event.done:
            yield event.delivered_at, f"The shop reminded {customer} to pay"
        elif event.last_error and event.next_attempt_at is not None:
            yield event.occurred_at, f"A reminder for {customer} could not be sent yet, and is tried again"


def links_told(payouts: Sequence[PayoutMixin]) -> Iterator[tuple[datetime, str]]:
    """The sentences about who was shown the link on which a receiver says where the money goes, with their times."""
    receivers = {each.reference: "customer" if each.refund_of else "receiver" for each in payouts}
    shop = runtime()
    for at, by, reference in links_of(shop.engine(), shop.models, [*receivers]):
        shown = f"{by} was shown" if by else "The shop's code took"
        yield at, f"{shown} the link on which the {receivers[reference]} says where the money goes"

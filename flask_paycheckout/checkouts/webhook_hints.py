"""A webhook, as it is stored together with the result of the read that it caused."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from flask_paycheckout.database.history import Entry, line

__all__ = ["WebhookHint"]


class WebhookHint(msgspec.Struct):
    """The webhook that caused a read of a deposit, if one did, until it is stored."""

    received_at: datetime | None = None
    """The time at which the webhook came; None when something else caused the read, or once it is stored."""

    @property
    def is_stored(self) -> bool:
        """Whether nothing is left to store."""
        return self.received_at is None

    def mark_stored(self) -> None:
        """Note that its columns and its entry are committed."""
        self.received_at = None

    @property
    def values(self) -> dict[str, Any]:
        """The columns that it sets in the row of its checkout, as `due_reads.planned_values` takes them."""
        if self.received_at is None:
            return {}
        return {"webhooks": 1, "webhook_read_at": self.received_at, "webhook_due_at": None}

    def before(self, entry: str) -> str:
        """An entry for the history, preceded by that of the webhook."""
        return entry if self.received_at is None else line(self.received_at, Entry.WEBHOOK) + entry

"""Steps in the history of whatever moves money."""

from __future__ import annotations

from datetime import datetime

from flask_paycheckout.client.records.record import Record

__all__ = ["Activity"]


class Activity(Record, frozen=True, rename="camel"):
    """One step in the history of a deposit or disbursement; seen for `status`: `pending`, `completed`."""

    activity: str | None = None
    description: str | None = None
    status: str | None = None
    updated_at: datetime | None = None

"""Types of settings that other modules use too."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

__all__ = ["PayoutFees", "PendingFor"]

PendingFor = timedelta | Mapping[str, timedelta]
"""The time to wait for a pending deposit, in total or by payment method.

A mapping must have the key "default", and may have "crypto", "bank" (any bank), and bank codes, which override "bank".
"""


class PayoutFees(StrEnum):
    """The meaning of the fee that the service reports with a disbursement, since the interface does not say."""

    ON_TOP = "on top"
    """The account pays the fee beside the amount."""

    INCLUDED = "included"
    """The fee is part of the amount."""

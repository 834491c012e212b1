"""The ways to send money to suppliers: what a rail must be able to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol, runtime_checkable

from example_shop.suppliers import Supplier


@dataclass(frozen=True)
class Bill:
    """A payout's data for a rail, independent of the database session."""

    reference: str
    supplier: Supplier
    amount: Decimal


class Rail(Protocol):
    """A way to send money. Methods that call the service raise its `PaymentsError`s."""

    def currency_for(self, supplier: Supplier) -> str | None:
        """The currency in which this rail pays a supplier; None when another rail does."""

    def send(self, currency: str, bills: Sequence[Bill]) -> Mapping[str, str]:
        """Send all bills or none; returns their ids at the service, by reference."""


@runtime_checkable
class ReadableRail(Rail, Protocol):
    """A rail whose transfers can be read from the service."""

    def find(self, references: Sequence[str]) -> Mapping[str, str]:
        """The ids of those transfers that the service knows, by reference."""

    def status(self, disbursement_id: str) -> str:
        """The transfer's status: `pending`, `completed` or `failed`."""

    def proof(self, disbursement_id: str) -> bytes:
        """The PDF of a completed transfer's proof."""

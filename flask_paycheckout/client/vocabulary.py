"""The words that the service's interface names for a field; a record's field may hold another one all the same."""

from __future__ import annotations

from typing import Literal

__all__ = [
    "BlockchainType",
    "DepositStatus",
    "DisbursementStatus",
    "PaymentStatus",
    "PaymentType",
    "RecipientType",
    "Sort",
    "UsNetwork",
]

DepositStatus = Literal["pending", "completed"]
DisbursementStatus = Literal["pending", "failed", "completed"]
PaymentStatus = Literal["pending", "processed", "completed", "failed"]
PaymentType = Literal["onramp", "offramp"]
RecipientType = Literal["Individual", "Business"]
BlockchainType = Literal["EVM", "STELLAR"]
UsNetwork = Literal["ach", "wire"]

Sort = Literal["createdAt", "-createdAt", "updatedAt", "-updatedAt"]
"""Oldest first, and with a `-` newest first; the service's default is `createdAt`."""

"""The payment methods and conversions of the start state."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.checkouts.tables import BANK_TRANSFER, CRYPTO, QR, Conversion, PaymentMethod
from flask_paycheckout.sandbox.world.database import insert_rows

# Columns: code, name, group, currency, flat fee, percentage, min, max, token, token rate, enabled
_METHODS: tuple[tuple[str, str, str, str, str, str, str, str, str | None, str | None, bool], ...] = (
    ("us_bank_transfer", "US bank transfer", BANK_TRANSFER, "USD", "0.50", "0.8", "1", "50000", None, None, True),
    ("us_qr", "Scan to pay", QR, "USD", "0.10", "1.2", "1", "2500", None, None, True),
    ("us_usdc_polygon", "USDC on Polygon", CRYPTO, "USD", "0.05", "0.4", "1", "100000", "usdc-polygon", "1", True),
    ("us_wire", "US wire", BANK_TRANSFER, "USD", "15", "0", "1000", "1000000", None, None, False),
    ("sepa_transfer", "SEPA transfer", BANK_TRANSFER, "EUR", "0.35", "0.5", "1", "50000", None, None, True),
    ("eu_qr", "Scan to pay", QR, "EUR", "0.10", "0.9", "1", "3000", None, None, True),
    ("eu_usdc_stellar", "USDC on Stellar", CRYPTO, "EUR", "0.02", "0.4", "1", "90000", "usdc-stellar", "1.0815", True),
    ("uk_faster_payment", "Faster payment", BANK_TRANSFER, "GBP", "0.30", "0.5", "1", "40000", None, None, True),
    ("uk_qr", "Scan to pay", QR, "GBP", "0.10", "0.9", "1", "2000", None, None, True),
    ("jp_bank_transfer", "Bank transfer", BANK_TRANSFER, "JPY", "110", "0.3", "100", "5000000", None, None, True),
    ("jp_qr", "Scan to pay", QR, "JPY", "0", "1.98", "1", "300000", None, None, True),
    ("id_bank_transfer", "Virtual account", BANK_TRANSFER, "IDR", "4000", "0", "10000", "500000000", None, None, True),
    ("id_qris", "QRIS", QR, "IDR", "0", "0.7", "1000", "10000000", None, None, True),
    ("kw_bank_transfer", "Bank transfer", BANK_TRANSFER, "KWD", "0.150", "0.35", "0.500", "15000", None, None, True),
    ("polygon_usdc", "Polygon wallet", CRYPTO, "usdc-polygon", "0.02", "0.3", "1", "100000", "usdc-polygon", "1", True),
    ("tron_usdt", "Tron wallet", CRYPTO, "usdt-tron", "1", "0.3", "5", "100000", "usdt-tron", "1", True),
    (
        "ethereum_eth",
        "Ethereum wallet",
        CRYPTO,
        "eth-ethereum",
        "0.0004",
        "0.3",
        "0.001",
        "50",
        "eth-ethereum",
        "1",
        True,
    ),
)


_CONVERSIONS = (
    ("USD", "usdc-polygon", "0.9985", True),
    ("USD", "usdc-stellar", "0.9985", True),
    ("USD", "EUR", "0.9217", True),
    ("USD", "eth-ethereum", "0.000371", False),
    ("EUR", "USD", "1.0815", True),
    ("EUR", "usdc-polygon", "1.0799", True),
    ("GBP", "USD", "1.2704", True),
    ("JPY", "USD", "0.00667", True),
    ("IDR", "USD", "0.0000613", True),
    ("IDR", "usdc-polygon", "0.0000612", True),
    ("KWD", "USD", "3.2551", True),
    ("usdc-polygon", "USD", "0.9979", True),
)


_METHOD_COLUMNS = (
    *("code", "name", "group", "currency", "flat_fee", "percent_fee", "min_amount", "max_amount"),
    *("token", "token_rate", "enabled"),
)
_AMOUNTS = frozenset({"flat_fee", "percent_fee", "min_amount", "max_amount", "token_rate", "rate"})


def _row(columns: Sequence[str], values: Sequence[str | bool | None]) -> dict[str, Any]:
    return {
        column: Decimal(value) if column in _AMOUNTS and isinstance(value, str) else value
        for column, value in zip(columns, values, strict=True)
    }


_METHOD_ROWS = [{"position": place} | _row(_METHOD_COLUMNS, values) for place, values in enumerate(_METHODS)]
_CONVERSION_ROWS = [_row(("input_currency", "output_currency", "rate", "enabled"), values) for values in _CONVERSIONS]


def add_start_methods(session: Session) -> None:
    """Add the payment methods and conversions."""
    insert_rows(session, PaymentMethod, _METHOD_ROWS)
    insert_rows(session, Conversion, _CONVERSION_ROWS)

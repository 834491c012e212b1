"""Records of the deprecated reference lists."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import msgspec

from flask_paycheckout.client.records.record import Record

__all__ = ["Bank", "Crypto", "Currency", "PaymentMethod"]


class Currency(Record, frozen=True, rename="camel"):
    """A country's currency, and what a bank account in it needs.

    :ivar record_id: the service's `_id`.
    :ivar value: the country's name in capitals.
    :ivar currency: ISO 4217 code.
    """

    currency: str
    record_id: str | None = msgspec.field(default=None, name="_id")
    id: str | None = None
    value: str | None = None
    country_code: str | None = None
    logo: str | None = None
    name: str | None = None
    country: str | None = None
    symbol: str | None = None
    require_bank_name: bool | None = None
    require_ifsc: bool | None = None
    require_iban: bool | None = None
    require_ach_or_wire: bool | None = None
    require_account_number: bool | None = None


class Crypto(Record, frozen=True, rename="camel"):
    """A token on a chain.

    :ivar id: token id, `<symbol>-<network>`.
    :ivar record_id: the service's `_id`.
    :ivar currencies: codes of the fiat currencies that it can be exchanged for.
    :ivar decimal: decimals that its amounts can have.
    """

    id: str
    record_id: str | None = msgspec.field(default=None, name="_id")
    symbol: str | None = None
    name: str | None = None
    label: str | None = None
    address: str | None = None
    chain_id: int | None = None
    is_native: bool | None = msgspec.field(default=None, name="is_native")
    logo: str | None = None
    currencies: tuple[str, ...] = ()
    decimal: int | None = None
    price_id: str | None = None


class Bank(Record, frozen=True, rename="camel"):
    """A bank.

    :ivar record_id: the service's `_id`.
    :ivar version: the service's `__v`.
    """

    id: str
    record_id: str | None = msgspec.field(default=None, name="_id")
    name: str | None = None
    payment_code: str | None = None
    country: str | None = None
    currency: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int | None = msgspec.field(default=None, name="__v")


class PaymentMethod(Record, frozen=True, rename="camel"):
    """A way to pay in.

    :ivar flat_fee_amount: in `currency`.
    :ivar percent_fee_amount: percent of the amount, as the service gives it.
    """

    code: str
    id: str | None = None
    name: str | None = None
    group: str | None = None
    currency: str | None = None
    image: str | None = None
    is_active: bool | None = None
    flat_fee_amount: Decimal | None = None
    percent_fee_amount: Decimal | None = None

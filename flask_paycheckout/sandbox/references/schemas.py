"""Queries and records of the reference lists.

Identifiers are derived from names, so that they are the same in every sandbox. `_id` and `id` are equal where the
interface does not tell their difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import msgspec

from flask_paycheckout.sandbox.checkouts.tables import PaymentMethod
from flask_paycheckout.sandbox.money.tokens import EVM, STELLAR, Token
from flask_paycheckout.sandbox.references.data import (
    ACCOUNT_NUMBER,
    ACH_OR_WIRE,
    BANK_NAME,
    IBAN,
    IFSC,
    Bank,
    Country,
    OnrampMethod,
)
from flask_paycheckout.sandbox.wire.field_types import Boolean, Choice, FiatCode, Text
from flask_paycheckout.sandbox.wire.paging import PageQuery
from flask_paycheckout.sandbox.wire.schemas import Record, Timestamp
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.ids import derived


@dataclass(frozen=True)
class CryptoQuery:
    """The query of the list of tokens."""

    use_smart_contract: Annotated[bool | None, Boolean()] = None
    blockchain_type: Annotated[str | None, Choice((EVM, STELLAR))] = None


@dataclass(frozen=True)
class BankQuery(PageQuery):
    """The query of the list of banks; the country's case is ignored."""

    country: Annotated[str | None, Text()] = None
    currency: Annotated[str | None, FiatCode()] = None
    # Spelled like this in the interface.
    disbursment_available: Annotated[bool, Boolean()] = False


@dataclass(frozen=True)
class MethodQuery:
    """The query of the list of payment methods: those for buying crypto, or those for deposits."""

    is_for_deposit: Annotated[bool, Boolean()] = False


class CurrencyRecord(Record, frozen=True):
    """The currency of a country; one that several countries share has a record for each."""

    own_id: str = msgspec.field(name="_id")
    id: str
    value: str
    currency: str
    country_code: str
    logo: str
    name: str
    country: str
    symbol: str
    require_bank_name: bool
    require_ifsc: bool
    require_iban: bool
    require_ach_or_wire: bool
    require_account_number: bool


class CryptoRecord(Record, frozen=True):
    own_id: str = msgspec.field(name="_id")
    symbol: str
    id: str
    name: str
    label: str
    address: str
    chain_id: int
    is_native: bool = msgspec.field(name="is_native")
    logo: str
    currencies: list[str]
    decimal: int
    price_id: str


class BankRecord(Record, frozen=True):
    own_id: str = msgspec.field(name="_id")
    id: str
    name: str
    payment_code: str
    country: str
    currency: str
    created_at: Timestamp
    updated_at: Timestamp
    version: int = msgspec.field(name="__v")


class PaymentMethodRecord(Record, frozen=True):
    id: str
    name: str
    code: str
    group: str
    currency: str
    image: str
    is_active: bool
    flat_fee_amount: Decimal
    percent_fee_amount: Decimal


def represent_currency(country: Country) -> CurrencyRecord:
    identifier = derived(f"currency:{country.code}")
    return CurrencyRecord(
        own_id=identifier,
        id=identifier,
        value=country.name.upper(),
        currency=country.currency,
        country_code=country.code,
        logo=_picture(country.code),
        name=country.currency_name,
        country=country.name,
        symbol=country.symbol,
        require_bank_name=BANK_NAME in country.needs,
        require_ifsc=IFSC in country.needs,
        require_iban=IBAN in country.needs,
        require_ach_or_wire=ACH_OR_WIRE in country.needs,
        require_account_number=ACCOUNT_NUMBER in country.needs,
    )


def represent_crypto(token: Token) -> CryptoRecord:
    return CryptoRecord(
        own_id=derived(f"crypto:{token.id}"),
        symbol=token.symbol,
        id=token.id,
        name=token.name,
        label=token.label,
        address=token.address,
        chain_id=token.chain_id,
        is_native=token.is_native,
        logo=_picture(token.symbol),
        currencies=list(token.currencies),
        decimal=token.decimal,
        price_id=token.price_id,
    )


def represent_bank(bank: Bank) -> BankRecord:
    identifier = derived(f"bank:{bank.payment_code}")
    return BankRecord(
        own_id=identifier,
        id=identifier,
        name=bank.name,
        payment_code=bank.payment_code,
        country=bank.country,
        currency=bank.currency,
        created_at=bank.created_at,
        updated_at=bank.updated_at,
        version=0,
    )


def represent_method(method: PaymentMethod | OnrampMethod) -> PaymentMethodRecord:
    return PaymentMethodRecord(
        id=derived(f"method:{method.code}"),
        name=method.name,
        code=method.code,
        group=method.group,
        currency=method.currency,
        image=_picture(method.group),
        is_active=method.enabled if isinstance(method, PaymentMethod) else method.is_active,
        flat_fee_amount=method.flat_fee,
        percent_fee_amount=method.percent_fee,
    )


def _picture(name: str) -> str:
    return f"{world().base_url}/pictures/{name.lower()}.svg"

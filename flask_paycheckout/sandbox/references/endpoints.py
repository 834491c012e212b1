"""The reference lists below `/v1/reference/` (deprecated).

Identifiers are derived from names, so that they are the same in every sandbox. `_id` and `id` are equal where the
interface does not distinguish them.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

import msgspec
from flask import Blueprint
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import operation
from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.checkouts.methods import METHODS, as_switched
from flask_paycheckout.sandbox.references.data import (
    BANKS,
    COUNTRIES,
    ONRAMP_METHODS,
    PAYABLE,
    BankRecord,
    Country,
)
from flask_paycheckout.sandbox.wire.cross_origin import PICTURE
from flask_paycheckout.sandbox.wire.envelope import Record, Url
from flask_paycheckout.sandbox.wire.field_types import FiatCode, Flag, Request, Text, choice
from flask_paycheckout.sandbox.wire.operations import Credentials
from flask_paycheckout.sandbox.wire.paging import Page, PageQuery, is_like, page_of
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.money import EVM, STELLAR, TOKENS, Token
from flask_paycheckout.sandbox.world.settings import derived


class CryptoQuery(Request):
    """The query of the list of tokens."""

    use_smart_contract: Flag | None = None
    blockchain_type: Annotated[str, choice(EVM, STELLAR)] | None = None


class BankQuery(PageQuery):
    """The query of the list of banks; the country's case is ignored."""

    country: Text | None = None
    currency: FiatCode | None = None
    # Spelled like this in the interface.
    disbursment_available: Flag = False


class MethodQuery(Request):
    """The query of the list of payment methods: those for buying crypto, or those for deposits."""

    is_for_deposit: Flag = False


class CurrencyRecord(Record):
    """The currency of a country; one that several countries share has a record for each."""

    own_id: str = msgspec.field(name="_id")
    id: str
    value: str
    currency: str
    country_code: str
    logo: Url
    name: str
    country: str
    symbol: str
    require_bank_name: bool
    require_ifsc: bool
    require_iban: bool
    require_ach_or_wire: bool
    require_account_number: bool


_NEEDED = ("bank_name", "ifsc", "iban", "ach_or_wire", "account_number")


class CryptoRecord(Record):
    own_id: str = msgspec.field(name="_id")
    symbol: str
    id: str
    name: str
    label: str
    address: str
    chain_id: int
    is_native: bool = msgspec.field(name="is_native")
    logo: Url
    currencies: list[str]
    decimal: int
    price_id: str


class PaymentMethodRecord(Record):
    id: str
    name: str
    code: str
    group: str
    currency: str
    image: Url
    is_active: bool
    flat_fee_amount: Decimal
    percent_fee_amount: Decimal


references = Blueprint("references", __name__, url_prefix="/v1/reference")


def _picture() -> str:
    """The address of the logo that all records share, which pages of shops may show."""
    return f"{world().base_url}{PICTURE}"


@references.get("/currencies")
@operation(credentials=Credentials.NONE, deprecated=True)
def list_currencies() -> list[CurrencyRecord]:
    """List countries with their currencies (deprecated)."""
    return [_currency(country) for country in COUNTRIES]


def _currency(country: Country) -> CurrencyRecord:
    identifier = derived(f"currency:{country.code}")
    needs = {f"require_{detail}": detail in country.needs for detail in _NEEDED}
    return CurrencyRecord.of(
        country,
        own_id=identifier,
        id=identifier,
        value=country.name.upper(),
        country_code=country.code,
        logo=_picture(),
        name=country.currency_name,
        country=country.name,
        **needs,
    )


@references.get("/cryptos")
@operation(credentials=Credentials.NONE, deprecated=True)
def list_cryptos(query: CryptoQuery) -> list[CryptoRecord]:
    """List tokens, all or of one kind (deprecated)."""
    return [
        _crypto(token)
        for token in TOKENS
        if query.use_smart_contract in {None, token.uses_smart_contract}
        and query.blockchain_type in {None, token.blockchain_type}
    ]


def _crypto(token: Token) -> CryptoRecord:
    return CryptoRecord.of(token, own_id=derived(f"crypto:{token.id}"), logo=_picture())


@references.get("/banks")
@operation(credentials=Credentials.NONE, deprecated=True)
def list_banks(query: BankQuery) -> Page[BankRecord]:
    """List banks, all or those that can be paid (deprecated)."""
    if assumption("bank_pages") == "first":
        query.page = 1
    return page_of(BANKS, query, _is_wanted, list)


def _is_wanted(bank: BankRecord, query: BankQuery) -> bool:
    return (
        is_like(bank.country, query.country)
        and query.currency in {None, bank.currency}
        and (bank.payment_code in PAYABLE or not query.disbursment_available)
    )


@references.get("/payment-methods")
@operation(credentials=Credentials.NONE, deprecated=True)
def list_payment_methods(session: Session, query: MethodQuery) -> list[PaymentMethodRecord]:
    """List the ways of paying for crypto, or of paying deposits (deprecated)."""
    listed = METHODS.values() if query.is_for_deposit else ONRAMP_METHODS
    return [
        PaymentMethodRecord.of(
            method,
            id=derived(f"method:{method.code}"),
            image=_picture(),
            is_active=method.enabled,
        )
        # The call has no credentials, so everybody gets the methods of the first account.
        for method in as_switched(session, USER_ID, listed)
    ]

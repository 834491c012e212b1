"""Reference lists, deprecated: currencies, tokens, banks and payment methods. No credentials are sent."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, TypedDict, Unpack

import msgspec

from flask_paycheckout.client.bodies import fields_of
from flask_paycheckout.client.operations import Access, Operation, deprecated
from flask_paycheckout.client.paging import Listing
from flask_paycheckout.client.records import OWN_ID, BlockchainType, Record, Sort
from flask_paycheckout.client.resource import Resource, method
from flask_paycheckout.client.waiting import W

if TYPE_CHECKING:
    from flask_paycheckout.client.paging import Page


class Currency(Record, frozen=True):
    """A country's currency, and what a bank account in it needs.

    :ivar record_id: the service's `_id`.
    :ivar value: the country's name in capitals.
    :ivar currency: ISO 4217 code.
    """

    currency: str
    record_id: str | None = OWN_ID
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


class Crypto(Record, frozen=True):
    """A token on a chain.

    :ivar id: token id, `<symbol>-<network>`.
    :ivar record_id: the service's `_id`.
    :ivar currencies: codes of the fiat currencies that it can be exchanged for.
    :ivar decimal: decimals that its amounts can have.
    """

    id: str
    record_id: str | None = OWN_ID
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


class Bank(Record, frozen=True):
    """A bank.

    :ivar record_id: the service's `_id`.
    :ivar version: the service's `__v`.
    """

    id: str
    record_id: str | None = OWN_ID
    name: str | None = None
    payment_code: str | None = None
    country: str | None = None
    currency: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int | None = msgspec.field(default=None, name="__v")


class PaymentMethod(Record, frozen=True):
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


_CURRENCIES = Operation("GET", "/v1/reference/currencies", Currency, access=Access.OPEN)
_CRYPTOS = Operation("GET", "/v1/reference/cryptos", Crypto, access=Access.OPEN)
_METHODS = Operation("GET", "/v1/reference/payment-methods", PaymentMethod, access=Access.OPEN)

_INSTEAD = "client.fiat_disbursements.payment_methods"


class BankFilters(TypedDict, total=False):
    """Which banks `banks` gives, and in which order.

    :ivar limit: page size.
    :ivar disbursment_available: True for those that disbursements can go to. Spelled as the service spells it.
    """

    limit: int | None
    sort: Sort | None
    country: str | None
    currency: str | None
    disbursment_available: bool | None


class CryptoFilters(TypedDict, total=False):
    """Which tokens `cryptos` gives; all when left out.

    :ivar use_smart_contract: only those that use the service's smart contract proxy, or do not.
    """

    blockchain_type: BlockchainType | None
    use_smart_contract: bool | None


_BANKS = Listing(
    Operation("GET", "/v1/reference/banks", Bank, access=Access.OPEN),
    BankFilters,
    lambda bank: bank.record_id or bank.id,
)


class References(Resource[W]):
    """`client.references`. Every method warns: the service deprecates them. A test that uses them expects it:

    >>> import pytest
    >>> with pytest.warns(DeprecationWarning, match="use client.fiat_disbursements.payment_methods"):
    ...     banks = client.references.banks(currency="USD", disbursment_available=True)
    >>> [bank.name for bank in banks.docs]
    ['First Sandbox Bank', 'Harbor Savings Bank']
    """

    @deprecated(f"{_INSTEAD}, which names the currency of each bank")
    @method
    async def currencies(self, *, timeout: float | None = None) -> tuple[Currency, ...]:
        """Every country's currency.

        :raises PaymentsError: see `errors`.
        """
        return await self._caller.records(_CURRENCIES, timeout=timeout)

    @deprecated("client.crypto_disbursements.estimate, which tells whether a token id is known")
    @method
    async def cryptos(self, *, timeout: float | None = None, **filters: Unpack[CryptoFilters]) -> tuple[Crypto, ...]:
        """The tokens.

        :param filters: see `CryptoFilters`.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.records(_CRYPTOS, query=fields_of(CryptoFilters).query(filters), timeout=timeout)

    @deprecated(_INSTEAD)
    @method
    async def banks(self, *, timeout: float | None = None, **filters: Unpack[BankFilters]) -> Page[Bank]:
        """One page of the banks; `client.next_page` reads the one that follows.

        The interface names no page number for this list. Where the service takes none, ask for more with `limit`.

        :param filters: see `BankFilters`.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.page(_BANKS, filters, None, timeout)

    @deprecated(f"{_INSTEAD}, or the hosted page of client.checkouts for deposits")
    @method
    async def payment_methods(
        self, for_deposit: bool = False, *, timeout: float | None = None
    ) -> tuple[PaymentMethod, ...]:
        """The ways to pay in.

        :param for_deposit: those of deposits instead of the onramp's.
        :raises PaymentsError: see `errors`.
        """
        query = "?isForDeposit=true" if for_deposit else ""
        return await self._caller.records(_METHODS, query=query, timeout=timeout)

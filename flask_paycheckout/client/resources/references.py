"""Reference lists, deprecated: currencies, tokens, banks and payment methods. No credentials are sent."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Unpack

from typing_extensions import deprecated

from flask_paycheckout.client.awaited import W
from flask_paycheckout.client.bodies import fields_of
from flask_paycheckout.client.paging import Listing, Page
from flask_paycheckout.client.records import GIVEN, BlockchainType, Record, Sort, given_as
from flask_paycheckout.client.resource import Resource, method
from flask_paycheckout.client.sending import Access, Operation
from flask_paycheckout.client.waiting import CallOptions


class Currency(Record, frozen=True):
    """A country's currency, and the fields that a bank account in it requires.

    :ivar record_id: the service's `_id`.
    :ivar value: the country's name in capitals.
    :ivar currency: the ISO 4217 code.
    """

    currency: str
    record_id: str = given_as("_id")
    id: str = GIVEN
    value: str = GIVEN
    country_code: str = GIVEN
    logo: str = GIVEN
    name: str = GIVEN
    country: str = GIVEN
    symbol: str = GIVEN
    require_bank_name: bool = GIVEN
    require_ifsc: bool = GIVEN
    require_iban: bool = GIVEN
    require_ach_or_wire: bool = GIVEN
    require_account_number: bool = GIVEN


class Crypto(Record, frozen=True):
    """A token on a chain.

    :ivar id: the token id, `<symbol>-<network>`.
    :ivar record_id: the service's `_id`.
    :ivar currencies: the codes of the fiat currencies for which it can be exchanged.
    :ivar decimal: the maximum number of decimals of its amounts.
    """

    id: str
    record_id: str = given_as("_id")
    symbol: str = GIVEN
    name: str = GIVEN
    label: str = GIVEN
    address: str = GIVEN
    chain_id: int = GIVEN
    is_native: bool = given_as("is_native")
    logo: str = GIVEN
    currencies: tuple[str, ...] = ()
    decimal: int = GIVEN
    price_id: str = GIVEN


class Bank(Record, frozen=True):
    """A bank.

    :ivar record_id: the service's `_id`.
    :ivar version: the service's `__v`.
    """

    id: str
    record_id: str = given_as("_id")
    name: str = GIVEN
    payment_code: str = GIVEN
    country: str = GIVEN
    currency: str = GIVEN
    created_at: datetime = GIVEN
    updated_at: datetime = GIVEN
    version: int = given_as("__v")


class PaymentMethod(Record, frozen=True):
    """A payment method for money that comes in.

    :ivar flat_fee_amount: the flat fee in `currency`.
    :ivar percent_fee_amount: the fee in percent of the amount, as the service reports it.
    """

    code: str
    id: str = GIVEN
    name: str = GIVEN
    group: str = GIVEN
    currency: str = GIVEN
    image: str = GIVEN
    is_active: bool = GIVEN
    flat_fee_amount: Decimal = GIVEN
    percent_fee_amount: Decimal = GIVEN


_CURRENCIES = Operation("GET", "/v1/reference/currencies", Currency, access=Access.OPEN)
_CRYPTOS = Operation("GET", "/v1/reference/cryptos", Crypto, access=Access.OPEN)
_METHODS = Operation("GET", "/v1/reference/payment-methods", PaymentMethod, access=Access.OPEN)


class BankFilters(CallOptions, total=False):
    """The filters and the order of `banks`.

    :ivar limit: the page size.
    :ivar disbursment_available: True for banks to which disbursements can go. The spelling is the service's.
    """

    limit: int | None
    sort: Sort | None
    country: str | None
    currency: str | None
    disbursment_available: bool | None


class CryptoFilters(CallOptions, total=False):
    """The filters of `cryptos`; without filters it returns all tokens.

    :ivar use_smart_contract: True for tokens that use the service's smart contract proxy, False for the others.
    """

    blockchain_type: BlockchainType | None
    use_smart_contract: bool | None


_BANKS = Listing(
    Operation("GET", "/v1/reference/banks", Bank, access=Access.OPEN),
    BankFilters,
    lambda bank: bank.record_id or bank.id,
)


class References(Resource[W]):
    """`client.references`. The service deprecates these operations, so every method warns; a test can expect this:

    >>> import pytest
    >>> with pytest.warns(DeprecationWarning, match="use client.fiat_disbursements.payment_methods"):
    ...     banks = client.references.banks(currency="USD", disbursment_available=True)
    >>> [bank.name for bank in banks.docs]
    ['First Sandbox Bank', 'Harbor Savings Bank']
    """

    @deprecated(
        "client.references.currencies is deprecated by the service: use client.fiat_disbursements.payment_methods,"
        " which names the currency of each bank"
    )
    @method
    async def currencies(self, **options: Unpack[CallOptions]) -> tuple[Currency, ...]:
        """Every country's currency.

        :raises PaymentsError: see `errors`.
        """
        return await self._caller.records(_CURRENCIES)

    @deprecated(
        "client.references.cryptos is deprecated by the service: use client.crypto_disbursements.estimate,"
        " which tells whether a token id is known"
    )
    @method
    async def cryptos(self, **filters: Unpack[CryptoFilters]) -> tuple[Crypto, ...]:
        """The tokens.

        :param filters: see `CryptoFilters`.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.records(_CRYPTOS, query=fields_of(CryptoFilters).query(filters))

    @deprecated("client.references.banks is deprecated by the service: use client.fiat_disbursements.payment_methods")
    @method
    async def banks(self, **filters: Unpack[BankFilters]) -> Page[Bank]:
        """One page of the banks; `client.next_page` reads the next page.

        The interface names no page number for this list. If the service ignores it, request more banks with `limit`.

        :param filters: see `BankFilters`.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.page(_BANKS, filters, None)

    @deprecated(
        "client.references.payment_methods is deprecated by the service: use client.fiat_disbursements.payment_methods,"
        " or the hosted page of client.checkouts for deposits"
    )
    @method
    async def payment_methods(
        self, for_deposit: bool = False, **options: Unpack[CallOptions]
    ) -> tuple[PaymentMethod, ...]:
        """The payment methods for money that comes in.

        :param for_deposit: whether to return the methods of deposits instead of the onramp's.
        :raises PaymentsError: see `errors`.
        """
        query = "?isForDeposit=true" if for_deposit else ""
        return await self._caller.records(_METHODS, query=query)

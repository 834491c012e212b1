"""Reference lists, deprecated: currencies, tokens, banks and payment methods. No credentials are sent."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypedDict, Unpack

from flask_paycheckout.client.bodies import flags, query_string, texts
from flask_paycheckout.client.deprecation import deprecated
from flask_paycheckout.client.errors import Invalid
from flask_paycheckout.client.filters import Filters
from flask_paycheckout.client.operations import Access, Operation
from flask_paycheckout.client.paging import walk
from flask_paycheckout.client.records.reading import RecordReader
from flask_paycheckout.client.records.references import Bank, Crypto, Currency, PaymentMethod
from flask_paycheckout.client.vocabulary import BlockchainType, Sort

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask_paycheckout.client.calls import Caller
    from flask_paycheckout.client.paging import Page

__all__ = ["BankFilters", "References"]

_CURRENCIES = Operation("GET", "/v1/reference/currencies", repeatable=True, access=Access.OPEN)
_CRYPTOS = Operation("GET", "/v1/reference/cryptos", repeatable=True, access=Access.OPEN)
_BANKS = Operation("GET", "/v1/reference/banks", repeatable=True, access=Access.OPEN)
_METHODS = Operation("GET", "/v1/reference/payment-methods", repeatable=True, access=Access.OPEN)

_CURRENCY = RecordReader(Currency)
_CRYPTO = RecordReader(Crypto)
_BANK = RecordReader(Bank)
_METHOD = RecordReader(PaymentMethod)

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


_FILTERS = Filters(BankFilters)


class References:
    """`client.references`. Every method warns: the service deprecates them. A test that uses them expects it:

    >>> import pytest
    >>> with pytest.warns(DeprecationWarning, match="use client.fiat_disbursements.payment_methods"):
    ...     banks = client.references.banks(currency="USD", disbursment_available=True)
    >>> [bank.name for bank in banks.docs]
    ['First Sandbox Bank', 'Harbor Savings Bank']
    """

    __slots__ = ("_caller",)

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def currencies(self, *, timeout: float | None = None) -> tuple[Currency, ...]:
        """Every country's currency.

        :raises PaymentsError: see `errors`.
        """
        deprecated("references.currencies", f"{_INSTEAD}, which names the currency of each bank")
        return self._caller.records(_CURRENCIES, _CURRENCY, timeout=timeout)

    def cryptos(
        self,
        *,
        use_smart_contract: bool | None = None,
        blockchain_type: BlockchainType | None = None,
        timeout: float | None = None,
    ) -> tuple[Crypto, ...]:
        """The tokens.

        :param use_smart_contract: only those that use the service's smart contract proxy, or do not; all when left out.
        :param blockchain_type: all when left out.
        :raises PaymentsError: see `errors`.
        """
        deprecated(
            "references.cryptos", "client.crypto_disbursements.estimate, which tells whether a token id is known"
        )
        values = texts(blockchain_type=blockchain_type) | flags(use_smart_contract=use_smart_contract)
        return self._caller.records(_CRYPTOS, _CRYPTO, query=query_string(values), timeout=timeout)

    def banks(self, *, timeout: float | None = None, **filters: Unpack[BankFilters]) -> Page[Bank]:
        """One page of the banks; `iterate_banks` gives all.

        :param filters: see `BankFilters`.
        :raises PaymentsError: see `errors`.
        """
        deprecated("references.banks", _INSTEAD)
        return self._page(filters, None, timeout)

    def iterate_banks(self, *, timeout: float | None = None, **filters: Unpack[BankFilters]) -> Iterator[Bank]:
        """Every bank, also those that do not fit onto one page.

        The interface shows a `limit` for banks and no page number. So the whole list is asked for as one page, of the
        size that the first answer names; where the service gives no page as large, page by page.

        :param filters: see `BankFilters`.
        :raises TransportFailed: while iterating: the service gives the first page only.
        :raises PaymentsError: while iterating; see `errors`.
        """
        deprecated("references.iterate_banks", _INSTEAD)
        _FILTERS.query(filters)
        return self._every_bank(filters, timeout)

    def payment_methods(self, for_deposit: bool = False, *, timeout: float | None = None) -> tuple[PaymentMethod, ...]:
        """The ways to pay in.

        :param for_deposit: those of deposits instead of the onramp's.
        :raises PaymentsError: see `errors`.
        """
        deprecated("references.payment_methods", f"{_INSTEAD}, or the hosted page of client.checkouts for deposits")
        query = query_string(flags(is_for_deposit=for_deposit or None))
        return self._caller.records(_METHODS, _METHOD, query=query, timeout=timeout)

    def _every_bank(self, filters: BankFilters, timeout: float | None) -> Iterator[Bank]:
        page = self._page(filters, None, timeout)
        if page.has_next_page:
            # How many records a page may have is not shown, nor that more are an error.
            with suppress(Invalid):
                page = self._page({**filters, "limit": page.total_docs}, None, timeout)
        if not page.has_next_page:
            yield from page
            return
        whole: BankFilters = {**filters, "limit": page.limit}
        yield from walk(
            str(_BANKS),
            lambda number: (self._page(whole, number, timeout), False),
            lambda bank: bank.record_id or bank.id,
            sort=filters.get("sort"),
        )

    def _page(self, filters: BankFilters, number: int | None, timeout: float | None) -> Page[Bank]:
        return self._caller.page(_BANKS, _BANK, query=_FILTERS.query(filters, number), timeout=timeout)

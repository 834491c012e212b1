"""Which reference records a query asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Annotated

from flask_paycheckout.sandbox.kinds import Choice, Flag, Text
from flask_paycheckout.sandbox.paging import PageQuery, allowed_limit, envelope
from flask_paycheckout.sandbox.records import Page
from flask_paycheckout.sandbox.references.banks import BANKS, Bank
from flask_paycheckout.sandbox.references.representation import BankRecord, represent_bank
from flask_paycheckout.sandbox.tokens import EVM, STELLAR, TOKENS, Token


@dataclass(frozen=True)
class CryptoQuery:
    """Which tokens are listed: all, unless a filter says otherwise."""

    use_smart_contract: Annotated[bool | None, Flag()] = None
    blockchain_type: Annotated[str | None, Choice((EVM, STELLAR))] = None


@dataclass(frozen=True)
class BankQuery(PageQuery):
    """Which banks are listed. Countries are compared without regard to case."""

    country: Annotated[str | None, Text()] = None
    currency: Annotated[str | None, Text()] = None
    # The interface spells it so.
    disbursment_available: Annotated[bool, Flag()] = False


@dataclass(frozen=True)
class MethodQuery:
    """Which payment methods are listed: those for buying crypto, or those for deposits."""

    is_for_deposit: Annotated[bool, Flag()] = False


def tokens_of(query: CryptoQuery) -> list[Token]:
    return [
        token
        for token in TOKENS
        if query.use_smart_contract in {None, token.uses_smart_contract}
        and query.blockchain_type in {None, token.blockchain_type}
    ]


def banks_of(query: BankQuery) -> Page[BankRecord]:
    """One page of the banks. There are a hundred of them and they never change, so they live in no table."""
    limit = allowed_limit(query.limit)
    wanted = [bank for bank in BANKS if _is_wanted(bank, query)]
    wanted.sort(key=_time_of(query.sort), reverse=query.sort.startswith("-"))
    first = (query.page - 1) * limit
    docs = [represent_bank(bank) for bank in wanted[first : first + limit]]
    return envelope(docs, len(wanted), limit, query.page)


def _is_wanted(bank: Bank, query: BankQuery) -> bool:
    return (
        (query.country is None or query.country.casefold() == bank.country.casefold())
        and query.currency in {None, bank.currency}
        and (bank.is_available or not query.disbursment_available)
    )


def _time_of(sort: str) -> Callable[[Bank], datetime]:
    return attrgetter("updated_at" if sort.endswith("updatedAt") else "created_at")

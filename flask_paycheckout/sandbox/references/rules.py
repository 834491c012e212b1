"""Selection of tokens and banks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from operator import attrgetter

from flask_paycheckout.sandbox.money.tokens import TOKENS, Token
from flask_paycheckout.sandbox.references.data import BANKS, Bank
from flask_paycheckout.sandbox.references.schemas import BankQuery, BankRecord, CryptoQuery, represent_bank
from flask_paycheckout.sandbox.wire.paging import Page, allowed_limit, envelope, is_wanted


def tokens_of(query: CryptoQuery) -> list[Token]:
    return [
        token
        for token in TOKENS
        if query.use_smart_contract in {None, token.uses_smart_contract}
        and query.blockchain_type in {None, token.blockchain_type}
    ]


def banks_of(query: BankQuery) -> Page[BankRecord]:
    """One page of the banks, which are a constant, not a table."""
    limit = allowed_limit(query.limit)
    wanted = [bank for bank in BANKS if _is_wanted(bank, query)]
    wanted.sort(key=_time_of(query.sort), reverse=query.sort.startswith("-"))
    first = (query.page - 1) * limit
    docs = [represent_bank(bank) for bank in wanted[first : first + limit]]
    return envelope(docs, len(wanted), limit, query.page)


def _is_wanted(bank: Bank, query: BankQuery) -> bool:
    return (
        is_wanted(bank.country, query.country)
        and query.currency in {None, bank.currency}
        and (bank.is_available or not query.disbursment_available)
    )


def _time_of(sort: str) -> Callable[[Bank], datetime]:
    return attrgetter("updated_at" if sort.endswith("updatedAt") else "created_at")

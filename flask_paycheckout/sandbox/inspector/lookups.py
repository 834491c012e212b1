"""The statements behind the search box: which columns it looks at, each along an index, with bounded work.

Text is compared as a whole or by its beginning, amounts as decimals. Ids are hexadecimal digits; enough of their first
digits find them too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, or_, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import Account, User
from flask_paycheckout.sandbox.checkouts.tables import Checkout
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.fiat_disbursements.tables import BankTransfer
from flask_paycheckout.sandbox.inspector.account_filter import AccountFilter
from flask_paycheckout.sandbox.outgoing.mails import Mail
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook
from flask_paycheckout.sandbox.payments.tables import Payment
from flask_paycheckout.sandbox.recipients.tables import Recipient

MAX_FOUND = 10
"""The most that is shown of each kind."""
LOOKED_THROUGH = 10_000
"""The most rows with one value that are looked through for those of an account or a currency."""

_AMOUNT = re.compile(
    r"(?P<whole>[0-9]{1,30}|[0-9]{1,3}(,[0-9]{3}){1,9})(\.(?P<part>[0-9]{1,18}))?(\s+(?P<code>\S{2,40}))?"
)
_ID = re.compile(r"[0-9a-f]{6,24}")
_AFTER_DIGITS = "g"
_LAST_CHARACTER = "\U0010ffff"
# No token has more.
_MOST_DECIMALS = 18


@dataclass(frozen=True)
class Amount:
    """An amount that is looked for; a currency limits it to that one."""

    value: Decimal
    currency: str | None

    def spellings(self) -> list[str]:
        """Every text under which an equal decimal can be stored: with none of its last zeros, or with more of them."""
        whole, _, part = f"{self.value:f}".partition(".")
        part = part.rstrip("0")
        return [f"{whole}.{part.ljust(places, '0')}".rstrip(".") for places in range(len(part), _MOST_DECIMALS + 1)]


def read_amount(text: str) -> Amount | None:
    """Read `12.5`, `1,250.00` or `12.50 USD`; None when it is no amount."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return None
    return Amount(Decimal(f"{found['whole'].replace(',', '')}.{found['part'] or 0}"), found["code"])


def _as_written(text: str) -> tuple[str, ...]:
    return (text,)


def _folded(text: str) -> tuple[str, ...]:
    return (text.casefold(),)


def _written_or_folded(text: str) -> tuple[str, ...]:
    return tuple({text, text.casefold()})


def _in_small_letters(text: str) -> tuple[str, ...]:
    """As the databases' `lower` does it, which leaves all but the letters of ASCII."""
    return ("".join(one.lower() if one.isascii() else one for one in text),)


@dataclass(frozen=True)
class TextColumn:
    """A column in which text is looked up: its name for people, and the id of the thing that it is about."""

    name: str
    column: Any
    about: Any
    spell: Callable[[str], tuple[str, ...]] = _as_written

    def holds(self, text: str) -> ColumnElement[bool]:
        """The condition that the column begins with the text; a range, which an index answers."""
        spelled = self.spell(text)
        return or_(*(and_(self.column >= one, self.column < one + _LAST_CHARACTER) for one in spelled))


@dataclass(frozen=True)
class IdColumn(TextColumn):
    """A column of ids."""

    def holds(self, text: str) -> ColumnElement[bool]:
        text = text.lower()
        if not _ID.fullmatch(text):
            return self.column == text  # type: ignore[no-any-return]  # a column's comparison
        return and_(self.column >= text, self.column < text + _AFTER_DIGITS)


@dataclass(frozen=True)
class AmountColumn:
    name: str
    column: Any
    currency: Any


@dataclass(frozen=True)
class Kind:
    """One kind of things that are found. Its rows, a select, begin with the thing and end with its account's name."""

    name: str
    id: Any
    owner: Any
    rows: Any
    newest: Any
    texts: tuple[TextColumn, ...]
    amounts: tuple[AmountColumn, ...] = ()
    at: Any = None
    """The time that the indexes of amounts are ordered by."""


def _ids(model: Any) -> IdColumn:
    return IdColumn("id", model.id, model.id)


def _with_account(model: Any, *more: Any) -> Select[Any]:
    return select(model, *more, Account.name).join(Account, Account.user_id == model.user_id)


KINDS = (
    Kind(
        "checkout",
        Checkout.id,
        Checkout.user_id,
        _with_account(Checkout),
        Checkout.created_at,
        (_ids(Checkout),),
        (
            AmountColumn("amount", Checkout.input_amount, Checkout.input_currency),
            AmountColumn("amount for the shop", Checkout.output_amount, Checkout.output_currency),
        ),
        Checkout.created_at,
    ),
    Kind(
        "deposit",
        Deposit.id,
        Deposit.user_id,
        _with_account(Deposit),
        Deposit.created_at,
        (_ids(Deposit), TextColumn("reference", Deposit.reference, Deposit.id)),
        (
            AmountColumn("amount", Deposit.input_amount, Deposit.input_currency),
            AmountColumn("amount for the shop", Deposit.output_amount, Deposit.output_currency),
        ),
        Deposit.created_at,
    ),
    Kind(
        "disbursement",
        Disbursement.id,
        Disbursement.user_id,
        _with_account(Disbursement),
        Disbursement.number,
        (
            _ids(Disbursement),
            TextColumn("reference", Disbursement.reference, Disbursement.id),
            IdColumn("batch", Disbursement.group_id, Disbursement.id),
            IdColumn("recipient", BankTransfer.recipient_id, BankTransfer.disbursement_id),
            TextColumn("e-mail", func.lower(BankTransfer.email), BankTransfer.disbursement_id, _in_small_letters),
        ),
        (AmountColumn("amount", Disbursement.amount, Disbursement.currency),),
        Disbursement.created_at,
    ),
    Kind(
        "payment",
        Payment.id,
        Payment.user_id,
        _with_account(Payment),
        Payment.number,
        (
            _ids(Payment),
            IdColumn("recipient", Payment.receiver_id, Payment.id),
            TextColumn("sender's e-mail", func.lower(Payment.sender_email), Payment.id, _in_small_letters),
            TextColumn("recipient's e-mail", func.lower(Payment.receiver_email), Payment.id, _in_small_letters),
        ),
        (
            AmountColumn("amount", Payment.input_amount, Payment.input_currency),
            AmountColumn("amount received", Payment.output_amount, Payment.output_currency),
        ),
        Payment.created_at,
    ),
    Kind(
        "recipient",
        Recipient.id,
        Recipient.user_id,
        _with_account(Recipient),
        Recipient.number,
        (
            _ids(Recipient),
            TextColumn("reference", Recipient.reference, Recipient.id),
            TextColumn("name", Recipient.name_key, Recipient.id, _folded),
            TextColumn("e-mail", Recipient.email_key, Recipient.id, _folded),
        ),
    ),
    Kind(
        "account",
        Account.user_id,
        Account.user_id,
        select(Account, Account.name),
        Account.name,
        (
            IdColumn("id", Account.user_id, Account.user_id),
            TextColumn("name", Account.name, Account.user_id),
            TextColumn("client id", Account.client_id, Account.user_id),
            TextColumn("e-mail of a user", User.email_key, User.account_id, _written_or_folded),
        ),
    ),
    Kind(
        "mail",
        Mail.number,
        Mail.user_id,
        _with_account(Mail),
        Mail.number,
        (TextColumn("address", Mail.address, Mail.number, _folded),),
    ),
    Kind(
        "webhook",
        Webhook.id,
        Webhook.user_id,
        _with_account(Webhook),
        Webhook.created_at,
        (_ids(Webhook), IdColumn("about", Webhook.order_id, Webhook.id)),
    ),
)
"""Everything that is found along an index; calls are looked for in the request log."""


def find(session: Session, kind: Kind, text: str, amount: Amount | None, accounts: AccountFilter) -> dict[Any, str]:
    """The ids of what is found, one more than are shown, each with the name of what matched."""
    found: dict[Any, str] = {}
    of_account = LOOKED_THROUGH if accounts.name else MAX_FOUND + 1
    for texts in kind.texts:
        for one in _narrowed(session, _beginning(kind, texts, text, of_account), accounts, None):
            found.setdefault(one, texts.name)
    if amount is not None:
        most = LOOKED_THROUGH if amount.currency else of_account
        for amounts in kind.amounts:
            for one in _narrowed(session, _equal(kind, amounts, amount, most), accounts, amount):
                found.setdefault(one, amounts.name)
    return found


def _beginning(kind: Kind, texts: TextColumn, text: str, most: int) -> Select[Any]:
    """What a column of text finds, in the order of its index."""
    wanted = select(texts.about.label("about"), kind.owner.label("owner"))
    if texts.about.class_ is not kind.id.class_:
        wanted = wanted.join(kind.id.class_, kind.id == texts.about)
    return wanted.where(texts.holds(text)).order_by(texts.column.desc()).limit(most)


def _equal(kind: Kind, amounts: AmountColumn, amount: Amount, most: int) -> Select[Any]:
    """Rows with an equal decimal, along the index: the newest of each spelling, and a currency has one spelling."""
    wanted = select(kind.id.label("about"), kind.owner.label("owner"), amounts.currency.label("currency"))
    wanted = wanted.where(amounts.column.in_([Decimal(one) for one in amount.spellings()]))
    return wanted.order_by(amounts.column.desc(), kind.at.desc(), kind.id.desc()).limit(most)


def _narrowed(session: Session, wanted: Select[Any], accounts: AccountFilter, amount: Amount | None) -> list[Any]:
    """Those of an account and a currency. The wanted are bounded before, however many others have the same value."""
    looked_at = wanted.subquery()
    narrowed = select(looked_at.c.about).where(*accounts.of(looked_at.c.owner))
    if amount is not None and amount.currency is not None:
        code = amount.currency
        narrowed = narrowed.where(looked_at.c.currency.in_([code, code.upper(), code.lower()]))
    return list(session.scalars(narrowed.limit(MAX_FOUND + 1)))

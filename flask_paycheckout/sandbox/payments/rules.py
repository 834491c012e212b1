"""Creating payments, and selecting those of an account."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_DOWN, Decimal
from typing import Any

from sqlalchemy import ColumnElement, Select, false, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from flask_paycheckout.sandbox.auth.tables import User
from flask_paycheckout.sandbox.crypto_disbursements.addresses import check_address, sending_wallet
from flask_paycheckout.sandbox.money.currencies import EXACT, rounded
from flask_paycheckout.sandbox.money.tokens import Token, find_token
from flask_paycheckout.sandbox.payments.quotes import (
    PER_DOLLAR,
    Exchange,
    cents_of,
    check_exchangeable,
    exchange,
    fees_of,
    worth_in_dollars,
)
from flask_paycheckout.sandbox.payments.schemas import NewPayment, PaymentQuery
from flask_paycheckout.sandbox.payments.tables import OFFRAMP, ONRAMP, PENDING, Payment, lower_bound, sortable
from flask_paycheckout.sandbox.payments.transitions import begin_history
from flask_paycheckout.sandbox.recipients.rules import find_recipient
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.references.data import CURRENCIES
from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.wire.field_types import UnknownCode, in_units
from flask_paycheckout.sandbox.wire.paging import text_filters
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.ids import derived, new_id

# More than any token has, and so few that the largest amount can still be stored.
_EXACT_PLACES = 27


@dataclass(frozen=True)
class Purchase:
    """An amount of a currency with its fees, and what it buys of a token."""

    token: Token
    currency: str
    rate: Decimal
    amount: Decimal
    exchange_fee: Decimal
    platform_fee: Decimal

    @property
    def received_exactly(self) -> Decimal:
        net = EXACT.subtract(self.amount, EXACT.add(self.exchange_fee, self.platform_fee))
        places = Decimal(1).scaleb(-_EXACT_PLACES)
        return EXACT.divide(net, self.rate).quantize(places, rounding=ROUND_DOWN, context=EXACT)

    @property
    def received(self) -> Decimal:
        return rounded(self.received_exactly, self.token.id, ROUND_DOWN)

    @property
    def dollars(self) -> Decimal:
        return EXACT.divide(self.amount, PER_DOLLAR[self.currency])


def is_purchase(input_currency: str, output_currency: str) -> bool:
    """Whether a payment with these codes is an onramp payment, where there can be any."""
    is_onramp = input_currency in CURRENCIES and find_token(output_currency) is not None
    return is_onramp and assumption("onramp_payments") == "accepted"


def purchase(amount_field: str, amount: Decimal, currency: str, token_id: str) -> Purchase:
    """Compute what an amount of a currency buys.

    :param amount_field: the amount's name in the request, for error messages.
    :raises FieldError: the token is unknown, or the amount has more decimals than the currency.
    :raises Refusal: the currency does not buy that token, or the amount is so small that nothing would arrive.
    """
    token = find_token(token_id)
    if token is None:
        raise UnknownCode("outputCurrency")
    rate = check_exchangeable(token, currency)
    exact = in_units(amount_field, amount, currency)
    made = Purchase(token, currency, rate, exact, *fees_of(currency, exact))
    if made.received <= 0:
        raise unspecified_refusal(400, f"{amount_field} is so small that nothing of it would arrive; send more.")
    return made


LIFETIME = timedelta(hours=24)
"""Time from a payment's creation to its expiredDate."""


def make_payment(session: Session, user_id: str, sent: NewPayment) -> Payment:
    """Store a pending payment with the first entry of its history."""
    made = _exchanged(sent)
    check_address("walletAddress", sent.wallet_address, made.token.blockchain_type)
    receiver = find_recipient(session, user_id, sent.receiver_id)
    if receiver is None:
        raise unspecified_refusal(400, "receiverId is no recipient; GET /v1/recipient lists them.")
    payment = _payment(session, user_id, sent, made, receiver)
    session.add(payment)
    session.flush()
    begin_history(session, payment)
    session.flush()
    return payment


def _exchanged(sent: NewPayment) -> Exchange | Purchase:
    exchanging = purchase if is_purchase(sent.input_currency, sent.output_currency) else exchange
    return exchanging("inputAmount", sent.input_amount, sent.input_currency, sent.output_currency)


def payout_wallet(user_id: str, token: Token) -> str:
    """The wallet that the sender pays into; it is derived, so nobody has its key."""
    return sending_wallet(f"payout:{user_id}", token.blockchain_type)


def _payment(
    session: Session, user_id: str, sent: NewPayment, made: Exchange | Purchase, receiver: Recipient
) -> Payment:
    user, now = session.get_one(User, user_id), world().clock.now()
    return Payment(
        id=new_id(session),
        user_id=user_id,
        organization_id=user.organization_id,
        organization_name=user.organization_name,
        # A sender has the same id in all payments of an account.
        sender_id=derived(f"sender:{user_id}:{sent.sender_email.casefold()}"),
        sender_name=sent.sender_name,
        sender_email=sent.sender_email,
        wallet_address=sent.wallet_address,
        **_receiver(receiver),
        us_network=sent.us_network,
        **_money(made),
        reason=sent.reason,
        description=sent.description,
        payout_wallet=payout_wallet(user_id, made.token),
        status=PENDING,
        created_at=now,
        updated_at=now,
        expired_at=now + LIFETIME,
        text_key=_text_key(sent.sender_name, sent.sender_email, receiver.name, receiver.email),
    )


def _receiver(receiver: Recipient) -> dict[str, str | None]:
    return {
        "receiver_id": receiver.id,
        "receiver_name": receiver.name,
        "receiver_key": receiver.name.casefold(),
        "receiver_email": receiver.email,
        "account_number": receiver.account_number,
        "bank_name": receiver.bank_name,
        "ifsc": receiver.ifsc,
        "ach_number": receiver.ach_number,
        "fedwire_number": receiver.fedwire_number,
        "iban_number": receiver.iban_number,
    }


def _money(made: Exchange | Purchase) -> dict[str, Any]:
    columns = _of_purchase(made) if isinstance(made, Purchase) else _of_exchange(made)
    return columns | {
        "input_amount": made.amount,
        "input_key": sortable(made.amount),
        "exchange_fees": made.exchange_fee,
        "platform_fees": made.platform_fee,
        "output_key": sortable(columns["output_amount"]),
        "blockchain": made.token.network,
    }


def _of_exchange(made: Exchange) -> dict[str, Any]:
    return {
        "payment_type": OFFRAMP,
        "input_currency": made.token.id,
        "output_currency": made.currency,
        "output_amount": made.received_in_currency,
        "output_amount_exact": made.received_in_currency_exactly,
        "cents": cents_of(worth_in_dollars(made.token, made.amount)),
    }


def _of_purchase(made: Purchase) -> dict[str, Any]:
    return {
        "payment_type": ONRAMP,
        "input_currency": made.currency,
        "output_currency": made.token.id,
        "output_amount": made.received,
        "output_amount_exact": made.received_exactly,
        "cents": cents_of(made.dollars),
    }


def _text_key(*texts: str) -> str:
    # Joined by line breaks, which no search text contains, so that no match spans two texts.
    return "\n".join(text.casefold() for text in texts)


def get_payment(session: Session, user_id: str, payment_id: str) -> Payment:
    """Find an account's payment by its id. :raises Refusal: there is none."""
    found = session.scalars(select(Payment).where(Payment.id == payment_id, Payment.user_id == user_id)).one_or_none()
    if found is None:
        raise unspecified_refusal(int(assumption("payment_not_found")), "Payment not found")
    return found


def selection(user_id: str, query: PaymentQuery) -> Select[Payment]:
    """The statement that selects the payments of a list."""
    wanted = select(Payment).where(Payment.user_id == user_id)
    if query.status is not None:
        wanted = wanted.where(Payment.status == query.status)
    texts = (
        (Payment.reason, query.reason),
        (Payment.organization_id, query.organization_id),
        (Payment.organization_name, query.organization_name),
        (Payment.blockchain, query.blockchain),
        (Payment.receiver_key, None if query.receiver_name is None else query.receiver_name.casefold()),
    )
    wanted = wanted.where(*text_filters(texts))
    wanted = wanted.where(*_between(Payment.input_key, query.min_input_amount, query.max_input_amount))
    wanted = wanted.where(*_between(Payment.output_key, query.min_output_amount, query.max_output_amount))
    if query.search is None:
        return wanted
    return wanted.where(Payment.text_key.contains(query.search.casefold(), autoescape=True))


def _between(
    key: InstrumentedAttribute[str], minimum: Decimal | None, maximum: Decimal | None
) -> Iterator[ColumnElement[bool]]:
    # Amounts are positive, so a negative bound includes all of them or none.
    if minimum is not None and minimum > 0:
        yield key >= lower_bound(minimum)
    if maximum is not None:
        yield false() if maximum < 0 else key <= sortable(maximum)

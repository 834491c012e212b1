"""Building the state of a start file: each entry comes to exist at its age, by the rules of the service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.checkouts.rules import requested_amounts, store_checkout
from flask_paycheckout.sandbox.checkouts.tables import CRYPTO, Checkout, Conversion, PaymentMethod
from flask_paycheckout.sandbox.crypto_disbursements.rules import disburse
from flask_paycheckout.sandbox.crypto_disbursements.schemas import NewCryptoDisbursements, Receiver
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.deposits.transitions import NoSuchMethod, force_deposit, pay, pick
from flask_paycheckout.sandbox.disbursements.tables import PENDING, Disbursement
from flask_paycheckout.sandbox.disbursements.transitions import finish_disbursement
from flask_paycheckout.sandbox.fiat_disbursements.rules import disburse_v2
from flask_paycheckout.sandbox.fiat_disbursements.schemas import ITEMS, FiatPaymentV2, NewFiatDisbursementsV2
from flask_paycheckout.sandbox.levers.account_switches import set_switches
from flask_paycheckout.sandbox.levers.accounts import NewAccount, find_account
from flask_paycheckout.sandbox.levers.customer import double_of, half_of
from flask_paycheckout.sandbox.levers.start_entries import (
    SENT_AT_THE_START,
    AccountEntry,
    CheckoutEntry,
    ConversionEntry,
    MethodEntry,
    PaymentEntry,
    PayoutEntry,
    RecipientEntry,
)
from flask_paycheckout.sandbox.levers.start_file import StartFile, StartFileError
from flask_paycheckout.sandbox.outgoing.webhook_addresses import set_webhook_url
from flask_paycheckout.sandbox.outgoing.webhooks import DROPPED, Webhook
from flask_paycheckout.sandbox.payments.rules import make_payment
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.recipients.rules import add_recipient
from flask_paycheckout.sandbox.recipients.schemas import NewRecipient
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.wire.codes import decimals_in
from flask_paycheckout.sandbox.wire.envelope import Refusal
from flask_paycheckout.sandbox.wire.parsing import FieldError
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.transitions import NotPossible

_USUAL_AGE = timedelta(days=2)
_NEW = ("open", "picked")
_MINUTE = timedelta(minutes=1)
_LATE = timedelta(minutes=16)
_PROGRESS = (timedelta(minutes=5), timedelta(minutes=10))


def new_accounts(found: StartFile) -> list[NewAccount]:
    """The accounts that a start file adds."""
    return [
        NewAccount(
            name=entry.name,
            client_id=entry.client_id,
            client_secret=entry.client_secret,
            access_token=entry.access_token,
            email=entry.email,
            password=entry.password,
            webhook_url=entry.webhook_url,
        )
        for entry in found.accounts
        if entry.name != ACCOUNT_NAME
    ]


def build(session: Session, found: StartFile) -> None:
    """Bring everything but the accounts themselves to exist, in the current transaction.

    :raises StartFileError: naming the first entry that the rules of the service do not allow.
    """
    _each(session, "paymentMethods", found.payment_methods, _set_method)
    _each(session, "conversions", found.conversions, _set_conversion)
    _each(session, "recipients", found.recipients, _add_recipient)
    begin = world().clock.begin()
    history: list[tuple[datetime, str, Any, Callable[[Session, Any], None]]] = []
    kinds: tuple[tuple[str, tuple[Any, ...], Callable[[Session, Any], None]], ...] = (
        ("checkouts", found.checkouts, _make_checkout),
        ("payouts", found.payouts, _make_payout),
        ("payments", found.payments, _make_payment),
    )
    for kind, entries, make in kinds:
        history += [(begin - _age_of(one), f"{kind}[{place}]", one, make) for place, one in enumerate(entries)]
    # In the order of time, so that later ones get later numbers.
    for _, where, entry, make in sorted(history, key=lambda one: one[0]):
        with _named(where):
            make(session, entry)
    # Last, since they may forbid what has happened before.
    _each(session, "accounts", found.accounts, _set_switches)
    session.flush()


def _each(session: Session, kind: str, entries: tuple[Any, ...], make: Callable[[Session, Any], None]) -> None:
    for place, entry in enumerate(entries):
        with _named(f"{kind}[{place}]"):
            make(session, entry)


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Let a refusal by the rules of the service name the entry."""
    try:
        yield
    except NoSuchMethod as wrong:
        raise StartFileError(f"{where}.paymentMethod {wrong}.") from None
    except FieldError as wrong:
        told = str(wrong).removeprefix(f"{ITEMS}[0].").removeprefix("receivers[0].")
        told = told.replace("receiverWalletAddress", "walletAddress").replace(
            "GET /_sandbox/account lists them", "the documentation lists them"
        )
        raise StartFileError(f"{where}.{told}") from None
    except NotPossible as wrong:
        raise StartFileError(f"{where} is not possible: {wrong}.") from None
    except Refusal as refused:
        told = refused.message or f"statusCode {refused.status_code}"
        raise StartFileError(f"{where} is refused by the service: {told}") from None


def _age_of(entry: CheckoutEntry | PayoutEntry | PaymentEntry) -> timedelta:
    if entry.age is not None:
        return entry.age
    is_new = entry.state in (*_NEW, PENDING) if isinstance(entry, CheckoutEntry | PayoutEntry) else False
    return timedelta() if is_new else _USUAL_AGE


def _at(made: datetime, later: timedelta, do: Callable[[], object]) -> None:
    """Do something so long after a moment, but not after the start."""
    clock = world().clock
    with clock.at(min(made + later, clock.begin())):
        do()


def _set_method(session: Session, entry: MethodEntry) -> None:
    method = session.get(PaymentMethod, entry.code)
    given = {
        "name": entry.name,
        "group": entry.group,
        "currency": entry.currency,
        "flat_fee": entry.flat_fee_amount,
        "percent_fee": entry.percent_fee_amount,
        "min_amount": entry.min_amount,
        "max_amount": entry.max_amount,
        "token": entry.token,
        "token_rate": entry.token_rate,
        "enabled": entry.enabled,
    }
    if method is None:
        for field in ("name", "group", "currency"):
            if given[field] is None:
                raise FieldError(f"{field} is required for a new payment method; or correct the code.")
        highest = max(session.scalars(select(PaymentMethod.position)), default=0)
        method = PaymentMethod(
            code=entry.code,
            position=highest + 1,
            flat_fee=Decimal(0),
            percent_fee=Decimal(0),
            min_amount=Decimal(1),
            max_amount=Decimal(1_000_000),
            enabled=True,
        )
        session.add(method)
    for column, value in given.items():
        if value is not None:
            setattr(method, column, value)
    _check_method(method)
    session.flush()


def _check_method(method: PaymentMethod) -> None:
    decimals_in("currency", method.currency)
    if method.flat_fee < 0:
        raise FieldError("flatFeeAmount must not be negative.")
    if not 0 <= method.percent_fee < 100:
        raise FieldError("percentFeeAmount must be from 0 to less than 100.")
    if method.min_amount > method.max_amount:
        raise FieldError("minAmount must not be above maxAmount.")
    if method.group == CRYPTO and (method.token is None or method.token_rate is None):
        raise FieldError("token and tokenRate are required in the group crypto.")
    if method.group != CRYPTO and (method.token is not None or method.token_rate is not None):
        raise FieldError("token and tokenRate are for the group crypto; leave them out.")
    if method.token is not None:
        decimals_in("token", method.token)


def _set_conversion(session: Session, entry: ConversionEntry) -> None:
    for field, code in (("inputCurrency", entry.input_currency), ("outputCurrency", entry.output_currency)):
        decimals_in(field, code)
    conversion = session.get(Conversion, (entry.input_currency, entry.output_currency))
    if conversion is None:
        if entry.rate is None:
            raise FieldError("rate is required for a new conversion; or correct the currencies.")
        conversion = Conversion(
            input_currency=entry.input_currency, output_currency=entry.output_currency, enabled=True
        )
        session.add(conversion)
    conversion.rate = conversion.rate if entry.rate is None else entry.rate
    conversion.enabled = conversion.enabled if entry.enabled is None else entry.enabled
    session.flush()


def _add_recipient(session: Session, entry: RecipientEntry) -> None:
    if entry.id is not None and session.scalar(select(Recipient.id).where(Recipient.id == entry.id)) is not None:
        raise FieldError("id is that of another recipient.")
    account = find_account(session, entry.account)
    made = world().clock.begin() - (entry.age or _USUAL_AGE)
    sent = NewRecipient(**{field.name: getattr(entry, field.name) for field in fields(NewRecipient)})
    _at(made, timedelta(), lambda: add_recipient(session, account.user_id, sent, entry.id))


def _make_checkout(session: Session, entry: CheckoutEntry) -> None:
    age, user_id = _age_of(entry), find_account(session, entry.account).user_id
    made = world().clock.begin() - age
    if entry.id is not None and session.get(Checkout, entry.id) is not None:
        raise FieldError("id is that of another checkout.")
    _check_checkout(entry, age)
    stored: list[str] = []
    _at(made, timedelta(), lambda: stored.append(store_checkout(session, user_id, requested_amounts(entry), entry.id)))
    checkout_id = stored[0]
    if entry.state in ("open", "abandoned"):
        return
    _at(made, _MINUTE, lambda: pick(session, checkout_id, entry.payment_method, entry.reference))
    deposit = session.get_one(Deposit, checkout_id)
    match entry.state:
        case "picked" if deposit.expired_at <= world().clock.begin():
            raise FieldError('age is so high that the deposit has expired; lower it, or write state = "expired".')
        case "expired" if deposit.expired_at > world().clock.begin():
            raise FieldError(f'age must be at least {deposit.expired_at - made} for state = "expired".')
        case "failed":
            _at(made, 2 * _MINUTE, lambda: force_deposit(session, user_id, checkout_id, "failed"))
        case "paid" | "underpaid" | "overpaid" | "paid-late":
            amount = {"underpaid": half_of(deposit), "overpaid": double_of(deposit)}.get(entry.state)
            later = _LATE if entry.state == "paid-late" else 2 * _MINUTE
            _at(made, later, lambda: pay(session, checkout_id, entry.paid_amount or amount))
    _settle_webhooks(session, checkout_id, entry.webhook)


def _check_checkout(entry: CheckoutEntry, age: timedelta) -> None:
    """Check the fields of a checkout against its state."""
    if entry.state == "open" and age >= _LATE - _MINUTE:
        raise FieldError('age must be less than 15m for state = "open"; write state = "abandoned" for an older one.')
    if entry.state in ("abandoned", "paid-late") and age < _LATE:
        raise FieldError(f'age must be at least 16m for state = "{entry.state}".')
    for field, value in (("paymentMethod", entry.payment_method), ("reference", entry.reference)):
        if value is not None and entry.state in ("open", "abandoned"):
            raise FieldError(f"{field} is for states in which a method was picked; leave it out.")
    if entry.paid_amount is not None and entry.state not in ("paid", "paid-late"):
        raise FieldError("paidAmount is for the states paid and paid-late; leave it out.")
    if entry.webhook is not None and entry.state in ("open", "picked", "expired", "abandoned"):
        raise FieldError("webhook is for states that a webhook reports; leave it out.")


def _settle_webhooks(session: Session, order_id: str, wanted: str | None) -> None:
    """Let the webhooks about something be sent at the start, or never unless somebody asks for it."""
    if wanted != SENT_AT_THE_START:
        session.flush()
        session.execute(update(Webhook).where(Webhook.order_id == order_id).values(state=DROPPED))


def _make_payout(session: Session, entry: PayoutEntry) -> None:
    account = find_account(session, entry.account)
    made = world().clock.begin() - _age_of(entry)
    is_crypto = entry.token is not None or entry.wallet_address is not None
    if is_crypto == (entry.recipient is not None):
        raise FieldError("recipient, or token and walletAddress, must be given.")
    if entry.webhook is not None and entry.state == PENDING:
        raise FieldError("webhook is for the states completed and failed; leave it out.")
    ids: list[str] = []
    ask = _ask_tokens if is_crypto else _ask_bank
    _at(made, timedelta(), lambda: ids.append(ask(session, account, entry)))
    if entry.state == PENDING:
        return
    payout = session.scalars(select(Disbursement).where(Disbursement.id == ids[0])).one()
    _at(made, 2 * _MINUTE, lambda: finish_disbursement(session, payout, entry.state))
    _settle_webhooks(session, payout.id, entry.webhook)


def _ask_bank(session: Session, account: Account, entry: PayoutEntry) -> str:
    wanted = or_(*(column == entry.recipient for column in (Recipient.id, Recipient.name, Recipient.email)))
    found = select(Recipient).where(Recipient.user_id == account.user_id, wanted).order_by(Recipient.number)
    recipient = session.scalars(found.limit(1)).one_or_none()
    if recipient is None:
        raise FieldError("recipient must be the id, the name or the e-mail address of a recipient of the account.")
    item = FiatPaymentV2(entry.amount, recipient_id=recipient.id, reference=entry.reference, note=entry.note)
    batch = disburse_v2(session, account.user_id, NewFiatDisbursementsV2(recipient.currency, [item]))
    return batch.disburse_data[0].disbursement_id


def _ask_tokens(session: Session, account: Account, entry: PayoutEntry) -> str:
    if entry.token is None or entry.wallet_address is None:
        raise FieldError("token and walletAddress must both be given.")
    item = Receiver(entry.amount, entry.wallet_address, entry.reference, entry.note)
    batch = disburse(session, account.user_id, NewCryptoDisbursements(entry.token, [item]))
    return batch.disburse_data[0].disbursement_id


def _make_payment(session: Session, entry: PaymentEntry) -> None:
    account = find_account(session, entry.account)
    made = world().clock.begin() - _age_of(entry)
    _at(made, timedelta(), lambda: make_payment(session, account.user_id, entry))
    for later in _PROGRESS:
        _at(made, later, lambda: progress_due(session))


def _set_switches(session: Session, entry: AccountEntry) -> None:
    account = find_account(session, entry.name)
    if entry.webhook_url is not None:
        set_webhook_url(session, account.user_id, entry.webhook_url)
    asked = {
        "checkoutEnabled": entry.checkout_enabled,
        "paymentMethods": [{"code": one.code, "enabled": one.enabled} for one in entry.payment_methods or ()],
        "conversions": [
            {"inputCurrency": one.input_currency, "outputCurrency": one.output_currency, "enabled": one.enabled}
            for one in entry.conversions or ()
        ],
    }
    set_switches(session, account, asked)

"""`GET /inspector/search`: finds checkouts, deposits, disbursements, payments, recipients, accounts, mails, webhooks
and calls by an id, a reference, an e-mail address or an amount.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import Response, url_for
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.inspector.account_filter import AccountFilter, read_filter
from flask_paycheckout.sandbox.inspector.blueprint import inspector, query_text, show
from flask_paycheckout.sandbox.inspector.lookups import (
    KINDS,
    LOOKED_THROUGH,
    MAX_FOUND,
    Amount,
    Kind,
    find,
    read_amount,
)
from flask_paycheckout.sandbox.inspector.timelines import mentions
from flask_paycheckout.sandbox.levers.pages import money
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.wire.request_log import KEPT, LoggedRequest
from flask_paycheckout.sandbox.world.database import transaction


@dataclass(frozen=True)
class Hit:
    """One thing that was found."""

    name: str
    """Its id, or what people know it by."""
    url: str
    by: str
    """What matched."""
    words: str
    state: str
    at: datetime | None
    account: str | None


@dataclass(frozen=True)
class Group:
    """What was found of one kind."""

    kind: str
    hits: list[Hit]
    has_more: bool


@inspector.get("/inspector/search")
def search() -> Response:
    """Show the newest of each kind that `?q=` finds; `?account=` limits them to those of an account."""
    text = query_text("q")
    with transaction() as session:
        for move in (expire_due, settle_due, progress_due):
            move(session)
        accounts = read_filter(session)
        groups = _groups(session, text, accounts) if text else []
    found = sum(len(group.hits) for group in groups)
    return show(
        "search", q=text, accounts=accounts, groups=groups, found=found, most=MAX_FOUND, looked_through=LOOKED_THROUGH
    )


def _groups(session: Session, text: str, accounts: AccountFilter) -> list[Group]:
    amount = read_amount(text)
    groups = [_group(session, kind, text, amount, accounts) for kind in KINDS]
    return [group for group in (*groups, _calls(session, text, accounts)) if group.hits]


def _group(session: Session, kind: Kind, text: str, amount: Amount | None, accounts: AccountFilter) -> Group:
    found = find(session, kind, text, amount, accounts)
    rows = session.execute(kind.rows.where(kind.id.in_(list(found))).order_by(kind.newest.desc()).limit(MAX_FOUND))
    hits = [_HITS[kind.name](row[0], found[getattr(row[0], kind.id.key)], row[-1]) for row in rows] if found else []
    return Group(f"{kind.name.capitalize()}s", hits, len(found) > MAX_FOUND)


def _calls(session: Session, text: str, accounts: AccountFilter) -> Group:
    """Logged calls that hold the text, as far as the log is kept."""
    log = LoggedRequest
    columns = (log.number, log.at, log.method, log.target, log.status, log.account)
    of_account = [log.account == accounts.name] if accounts.name else []
    newest = session.scalar(select(func.max(log.number))) or 0
    wanted = select(*columns).where(log.number > newest - KEPT, *of_account, mentions(text))
    rows = session.execute(wanted.order_by(log.number.desc()).limit(MAX_FOUND + 1)).all()
    hits = [
        Hit(
            f"{row.method} {row.target}",
            url_for("inspector.show_request", number=row.number),
            "address or body",
            "",
            "no answer" if row.status is None else str(row.status),
            row.at,
            row.account,
        )
        for row in rows
    ]
    return Group("Calls", hits[:MAX_FOUND], len(hits) > MAX_FOUND)


def _checkout(one: Any, by: str, account: str) -> Hit:
    pays = one.input_amount is not None
    asked = money(one.input_amount, one.input_currency) if pays else money(one.output_amount, one.output_currency)
    words = f"customer pays {asked}" if pays else f"shop receives {asked}"
    url = url_for("inspector.show_checkout", checkout_id=one.id)
    return Hit(one.id, url, by, words, "picked" if one.picked_at else "not picked", one.created_at, account)


def _deposit(one: Any, by: str, account: str) -> Hit:
    words = f"{money(one.input_amount, one.input_currency)} {one.reference or ''}"
    url = url_for("inspector.show_deposit", deposit_id=one.id)
    return Hit(one.id, url, by, words, one.status, one.created_at, account)


def _disbursement(one: Any, by: str, account: str) -> Hit:
    words = f"{money(one.amount, one.currency)} {one.reference or ''}"
    url = url_for("inspector.show_disbursement", disbursement_id=one.id)
    return Hit(one.id, url, by, words, one.status, one.created_at, account)


def _payment(one: Any, by: str, account: str) -> Hit:
    words = f"{money(one.input_amount, one.input_currency)} to {one.receiver_name}"
    url = url_for("inspector.show_payment", payment_id=one.id)
    return Hit(one.id, url, by, words, one.status, one.created_at, account)


def _recipient(one: Any, by: str, account: str) -> Hit:
    words = f"{one.name}, {one.email}, {one.currency}"
    url = url_for("inspector.show_recipient", recipient_id=one.id)
    return Hit(one.id, url, by, words, "", one.created_at, account)


def _account(one: Any, by: str, account: str) -> Hit:
    url = url_for("inspector.show_account", name=one.name)
    return Hit(one.name, url, by, f"client id {one.client_id}", "", None, account)


def _mail(one: Any, by: str, account: str) -> Hit:
    return Hit(one.to, url_for("inspector.show_mails", to=one.to), by, one.subject, one.state, one.sent_at, account)


def _webhook(one: Any, by: str, account: str) -> Hit:
    url = url_for("inspector.show_webhooks", order=one.order_id)
    return Hit(one.id, url, by, f"about {one.order_id}", one.state.replace("_", " "), one.created_at, account)


_HITS: dict[str, Callable[[Any, str, str], Hit]] = {
    "checkout": _checkout,
    "deposit": _deposit,
    "disbursement": _disbursement,
    "payment": _payment,
    "recipient": _recipient,
    "account": _account,
    "mail": _mail,
    "webhook": _webhook,
}

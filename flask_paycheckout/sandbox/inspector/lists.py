"""The inspector's lists, newest first: the overview at `/`, accounts, requests, mails and webhooks.

`?account=` filters each of them, `?skip=` continues with older rows.
"""

from __future__ import annotations

import re
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement, select

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.checkouts.tables import Checkout
from flask_paycheckout.sandbox.control.message_calls import list_webhooks
from flask_paycheckout.sandbox.crypto_disbursements.tables import WalletTransfer
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.fiat_disbursements.tables import BankTransfer
from flask_paycheckout.sandbox.inspector.blueprint import inspector, query_text, read_filter, read_page, show
from flask_paycheckout.sandbox.outgoing.faults import active_faults
from flask_paycheckout.sandbox.outgoing.mails import Mail
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, WebhookAddress
from flask_paycheckout.sandbox.payments.tables import Payment
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest
from flask_paycheckout.sandbox.wire.schemas import to_wire
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.database import transaction

MAX_OVERVIEW = 25
"""Rows of each table of the overview, and mails on a page."""
MAX_MAIL_TEXT = 2000
MAX_ATTEMPTS, MAX_BODY = 10, 2000
"""Attempts that are shown of a webhook, and characters of its body."""
WEBHOOK_STATES = ("waiting", "delivered", "failed", "dropped", "no_endpoint")
NO_ANSWER = "none"

_LOG = LoggedRequest
_LISTED = (_LOG.number, _LOG.at, _LOG.method, _LOG.target, _LOG.client_id, _LOG.account, _LOG.status, _LOG.fault)
_STATUS = re.compile(r"[1-5]([0-9][0-9]|xx)")
_CHECKOUTS: Any = (
    select(Checkout, Deposit, Account.name)
    .outerjoin(Deposit, Deposit.id == Checkout.id)
    .join(Account, Account.user_id == Checkout.user_id)
    .order_by(Checkout.created_at.desc(), Checkout.id)
)
_DISBURSEMENTS: Any = (
    select(Disbursement, BankTransfer, WalletTransfer, Account.name)
    .outerjoin(BankTransfer, BankTransfer.disbursement_id == Disbursement.id)
    .outerjoin(WalletTransfer, WalletTransfer.disbursement_id == Disbursement.id)
    .join(Account, Account.user_id == Disbursement.user_id)
    .order_by(Disbursement.number.desc())
)
_PAYMENTS: Any = (
    select(Payment, Account.name).join(Account, Account.user_id == Payment.user_id).order_by(Payment.number.desc())
)
# The tables of the overview: the rows of each, the last of which is the account's name, and their owner's column.
_TABLES = {
    "checkouts": (_CHECKOUTS, Checkout.user_id),
    "disbursements": (_DISBURSEMENTS, Disbursement.user_id),
    "payments": (_PAYMENTS, Payment.user_id),
}


@inspector.get("/")
def show_overview() -> Response:
    """Show checkouts, disbursements and payments; `?checkouts=25` and so on skip as many."""
    with transaction() as session:
        # Update what is due first, as every operation does before it answers.
        for move in (expire_due, settle_due, progress_due):
            move(session)
        accounts = read_filter(session)
        pages = {
            name: read_page(session, rows.where(*accounts.of(owner)), name, MAX_OVERVIEW)
            for name, (rows, owner) in _TABLES.items()
        }
        faults = len(active_faults(session))
    changed = [(one, value) for one in ASSUMPTIONS if (value := assumption(one.name)) != one.default]
    return show("overview", pages=pages, faults=faults, accounts=accounts, unknowns=changed)


@inspector.get("/inspector/accounts")
def show_accounts() -> Response:
    wanted = select(Account.name, Account.client_id, Account.user_id, WebhookAddress.url)
    wanted = wanted.outerjoin(WebhookAddress, WebhookAddress.user_id == Account.user_id).order_by(Account.name)
    with transaction() as session:
        accounts = read_filter(session)
        found = read_page(session, wanted.where(*accounts.of(Account.user_id)))
    return show("accounts", page=found, accounts=accounts)


@inspector.get("/inspector/requests")
def show_requests() -> Response:
    """Show logged requests, also filtered by `?status=` (a number, `4xx` or `none`) and `?path=`.

    `?account=` filters by the account whose signature or access token was accepted.
    """
    status, path = query_text("status").lower(), query_text("path")
    is_wrong = bool(status) and status != NO_ANSWER and not _STATUS.fullmatch(status)
    wanted = select(*_LISTED, _LOG.signed_string.is_not(None).label("rejected")).order_by(_LOG.number.desc())
    with transaction() as session:
        accounts = read_filter(session)
        # By name: the log also holds calls of accounts that were removed.
        signed = [_LOG.account == accounts.name] if accounts.name else []
        found = None if is_wrong else read_page(session, wanted.where(*signed, *_log_conditions(status, path)))
    kept = {"status": status, "path": path}
    return show("requests", 400 if is_wrong else 200, page=found, wanted=kept, accounts=accounts)


def _log_conditions(status: str, path: str) -> list[ColumnElement[bool]]:
    conditions = [_LOG.target.contains(path, autoescape=True)] if path else []
    if status == NO_ANSWER:
        conditions.append(_LOG.status.is_(None))
    elif status:
        least = int(status.replace("x", "0"))
        conditions.append(_LOG.status.between(least, least + 99 * status.endswith("xx")))
    return conditions


@inspector.get("/inspector/mails")
def show_mails() -> Response:
    """Show the mails that the service has sent, with one-time passwords; `?to=` filters by address."""
    to = query_text("to")
    wanted = select(Mail).where(*([Mail.address == to.casefold()] if to else [])).order_by(Mail.number.desc())
    with transaction() as session:
        accounts = read_filter(session)
        found = read_page(session, wanted.where(*accounts.of(Mail.user_id)), size=MAX_OVERVIEW)
    return show("mails", page=found, to=to, accounts=accounts, most_text=MAX_MAIL_TEXT)


@inspector.get("/inspector/webhooks")
def show_webhooks() -> Response:
    """Show webhooks; `?order=` filters by the id of a checkout or disbursement, `?state=` by state."""
    order, state = query_text("order"), query_text("state")
    about = [Webhook.order_id == order] if order else []
    in_state = [Webhook.state == state] if state in WEBHOOK_STATES else []
    newest = select(Webhook.id).order_by(Webhook.created_at.desc(), Webhook.id.desc())
    with transaction() as session:
        accounts = read_filter(session)
        page = read_page(session, newest.where(*about, *in_state, *accounts.of(Webhook.user_id)))
        found = to_wire(list_webhooks(session, Webhook.id.in_([row.id for row in page.rows])))
    return show(
        "webhooks",
        page=page,
        found=found[::-1],
        accounts=accounts,
        wanted={"order": order, "state": state},
        states=WEBHOOK_STATES,
        most={"attempts": MAX_ATTEMPTS, "body": MAX_BODY},
    )

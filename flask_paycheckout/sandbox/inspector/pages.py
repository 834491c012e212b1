"""The inspector's pages: lists, newest first, and single objects.

`?account=` filters the overview at `/` and each list, `?skip=` continues with older rows; further filters of a list are
in `LISTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flask import Response, redirect
from sqlalchemy import ColumnElement, String, cast, func, select, true
from sqlalchemy.orm import InstrumentedAttribute
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.auth.tables import User
from flask_paycheckout.sandbox.checkouts.endpoints import Checkout
from flask_paycheckout.sandbox.control.message_calls import list_webhooks
from flask_paycheckout.sandbox.control.sender import pass_time
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.inspector.blueprint import (
    MAX_ROWS,
    inspector,
    path_of,
    query_text,
    read_filter,
    read_page,
    show,
    show_missing,
)
from flask_paycheckout.sandbox.inspector.timelines import MAX_ENTRIES, rejection_of, timeline_of
from flask_paycheckout.sandbox.outgoing.faults import active_faults
from flask_paycheckout.sandbox.outgoing.mails import Mail
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook
from flask_paycheckout.sandbox.payments.tables import Payment
from flask_paycheckout.sandbox.wire.envelope import to_wire
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.database import transaction

MAX_OVERVIEW = 25
"""Rows of each table of the overview, and mails on a page."""
MAX_SHOWN = {"attempts": 10, "text": 2000}
"""Attempts that are shown of a webhook, and characters of its body and of a mail."""
WEBHOOK_STATES = ("waiting", "delivered", "failed", "dropped", "no_endpoint")


@dataclass(frozen=True)
class Listed:
    """One list: its rows, the column by which they belong to an account, and its filters by query parameter."""

    rows: Any
    owner: InstrumentedAttribute[Any]
    filters: Mapping[str, Callable[[str], ColumnElement[bool]]] = field(default_factory=dict)
    size: int = MAX_ROWS


def _has_status(text: str) -> ColumnElement[bool]:
    """The condition for a status, a class such as `4xx`, or `none` for requests without an answer."""
    status, text = func.coalesce(cast(LoggedRequest.status, String), "none"), text.lower()
    return status.startswith(text[0]) if text.endswith("xx") else status == text


_LOG = LoggedRequest
_LISTED = (_LOG.number, _LOG.at, _LOG.method, _LOG.target, _LOG.client_id, _LOG.account, _LOG.status, _LOG.fault)
LISTS = {
    "accounts": Listed(
        select(Account.name, Account.client_id, Account.user_id, Account.webhook_url).order_by(Account.name),
        Account.user_id,
    ),
    "requests": Listed(
        select(*_LISTED, _LOG.signed_string.is_not(None).label("rejected")).order_by(_LOG.number.desc()),
        # By name: the log also holds calls of accounts that were removed.
        _LOG.account,
        {"status": _has_status, "path": lambda text: _LOG.target.contains(text, autoescape=True)},
    ),
    "mails": Listed(
        select(Mail).order_by(Mail.number.desc()),
        Mail.user_id,
        {"to": lambda text: Mail.address == text.casefold()},
        MAX_OVERVIEW,
    ),
    "webhooks": Listed(
        select(Webhook.id).order_by(Webhook.number.desc()),
        Webhook.user_id,
        {
            "order": lambda text: Webhook.order_id == text,
            "state": lambda text: Webhook.state == text if text in WEBHOOK_STATES else true(),
        },
    ),
}
OVERVIEW = {
    "checkouts": Listed(
        select(Checkout, Deposit, Account.name)
        .outerjoin(Deposit, Deposit.id == Checkout.id)
        .join(Account, Account.user_id == Checkout.user_id)
        .order_by(Checkout.created_at.desc(), Checkout.id),
        Checkout.user_id,
    ),
    "disbursements": Listed(
        select(Disbursement, Account.name)
        .join(Account, Account.user_id == Disbursement.user_id)
        .order_by(Disbursement.number.desc()),
        Disbursement.user_id,
    ),
    "payments": Listed(
        select(Payment, Account.name).join(Account, Account.user_id == Payment.user_id).order_by(Payment.number.desc()),
        Payment.user_id,
    ),
}
"""The tables of the overview; each row ends with the account's name. `?checkouts=25` skips 25 rows, and so on."""


@inspector.get("/")
def show_overview() -> Response:
    """Show checkouts, disbursements and payments."""
    with transaction() as session:
        pass_time(session)
        accounts = read_filter(session)
        pages = {
            name: read_page(session, listed.rows.where(*accounts.of(listed.owner)), MAX_OVERVIEW, name)
            for name, listed in OVERVIEW.items()
        }
        faults = len(active_faults(session))
    changed = [(unknown, value) for unknown in ASSUMPTIONS if (value := assumption(unknown.name)) != unknown.default]
    return show("overview", pages=pages, faults=faults, accounts=accounts, unknowns=changed)


@inspector.get(f"/inspector/<any({', '.join(LISTS)}):name>")
def show_list(name: str) -> Response:
    """Show one of `LISTS`."""
    listed, webhooks = LISTS[name], None
    filters = {parameter: query_text(parameter) for parameter in listed.filters}
    with transaction() as session:
        accounts = read_filter(session)
        conditions = [listed.filters[parameter](text) for parameter, text in filters.items() if text]
        page = read_page(session, listed.rows.where(*conditions, *accounts.of(listed.owner)), listed.size)
        if name == "webhooks":
            webhooks = to_wire(list_webhooks(session, Webhook.id.in_([row.id for row in page.rows])))[::-1]
    return show(
        name, page=page, wanted=filters, found=webhooks, accounts=accounts, states=WEBHOOK_STATES, most=MAX_SHOWN
    )


DETAILS = {"checkouts": Checkout, "disbursements": Disbursement, "payments": Payment}


@inspector.get(f"/inspector/<any({', '.join(DETAILS)}):kind>/<id_>")
def show_detail(kind: str, id_: str) -> Response:
    """Show a checkout with its deposit, a disbursement, or one of the deprecated payments, and its timeline."""
    model: Any = DETAILS[kind]
    with transaction() as session:
        pass_time(session)
        made = session.scalar(select(model).where(model.id == id_))
        if made is None:
            return show_missing(kind.removesuffix("s"))
        deposit = session.get(Deposit, id_)
        account = session.scalar(select(Account.name).where(Account.user_id == made.user_id))
        timeline = timeline_of(session, made, deposit)
    facts = {"made": made, "deposit": deposit, "account": account, "timeline": timeline, "most": MAX_ENTRIES}
    return show(kind.removesuffix("s"), **facts)


_SEARCHED: tuple[tuple[str, Any, Any], ...] = (
    ("checkouts", Checkout.id, Checkout.id),
    ("checkouts", Deposit.reference, Deposit.id),
    ("disbursements", Disbursement.id, Disbursement.id),
    ("disbursements", Disbursement.reference, Disbursement.id),
    ("payments", Payment.id, Payment.id),
    ("accounts", Account.name, Account.name),
    ("accounts", Account.client_id, Account.name),
)
"""The pages that a search may lead to, with the searched column and the column with the page's name."""


@inspector.get("/inspector/search")
def search() -> AnyResponse:
    """Redirect to the object with exactly this text, to the mails of an address, or to the requests that contain it."""
    text = query_text("q")
    with transaction() as session:
        for kind, column, name in _SEARCHED:
            match = session.scalar(select(name).where(column == text).limit(1))
            if match is not None:
                return redirect(path_of(f"{kind}/{match}"), 303)
    return redirect(path_of("mails", to=text) if "@" in text else path_of("requests", path=text), 303)


@inspector.get("/inspector/accounts/<name>")
def show_account(name: str) -> Response:
    """Show an account without its secrets, and its users."""
    with transaction() as session:
        account = session.scalar(select(Account).where(Account.name == name))
        if account is None:
            return show_missing("account")
        users = select(User).where(User.account_id == account.user_id).order_by(User.created_at).limit(MAX_ROWS)
        people = session.scalars(users).all()
    return show("account", made=account, people=people)


@inspector.get("/inspector/requests/<int(max=2147483647):number>")
def show_request(number: int) -> Response:
    with transaction() as session:
        entry = session.get(LoggedRequest, number)
        if entry is None:
            return show_missing("request")
        rejection = rejection_of(session, entry)
    return show("request", entry=entry, rejection=rejection)

"""The inspector's blueprint: who may open its pages, how they are rendered and filtered, and where forms redirect to.

Browsers get a cookie for the control token, by a link with it or by the form of the page that asks for it; the token
is never part of a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import msgspec
from flask import Blueprint, Response, redirect, request
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import InstrumentedAttribute, Session
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.control.hosted_page import page
from flask_paycheckout.sandbox.wire.callers import let_in, may_control
from flask_paycheckout.sandbox.wire.envelope import iso
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import world

inspector = Blueprint("inspector", __name__)

NAVIGATION = {
    "": "Overview",
    **{name: name.title() for name in ("accounts", "requests", "mails", "webhooks")},
    "control": "Faults & clock",
    "unknowns": "Unknowns",
}
"""Links of the navigation: the pages by name, with their texts."""
# Confirmations, by the key in the address of the page that shows them.
_NOTICES = {
    "advanced": "The clock was advanced, and what fell due was done.",
    "resent": "The webhook was sent again.",
    "not-resent": "There is no such webhook any more.",
    "ordered": "The fault is armed.",
    "forgotten": "All faults are forgotten.",
    "switched": "The switch is changed, for all processes of this sandbox.",
    "switched-back": "All switches have the values of the start again.",
    "reset": "Everything is back to the start state.",
}
MAX_ROWS = 50
"""Rows of a list on one page."""
MAX_SUGGESTED = 100
"""The most names that a page suggests; any other can be typed."""
_MAX_TEXT = 200
_KEPT = ("order", "account")
# The largest number in an integer column of every database.
_MAX_NUMBER = 2**31 - 1


@inspector.before_request
def check_caller() -> AnyResponse | None:
    """Let in browsers that have the cookie, and give it to browsers that send the control token."""
    if world().is_control_token(request.values.get("token", "")):
        entered = redirect(request.script_root + ("/" if request.method == "POST" else request.path), 303)
        let_in(entered)
        return entered
    return None if may_control() else page("entrance.html", 401)


@inspector.post("/inspector/enter")
def enter() -> AnyResponse:
    """Redirect browsers that have the cookie already."""
    return redirect(path_of(""), 303)


def show(template: str, status: int = 200, **facts: Any) -> Response:
    """Render a page of the inspector, which may fetch itself again but nothing else."""
    clock = world().clock
    response = page(
        f"inspector/{template}.html",
        status,
        navigation=NAVIGATION,
        path=path_of,
        notice=_NOTICES.get(request.args.get("done", "")),
        now=clock.now(),
        offset=clock.offset,
        iso=iso,
        relative=relative,
        indented=indented,
        **facts,
    )
    response.headers["Content-Security-Policy"] += "; connect-src 'self'"
    return response


_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def relative(text: str) -> str:
    """A time of a record, relative to now: `3 min ago`, `in 2 d`."""
    seconds = round((datetime.fromisoformat(text) - world().clock.now()).total_seconds())
    unit, length = next((entry for entry in _UNITS if abs(seconds) >= entry[1]), _UNITS[-1])
    count = abs(seconds) // length
    return f"in {count} {unit}" if seconds > 0 else f"{count} {unit} ago"


def indented(text: str) -> str:
    """A JSON text with a line for each value; any other text, such as truncated JSON, unchanged."""
    try:
        return msgspec.json.format(text)
    except (ValueError, RecursionError):
        return text


def show_missing(what: str) -> Response:
    return show("missing", 404, what=what)


def path_of(name: str, **query: object) -> str:
    """The path of a page of the inspector; the overview has no name."""
    parameters = urlencode({key: value for key, value in query.items() if value})
    return f"{request.script_root}/{'inspector/' if name else ''}{name}{'?' if parameters else ''}{parameters}"


def redirect_to(name: str, done: str) -> AnyResponse:
    """Redirect to a page of the inspector, which confirms what was done; its address keeps the form's filters."""
    kept = {filtered: request.form.get(filtered) for filtered in _KEPT} if name == "webhooks" else {}
    return redirect(path_of(name, done=done, **kept), 303)


def query_text(name: str) -> str:
    """A query parameter as text, without NUL characters, which PostgreSQL cannot compare."""
    return request.args.get(name, "").replace("\0", "").strip()[:_MAX_TEXT]


@dataclass(frozen=True)
class Page:
    """A page of a list, and how many rows the older page skips; None at the end."""

    rows: list[Any]
    skipped: int
    older: int | None


def read_page(session: Session, rows: Any, size: int, skip: str = "skip") -> Page:
    """The rows of a select after those that the query parameter `skip` leaves out."""
    requested = request.args.get(skip, type=int) or 0
    skipped = requested if 0 < requested <= _MAX_NUMBER else 0
    records = list(session.execute(rows.offset(skipped).limit(size + 1)))
    return Page(records[:size], skipped, skipped + size if len(records) > size else None)


@dataclass(frozen=True)
class AccountFilter:
    """The account that `?account=` limits a list to, and the other accounts that a page suggests."""

    name: str
    """Empty for all accounts."""
    account: Account | None
    """The account whose webhook address the page shows: the chosen account, else the first."""
    suggested: Sequence[str]
    """The names of accounts, if there are several, so that a page shows the account of each row."""

    def of(self, column: InstrumentedAttribute[Any]) -> list[ColumnElement[bool]]:
        """The condition that a row with the user id or the name in this column belongs to the account."""
        if not self.name:
            return []
        user_id = self.account.user_id if self.account else ""
        return [column == (self.name if column.key == "account" else user_id)]


def read_filter(session: Session) -> AccountFilter:
    """Read the filter from the address of the page."""
    name = query_text("account")
    account = session.scalar(select(Account).where(Account.name == (name or ACCOUNT_NAME)))
    names = session.scalars(select(Account.name).order_by(Account.name).limit(MAX_SUGGESTED)).all()
    return AccountFilter(name, account, names if len(names) > 1 else [])

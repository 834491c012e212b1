"""The inspector's blueprint: who may open its pages, how they are rendered, and where their forms redirect to.

Forms carry a token that only these pages contain; the control token is never part of a page.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, redirect, request, url_for
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.levers.pages import page
from flask_paycheckout.sandbox.wire.callers import check_form, check_loopback, check_password, form_token
from flask_paycheckout.sandbox.wire.schemas import iso
from flask_paycheckout.sandbox.world.context import world

inspector = Blueprint("inspector", __name__)

NAVIGATION = (
    ("inspector.show_overview", "Overview"),
    ("inspector.show_events", "Events"),
    ("inspector.show_deposits", "Deposits"),
    ("inspector.show_recipients", "Recipients"),
    ("inspector.show_accounts", "Accounts"),
    ("inspector.show_requests", "Requests"),
    ("inspector.show_mails", "Mails"),
    ("inspector.show_webhooks", "Webhooks"),
    ("inspector.show_levers", "Faults & clock"),
    ("inspector.show_unknowns", "Unknowns"),
)
"""Links of the navigation: endpoint and text."""
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
_MAX_TEXT = 200
# The largest number in an integer column of every database.
_MAX_NUMBER = 2**31 - 1


@inspector.before_request
def check_caller() -> None:
    check_loopback()
    check_password()
    if request.method == "POST":
        check_form()


def show(template: str, status: int = 200, **facts: object) -> Response:
    """Render a page of the inspector, which may fetch itself again but nothing else."""
    clock = world().clock
    response = page(
        f"inspector/{template}.html",
        status,
        navigation=NAVIGATION,
        token=form_token(),
        notice=_NOTICES.get(request.args.get("done", "")),
        now=clock.now(),
        offset=clock.offset,
        iso=iso,
        **facts,
    )
    response.headers["Content-Security-Policy"] += "; connect-src 'self'"
    return response


def show_missing(what: str) -> Response:
    return show("missing", 404, what=what)


def redirect_to(endpoint: str, done: str, **kept: Any) -> AnyResponse:
    """Redirect to a page of the inspector, which confirms what was done; its address keeps the filters."""
    return redirect(url_for(f"inspector.{endpoint}", done=done, **kept), 303)


def query_text(name: str) -> str:
    """A query parameter as text, without NUL characters, which PostgreSQL cannot compare."""
    return request.args.get(name, "").replace("\0", "").strip()[:_MAX_TEXT]


def query_number(name: str) -> int | None:
    """A query parameter as the number or offset of a row; None unless it is one."""
    number = request.args.get(name, type=int)
    return number if number is not None and 0 < number <= _MAX_NUMBER else None

"""What all pages of the inspector share: who may come in, how a page is shown, and where its forms lead back to.

The forms hold a token that only these pages know; the control token itself never enters a page.
"""

from __future__ import annotations

from flask import Blueprint, Response, redirect, request, url_for
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.levers.pages import page
from flask_paycheckout.sandbox.wire.callers import check_form, check_loopback, check_password, form_token
from flask_paycheckout.sandbox.wire.schemas import iso
from flask_paycheckout.sandbox.world.context import world

inspector = Blueprint("inspector", __name__)

#: The pages that can be gone to from every page, with the words on the links.
NAVIGATION = (
    ("inspector.show_overview", "Overview"),
    ("inspector.show_requests", "Requests"),
    ("inspector.show_mails", "Mails"),
    ("inspector.show_webhooks", "Webhooks"),
    ("inspector.show_levers", "Faults & clock"),
    ("inspector.show_unknowns", "Unknowns"),
)
# What a lever did, told on the page that it leads back to. The address names the key, never the words.
_NOTICES = {
    "advanced": "The clock was advanced, and what fell due was done.",
    "resent": "The webhook was sent again.",
    "not-resent": "There is no such webhook any more.",
    "ordered": "The fault is armed.",
    "forgotten": "All faults are forgotten.",
    "reset": "Everything is back to the start state.",
}
_MAX_TEXT = 200
# What fits into an integer column of every database.
_MAX_NUMBER = 2**31 - 1


@inspector.before_request
def check_caller() -> None:
    check_loopback()
    check_password()
    if request.method == "POST":
        check_form()


def show(template: str, status: int = 200, **facts: object) -> Response:
    """A page of the inspector, which may fetch itself again but nothing from elsewhere."""
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


def redirect_to(endpoint: str, done: str, order: str | None = None) -> AnyResponse:
    """To a page of the inspector, which says what was done."""
    return redirect(url_for(f"inspector.{endpoint}", done=done, order=order), 303)


def query_text(name: str) -> str:
    """A text of the query; PostgreSQL cannot even look for a NUL."""
    return request.args.get(name, "").replace("\0", "").strip()[:_MAX_TEXT]


def query_number(name: str) -> int | None:
    """A row's number or place in the query; None unless it is one."""
    number = request.args.get(name, type=int)
    return number if number is not None and 0 < number <= _MAX_NUMBER else None

"""The page for a developer looking over the sandbox's shoulder: `GET /`, and its few levers.

Its forms hold a token that only this page knows; the control token itself never enters a page.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from flask import Blueprint, Response, redirect, request, url_for
from sqlalchemy import select
from sqlalchemy.orm import Session
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.checkouts.tables import Checkout
from flask_paycheckout.sandbox.database import transaction
from flask_paycheckout.sandbox.deposits.representation import activities_of
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.due import run_due
from flask_paycheckout.sandbox.envelope import iso
from flask_paycheckout.sandbox.faults import armed, describe, disarm_all
from flask_paycheckout.sandbox.guard import check_form, check_loopback, form_token
from flask_paycheckout.sandbox.pages import page
from flask_paycheckout.sandbox.request_log import logged_requests
from flask_paycheckout.sandbox.settings import advance_clock, webhook_url
from flask_paycheckout.sandbox.start_state import reset_world
from flask_paycheckout.sandbox.webhook_records import list_webhooks
from flask_paycheckout.sandbox.webhooks import redeliver
from flask_paycheckout.sandbox.world import world

inspector = Blueprint("inspector", __name__)

_MOST_ROWS = 50
#: What the clock's buttons advance by, in seconds, with the words on them.
STEPS = {60: "1 minute", 960: "16 minutes", 3600: "1 hour", 90000: "25 hours"}


@inspector.before_request
def check_caller() -> None:
    check_loopback()
    if request.method == "POST":
        check_form()


@inspector.get("/")
def show() -> Response:
    """Everything at one look, newest first."""
    with transaction() as session:
        seen: dict[str, Any] = {
            "checkouts": _checkouts(session),
            "webhooks": list_webhooks(session)[: -_MOST_ROWS - 1 : -1],
            "requests": logged_requests(session, _MOST_ROWS),
            "faults": [describe(fault) for fault in armed(session)],
            "webhook_url": webhook_url(session),
        }
    clock = world().clock
    return page(
        "inspector.html", token=form_token(), steps=STEPS, now=clock.now(), offset=clock.offset, iso=iso, **seen
    )


def _checkouts(session: Session) -> list[dict[str, Any]]:
    rows = session.execute(
        select(Checkout, Deposit)
        .outerjoin(Deposit, Deposit.id == Checkout.id)
        .order_by(Checkout.created_at.desc())
        .limit(_MOST_ROWS)
    )
    return [
        {"checkout": checkout, "deposit": deposit, "activities": activities_of(session, checkout.id)}
        for checkout, deposit in rows
    ]


@inspector.post("/inspector/clock")
def advance() -> AnyResponse:
    seconds = request.form.get("seconds", 0, type=int)
    if seconds in STEPS:
        with transaction() as session:
            advance_clock(session, world().clock, timedelta(seconds=seconds))
        run_due()
    return _back()


@inspector.post("/inspector/webhooks/<webhook_id>")
def resend(webhook_id: str) -> AnyResponse:
    with transaction() as session:
        redeliver(session, webhook_id)
    run_due()
    return _back()


@inspector.post("/inspector/faults")
def forget_faults() -> AnyResponse:
    with transaction() as session:
        disarm_all(session)
    return _back()


@inspector.post("/inspector/reset")
def reset() -> AnyResponse:
    with transaction() as session:
        reset_world(session, world())
    return _back()


def _back() -> AnyResponse:
    return redirect(url_for("inspector.show"), 303)

"""`GET /inspector/mails`: the mails that the service has sent, with one-time passwords."""

from __future__ import annotations

from flask import Response
from sqlalchemy import select

from flask_paycheckout.sandbox.inspector.account_filter import read_filter
from flask_paycheckout.sandbox.inspector.blueprint import inspector, query_number, query_text, show
from flask_paycheckout.sandbox.outgoing.mails import Mail
from flask_paycheckout.sandbox.world.database import transaction

MAX_ROWS = 25
"""Mails on a page, and characters shown of each."""
MAX_TEXT = 2000


@inspector.get("/inspector/mails")
def show_mails() -> Response:
    """Show mails, newest first; `?to=` and `?account=` filter, `?before=` continues below a number."""
    to, before = query_text("to"), query_number("before")
    wanted = select(Mail).order_by(Mail.number.desc()).limit(MAX_ROWS + 1)
    if to:
        wanted = wanted.where(Mail.address == to.casefold())
    if before is not None:
        wanted = wanted.where(Mail.number < before)
    with transaction() as session:
        accounts = read_filter(session)
        found = list(session.scalars(wanted.where(*accounts.of(Mail.user_id))))
    return show(
        "mails",
        found=found[:MAX_ROWS],
        has_older=len(found) > MAX_ROWS,
        to=to,
        accounts=accounts,
        most_text=MAX_TEXT,
    )

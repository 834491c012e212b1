"""`GET /inspector/mails`: what the service has written to people, one-time passwords included."""

from __future__ import annotations

from flask import Response
from sqlalchemy import select

from flask_paycheckout.sandbox.inspector.blueprint import inspector, query_number, query_text, show
from flask_paycheckout.sandbox.outgoing.mails import Mail
from flask_paycheckout.sandbox.world.database import transaction

#: How many mails are on one page, and how much of each.
MAX_ROWS = 25
MAX_TEXT = 2000


@inspector.get("/inspector/mails")
def show_mails() -> Response:
    """Newest first; `?to=` picks one address, `?before=` goes on below a number."""
    to, before = query_text("to"), query_number("before")
    wanted = select(Mail).order_by(Mail.number.desc()).limit(MAX_ROWS + 1)
    if to:
        wanted = wanted.where(Mail.address == to.casefold())
    if before is not None:
        wanted = wanted.where(Mail.number < before)
    with transaction() as session:
        found = list(session.scalars(wanted))
    return show("mails", found=found[:MAX_ROWS], has_older=len(found) > MAX_ROWS, to=to, most_text=MAX_TEXT)

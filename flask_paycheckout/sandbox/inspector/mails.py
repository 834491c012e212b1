"""`GET /inspector/mails`: what the service has written to people, one-time passwords included."""

from __future__ import annotations

from flask import Response
from sqlalchemy import select

from flask_paycheckout.sandbox.inspector.blueprint import asked_number, asked_text, inspector, show
from flask_paycheckout.sandbox.outgoing.mails import Mail
from flask_paycheckout.sandbox.world.database import transaction

#: How many mails are on one page, and how much of each.
MOST_ROWS = 25
MOST_TEXT = 2000


@inspector.get("/inspector/mails")
def show_mails() -> Response:
    """Newest first; `?to=` picks one address, `?before=` goes on below a number."""
    to, before = asked_text("to"), asked_number("before")
    wanted = select(Mail).order_by(Mail.number.desc()).limit(MOST_ROWS + 1)
    if to:
        wanted = wanted.where(Mail.address == to.casefold())
    if before is not None:
        wanted = wanted.where(Mail.number < before)
    with transaction() as session:
        found = list(session.scalars(wanted))
    return show("mails", found=found[:MOST_ROWS], has_older=len(found) > MOST_ROWS, to=to, most_text=MOST_TEXT)

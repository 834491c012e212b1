"""Effects of passing time: deposits expire, disbursements and payments progress, mails and webhooks are sent."""

from __future__ import annotations

from time import monotonic, sleep

from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.outgoing.sending import send_due, send_mails
from flask_paycheckout.sandbox.outgoing.webhooks import is_waiting
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import follow
from flask_paycheckout.sandbox.world.transitions import move_all

RESULT_SECONDS = 2.0
"""Seconds that a call waits for the result of a webhook that it was told to send."""


def run_due() -> None:
    """Run all that is due by the virtual clock; must be called outside of a transaction."""
    pass_time()
    send_mails()
    send_due()


def send_again(webhook_id: str) -> None:
    """Run all that is due, and wait a little for the result of one webhook, where another thread sends it."""
    run_due()
    end = monotonic() + RESULT_SECONDS
    while world().wake is not None and is_waiting(webhook_id) and monotonic() < end:
        sleep(0.02)


def pass_time() -> None:
    """Run what time alone causes; webhooks and mails about it are stored, and not sent here."""
    with transaction() as session:
        if world().shared_database:
            # Another process may have advanced the clock, changed a switch, or reset the sandbox.
            follow(session, world())
        expire_due(session)
    move_all(settle_due)
    move_all(progress_due)

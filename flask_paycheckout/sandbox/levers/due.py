"""Effects of passing time: deposits expire, disbursements and payments progress, mails and webhooks are sent."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from time import monotonic, sleep

from flask import has_request_context

from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.outgoing.sending import send_due, send_mails
from flask_paycheckout.sandbox.outgoing.webhooks import is_any_due
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.wire.connection import TooManyHeld, holding
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import follow
from flask_paycheckout.sandbox.world.transitions import move_all

RESULT_SECONDS = 0.5
"""Seconds that a tester's call waits for the results of the webhooks that are due."""


def run_due() -> None:
    """Run all that is due by the virtual clock; must be called outside of a transaction."""
    pass_time()
    send_mails()
    send_and_wait()


def send_and_wait() -> None:
    """Have the webhooks sent that are due, and wait a little for their results; outside of a transaction.

    It is for what testers and customers do, so that a test finds the webhooks sent. The calls of the service wait for
    no receiver, since a shop with one worker would wait for itself.
    """
    send_due()
    if world().wake is None:
        return
    with ExitStack() as held:
        if has_request_context():
            with suppress(TooManyHeld):
                held.enter_context(holding())
        end = monotonic() + RESULT_SECONDS
        while is_any_due() and monotonic() < end:
            sleep(0.01)


def pass_time() -> None:
    """Move what time alone moves, such as expired deposits; the webhooks and mails are stored, not sent here."""
    with transaction() as session:
        if world().shared_database:
            # Another process may have advanced the clock, changed a switch, or reset the sandbox.
            follow(session, world())
        expire_due(session)
    move_all(settle_due)
    move_all(progress_due)

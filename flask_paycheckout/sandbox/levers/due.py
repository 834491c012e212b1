"""Effects of passing time: deposits expire, disbursements and payments progress, mails and webhooks are sent."""

from __future__ import annotations

from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.outgoing.mails import deliver_mails
from flask_paycheckout.sandbox.outgoing.webhooks import deliver_due
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import follow
from flask_paycheckout.sandbox.world.transitions import move_all


def run_due() -> int:
    """Run all that is due by the virtual clock; must be called outside of a transaction.

    :return: how many webhooks were sent."""
    with transaction() as session:
        if world().shared_database:
            # Another process may have advanced the clock, changed a switch, or reset the sandbox.
            follow(session, world())
        expire_due(session)
    move_all(settle_due)
    move_all(progress_due)
    deliver_mails()
    return deliver_due()

"""What happens because time has passed: deposits expire, payouts and payments move on, mails and webhooks go out."""

from __future__ import annotations

from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.outgoing.mails import deliver_mails
from flask_paycheckout.sandbox.outgoing.webhooks import deliver_due
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import read_clock
from flask_paycheckout.sandbox.world.transitions import move_all


def run_due() -> int:
    """Do all of it by the virtual clock's present time; how many webhooks were sent. Not within a transaction."""
    with transaction() as session:
        if world().shared_database:
            # Between requests another process may have moved the clock, or reset the world.
            read_clock(session, world().clock)
        expire_due(session)
    move_all(settle_due)
    move_all(progress_due)
    deliver_mails()
    return deliver_due()

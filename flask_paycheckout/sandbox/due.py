"""What happens because time has passed: deposits expire, payouts and payments move on, mails and webhooks go out."""

from __future__ import annotations

from flask_paycheckout.sandbox.database import transaction
from flask_paycheckout.sandbox.deposits.rules import expire_due
from flask_paycheckout.sandbox.disbursements.moves import settle_all_due
from flask_paycheckout.sandbox.mailbox import deliver_mails
from flask_paycheckout.sandbox.payments.moves import move_all_due
from flask_paycheckout.sandbox.settings import read_clock
from flask_paycheckout.sandbox.webhooks import deliver_due
from flask_paycheckout.sandbox.world import world


def run_due() -> int:
    """Do all of it by the virtual clock's present time; how many webhooks were sent. Not within a transaction."""
    with transaction() as session:
        if world().shared_database:
            # Between requests another process may have moved the clock, or reset the world.
            read_clock(session, world().clock)
        expire_due(session)
    settle_all_due()
    move_all_due()
    deliver_mails()
    return deliver_due()

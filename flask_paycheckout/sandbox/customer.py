"""The customer and their bank, played by the hosted page, the control interface and the fault plan."""

from __future__ import annotations

from decimal import Decimal

from flask_paycheckout.sandbox.checkouts.rules import find_checkout
from flask_paycheckout.sandbox.database import transaction
from flask_paycheckout.sandbox.deposits.rules import NoSuchCheckout, expire_due, pay, pick
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.webhooks import deliver_due


def picks(checkout_id: str, method_code: str | None = None, reference: str | None = None) -> Deposit:
    """A method is chosen: from now on the deposit exists."""
    with transaction() as session:
        return pick(session, checkout_id, method_code, reference)


def pays(checkout_id: str, amount: Decimal | None = None) -> Deposit:
    """The money is sent and arrives. Whoever has not picked a method takes the first one that fits."""
    with transaction() as session:
        if find_checkout(session, checkout_id) is None:
            raise NoSuchCheckout(checkout_id)
        if session.get(Deposit, checkout_id) is None:
            pick(session, checkout_id)
    return pays_what_was_picked(checkout_id, amount)


def pays_what_was_picked(checkout_id: str, amount: Decimal | None = None) -> Deposit:
    """The same for a customer whose deposit exists, as on the page's own button."""
    with transaction() as session:
        expire_due(session)
        deposit = pay(session, checkout_id, amount)
    deliver_due()
    return deposit

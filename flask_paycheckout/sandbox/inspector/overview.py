"""`GET /`: the newest checkouts, disbursements and payments, and the state of the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flask import Response
from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.checkouts.tables import Checkout
from flask_paycheckout.sandbox.crypto_disbursements.tables import WalletTransfer
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.fiat_disbursements.tables import BankTransfer
from flask_paycheckout.sandbox.inspector.account_filter import AccountFilter, read_filter
from flask_paycheckout.sandbox.inspector.blueprint import inspector, query_number, show
from flask_paycheckout.sandbox.inspector.unknowns import changed_assumptions
from flask_paycheckout.sandbox.outgoing.faults import active_faults
from flask_paycheckout.sandbox.payments.tables import Payment
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.world.database import transaction

MAX_ROWS = 25
"""Rows of each table on a page."""


@inspector.get("/")
def show_overview() -> Response:
    """Show all three, newest first; `?checkouts=25`, `?disbursements=25` and `?payments=25` skip as many.

    `?account=` filters by the account that made them.
    """
    skipped = {name: query_number(name) or 0 for name in _NEWEST}
    with transaction() as session:
        # Update what is due first, as every operation does before it answers.
        for move in (expire_due, settle_due, progress_due):
            move(session)
        accounts = read_filter(session)
        rows = {name: newest(session, accounts, skipped[name]) for name, newest in _NEWEST.items()}
        faults = len(active_faults(session))
    return show(
        "overview",
        rows={name: found[:MAX_ROWS] for name, found in rows.items()},
        more={name: len(found) > MAX_ROWS for name, found in rows.items()},
        skipped=skipped,
        step=MAX_ROWS,
        faults=faults,
        accounts=accounts,
        unknowns=changed_assumptions(),
    )


def newest_checkouts(
    session: Session, accounts: AccountFilter, skipped: int
) -> list[Row[tuple[Checkout, Deposit, str]]]:
    """The newest checkouts with their deposits or None; one more than a page, to know whether there are older ones.

    The last of each row of this table and the others is the name of the account."""
    return list(
        session.execute(
            select(Checkout, Deposit, Account.name)
            .outerjoin(Deposit, Deposit.id == Checkout.id)
            .join(Account, Account.user_id == Checkout.user_id)
            .where(*accounts.of(Checkout.user_id))
            .order_by(Checkout.created_at.desc(), Checkout.id)
            .offset(skipped)
            .limit(MAX_ROWS + 1)
        )
    )


def newest_disbursements(
    session: Session, accounts: AccountFilter, skipped: int
) -> list[Row[tuple[Disbursement, BankTransfer, WalletTransfer, str]]]:
    """The newest disbursements, with the bank transfer or the wallet transfer of each; one more than a page."""
    return list(
        session.execute(
            select(Disbursement, BankTransfer, WalletTransfer, Account.name)
            .outerjoin(BankTransfer, BankTransfer.disbursement_id == Disbursement.id)
            .outerjoin(WalletTransfer, WalletTransfer.disbursement_id == Disbursement.id)
            .join(Account, Account.user_id == Disbursement.user_id)
            .where(*accounts.of(Disbursement.user_id))
            .order_by(Disbursement.number.desc())
            .offset(skipped)
            .limit(MAX_ROWS + 1)
        )
    )


def newest_payments(session: Session, accounts: AccountFilter, skipped: int) -> list[Row[tuple[Payment, str]]]:
    """The newest payments; one more than a page."""
    return list(
        session.execute(
            select(Payment, Account.name)
            .join(Account, Account.user_id == Payment.user_id)
            .where(*accounts.of(Payment.user_id))
            .order_by(Payment.number.desc())
            .offset(skipped)
            .limit(MAX_ROWS + 1)
        )
    )


_NEWEST: dict[str, Callable[[Session, AccountFilter, int], Sequence[object]]] = {
    "checkouts": newest_checkouts,
    "disbursements": newest_disbursements,
    "payments": newest_payments,
}

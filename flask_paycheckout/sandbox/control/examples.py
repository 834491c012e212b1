"""The objects that the examples of the OpenAPI document name, created when a request first names them.

They belong to the first account. The examples thus work in a new sandbox, whose lists are empty until then.
"""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

from flask import g, request
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.endpoints import store_verification
from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.checkouts.endpoints import NewCheckout, store_checkout
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.deposits.transitions import pick
from flask_paycheckout.sandbox.disbursements.fiat import disburse
from flask_paycheckout.sandbox.disbursements.fiat_schemas import FiatPaymentV2
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.disbursements.transitions import finish_disbursement
from flask_paycheckout.sandbox.payments.endpoints import store_payment
from flask_paycheckout.sandbox.payments.schemas import NewPayment
from flask_paycheckout.sandbox.payments.tables import Payment
from flask_paycheckout.sandbox.recipients.tables import FIRST_IDS
from flask_paycheckout.sandbox.wire.field_types import load_object
from flask_paycheckout.sandbox.wire.openapi import examples
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.transitions import COMPLETED


def _make_deposit(session: Session) -> None:
    pick(session, store_checkout(session, USER_ID, NewCheckout("USD", Decimal("12.50"))))


def _make_disbursement(session: Session) -> Disbursement:
    payment = FiatPaymentV2(Decimal(25), FIRST_IDS[0][0])
    [disbursement] = disburse(session, USER_ID, [("USD", payment)], grouped=False)
    return disbursement


def _make_payment(session: Session) -> None:
    store_payment(session, USER_ID, load_object(NewPayment, examples()["createPayment"]["body"]))


_MAKERS = {
    examples()["readDeposit"]["path"]["depositId"]: (Deposit.id, _make_deposit),
    examples()["readFiatDisbursement"]["path"]["disbursementId"]: (Disbursement.id, _make_disbursement),
    examples()["readTransferProof"]["path"]["disbursementId"]: (
        Disbursement.id,
        lambda session: finish_disbursement(session, _make_disbursement(session), COMPLETED),
    ),
    examples()["readPayment"]["path"]["paymentId"]: (Payment.id, _make_payment),
}
"""For each identifier in the examples: the column that holds it, and the function that makes its object."""
_VERIFICATION = examples()["verifyLogin"]["body"]


def make_examples() -> None:
    """Make the object that the current request names."""
    for identifier in _MAKERS.keys() & set((request.view_args or {}).values()):
        # Another request may make it at this moment.
        with suppress(IntegrityError), transaction() as session:
            column, make = _MAKERS[identifier]
            if session.query(column).filter(column == identifier).first() is None:
                g.next_ids = [identifier]
                make(session)
                session.flush()
    is_own = not (world().name or world().is_shared)
    if is_own and request.endpoint == "auth.verify_login" and _VERIFICATION["verificationToken"].encode() in g.body:
        with transaction() as session:
            store_verification(session, USER_ID, _VERIFICATION["verificationToken"], _VERIFICATION["otp"])

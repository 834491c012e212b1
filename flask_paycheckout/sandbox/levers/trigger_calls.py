"""Calls that cause events and follow them, that give a transfer proof, and that describe all control calls."""

from __future__ import annotations

from flask import Blueprint, Response, current_app, request

from flask_paycheckout.sandbox.disbursements.tables import FIAT, Disbursement
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.levers.accounts import find_account
from flask_paycheckout.sandbox.levers.answers import answer
from flask_paycheckout.sandbox.levers.control_document import control_document
from flask_paycheckout.sandbox.levers.events import MAX_EVENTS, read_events
from flask_paycheckout.sandbox.levers.triggers import trigger
from flask_paycheckout.sandbox.transfer_proofs.endpoints import proof_of
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.envelope import Refusal
from flask_paycheckout.sandbox.wire.parsing import FieldError, read_object
from flask_paycheckout.sandbox.world.database import transaction

triggers = Blueprint("triggers", __name__)


@triggers.post("/trigger")
def cause() -> Response:
    """Bring a checkout or a payout into a state, or send a webhook again; without an id, begin with a new one."""
    try:
        return answer(trigger(read_object()))
    except Refusal as refused:
        # The service's own rules refused the new checkout or payout.
        raise CallRefused(
            400, "event", f"is refused: {refused.message}", "Correct the fields, or the account."
        ) from None


@triggers.get("/events")
def follow() -> Response:
    """Calls, moves and webhooks after a cursor, oldest first."""
    account, last = request.args.get("account"), request.args.get("last", "20")
    if not (last.isascii() and last.isdigit() and len(last) < 4 and int(last) <= MAX_EVENTS):
        raise FieldError(f"last must be a whole number from 0 to {MAX_EVENTS}.")
    with transaction() as session:
        # PostgreSQL cannot compare NUL characters.
        name = None if account is None else find_account(session, account.replace("\0", "")).name
        return answer(read_events(session, request.args.get("after"), int(last), name))


@triggers.get("/disbursements/<disbursement_id>/proof")
def read_proof(disbursement_id: str) -> Response:
    """The transfer proof of a completed fiat disbursement, of any account."""
    with transaction() as session:
        settle_due(session)
        made = session.query(Disbursement).where(Disbursement.id == disbursement_id, Disbursement.kind == FIAT)
        found = made.one_or_none()
        user_id = None if found is None else found.user_id
    if user_id is None:
        raise CallRefused(404, "disbursement", "does not exist, or is none of a bank", "GET /_sandbox/disbursements.")
    try:
        return proof_of(user_id, disbursement_id)
    except Refusal as refused:
        remedy = "POST /_sandbox/disbursements/{id}/finish completes it."
        raise CallRefused(409, "disbursement", f"has no proof: {refused.message}", remedy) from None


@triggers.get("/control-openapi.json")
def describe_control() -> Response:
    return answer(control_document(current_app))

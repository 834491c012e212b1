"""The control interface below `/_sandbox/`, with which tests control a sandbox.

Every call is JSON and carries `X-Sandbox-Control`. Errors are `{"error": {"field", "fault", "remedy"}}` with 400 for a
wrong field, 401 without the token, 403 from another machine, 404 for what does not exist, and 409 for what the state
of a checkout, a disbursement or other accounts do not allow. Successful answers have the status 200:

reset               `{"reset": true}`
clock               `{"now", "offsetSeconds"}`
mails               an array of `{"to", "subject", "text", "otp", "sentAt"}`, newest first; `?to=` filters by address
webhook-endpoint    `{"url"}` for GET and PUT; null sends webhooks nowhere
webhooks            an array of webhooks, oldest first, and for redeliver one webhook:
                    `{"id", "account", "orderId", "state", "createdAt", "dueAt", "attempts": [{"at", "request":
                    {"method", "url", "headers", "body"}, "answer": {"status"} or null, "error": text or null}]}`; the
                    state is waiting, delivered, failed (no retry left), dropped (by a fault) or no_endpoint
pick, pay           `{"paymentMethod", "deposit"}`, with the deposit's record; `pick` also accepts a `reference`,
                    by which the deposit can then be read
fail                as for pick; the bank refuses a payment that is not completed
leave               `{"now", "offsetSeconds"}`: the customer picks nothing, and the clock advances past the page's
                    expiry; 409 once a method is picked
disbursements       an array of `{"disbursementId", "account", "kind", "reference", "amount", "currency", "to",
                    "status", "createdAt"}`, oldest first, and for finish one of them; `to` is the id of a saved
                    recipient, the account number of another one, or the address of a wallet
finish              the bank completes a pending disbursement or lets it fail, as the `status` says; 409 when it is not
                    pending any more
accounts            an array of `{"name", "userId", "clientId", "email", "webhookUrl"}`; for POST, GET of one and
                    keys also with `clientSecret`, `accessToken` and `password`. POST generates what the body does not
                    give; keys replaces `clientSecret` and `accessToken`, and `clientId` when it is given; DELETE
                    removes the account with all that it has, and answers it without its secrets
account             `{"checkoutEnabled", "paymentMethods": [{"code", "enabled", ...}], "conversions": [{"inputCurrency",
                    "outputCurrency", "enabled", ...}]}`; POST accepts any part of it, and changes only that
faults              the planned faults as an array for GET and DELETE, the new fault for POST: `{"id", "operation",
                    "kind", "times"}` and, where given, `account` (the only one that it applies to), `statusCode`,
                    `message` (for `garbage`: the body), `seconds`, `retryAfter` and `share` (0.3 applies to three
                    requests in ten, drawn by the seed, and leaves the others to later faults; it is applied at most
                    `times` times)
requests            an array of `{"id", "at", "method", "target", "clientId", "account", "requestBody", "status",
                    "answerBody", "fault", "signedString"}`, newest first; account is the one whose signature or access
                    token was accepted, or null, status is null when no answer was given, and signedString what the
                    sandbox signed when it did not accept a signature
snapshot            a file, see `snapshots.py`; restore takes it as the body, and answers as `clock`
unknowns            an array of `{"name", "value", "startValue", "default", "alternatives", "meaning"}`; POST takes
                    `{NAME: VALUE or null}`
trigger             `{"event", "id", "account", "status", "url"}`: see `triggers.py`
events              `{"events", "cursor", "more"}`: see `events.py`
proof               the PDF of a completed fiat disbursement; 409 before
openapi.json        the OpenAPI document of the service, without these calls
control-openapi.json  the OpenAPI document of these calls

`account` and `webhook-endpoint` are those of the first account, `default`; those of another account are
`accounts/<name>/switches` and `accounts/<name>/webhook-endpoint`. `?account=NAME` filters mails, webhooks,
disbursements and requests.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from flask import Blueprint, Response, current_app, request
from sqlalchemy import ColumnElement
from sqlalchemy.orm import InstrumentedAttribute, Session
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.control import account_calls, customer, worlds
from flask_paycheckout.sandbox.control.accounts import find_account
from flask_paycheckout.sandbox.control.delivery_log import describe_webhook, list_webhooks
from flask_paycheckout.sandbox.control.document import control_document
from flask_paycheckout.sandbox.control.events import MAX_EVENTS, read_events
from flask_paycheckout.sandbox.control.fault_parsing import limit_fault, read_fault
from flask_paycheckout.sandbox.control.pages import answer
from flask_paycheckout.sandbox.control.sender import run_due
from flask_paycheckout.sandbox.control.snapshots import (
    MAX_BYTES,
    SnapshotRefused,
    SnapshotTooLarge,
    restore_snapshot,
    take_snapshot,
)
from flask_paycheckout.sandbox.control.start_state import reset_world
from flask_paycheckout.sandbox.control.triggers import trigger
from flask_paycheckout.sandbox.deposits.schemas import represent
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.deposits.transitions import NoSuchCheckout, NoSuchMethod
from flask_paycheckout.sandbox.disbursements.tables import FIAT, Disbursement
from flask_paycheckout.sandbox.disbursements.transitions import settle_due
from flask_paycheckout.sandbox.outgoing.faults import active_faults, add_fault, clear_faults, describe
from flask_paycheckout.sandbox.outgoing.mails import Mail, list_mails
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, redeliver
from flask_paycheckout.sandbox.transfer_proofs.endpoints import proof_of
from flask_paycheckout.sandbox.wire.callers import CallRefused, check_control_token, check_loopback
from flask_paycheckout.sandbox.wire.envelope import Refusal, iso
from flask_paycheckout.sandbox.wire.openapi import document
from flask_paycheckout.sandbox.wire.parsing import (
    FieldError,
    optional_amount,
    optional_number,
    optional_text,
    read_object,
)
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest, describe as describe_entry, logged_requests
from flask_paycheckout.sandbox.world.assumptions import AssumptionError, choose
from flask_paycheckout.sandbox.world.clock import MAX_SECONDS
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import advance_clock, change_unknowns
from flask_paycheckout.sandbox.world.transitions import NotPossible

control = Blueprint("control", __name__, url_prefix="/_sandbox")
control.register_blueprint(account_calls.accounts)
control.register_blueprint(worlds.worlds)


@control.before_request
def check_caller() -> None:
    check_loopback()
    check_control_token()


@control.post("/reset")
def reset() -> Response:
    """Return to the start state, with the unknowns of the start; control token and seed stay."""
    with transaction(exclusive=True) as session:
        reset_world(session, world())
    return answer({"reset": True})


@control.get("/clock")
def read_time() -> Response:
    return answer(_time())


@control.post("/clock")
def advance() -> Response:
    """Advance the virtual clock, and run what becomes due."""
    seconds = optional_number(read_object(), "advanceSeconds")
    if seconds is None or not 0 <= seconds <= MAX_SECONDS:
        raise FieldError(f"advanceSeconds must be a number from 0 to {MAX_SECONDS}.")
    with transaction() as session:
        advance_clock(session, world().clock, timedelta(seconds=float(seconds)))
    run_due()
    return answer(_time())


def _time() -> dict[str, Any]:
    clock = world().clock
    return {"now": iso(clock.now()), "offsetSeconds": clock.offset.total_seconds()}


@control.get("/mails")
def read_mails() -> Response:
    """The mails of one address, or all of them, newest first."""
    to = request.args.get("to")
    with transaction() as session:
        # PostgreSQL cannot compare NUL characters.
        to = None if to is None else to.replace("\0", "")
        return answer(list_mails(session, *_of_wanted_account(session, Mail.user_id), to=to))


@control.get("/webhook-endpoint")
def read_webhook_endpoint() -> Response:
    return account_calls.read_webhook_endpoint(ACCOUNT_NAME)


@control.put("/webhook-endpoint")
def set_webhook_endpoint() -> Response:
    """Set where webhooks of the first account go from now on; null for nowhere."""
    return account_calls.set_webhook_endpoint(ACCOUNT_NAME)


@control.get("/webhooks")
def read_webhooks() -> Response:
    with transaction() as session:
        return answer(list_webhooks(session, *_of_wanted_account(session, Webhook.user_id)))


def _of_wanted_account(session: Session, column: InstrumentedAttribute[str]) -> list[ColumnElement[bool]]:
    """The condition of `?account=NAME`; none without it."""
    name = request.args.get("account")
    # PostgreSQL cannot compare NUL characters.
    return [] if name is None else [column == find_account(session, name.replace("\0", "")).user_id]


@control.post("/webhooks/<webhook_id>/redeliver")
def send_again(webhook_id: str) -> Response:
    with transaction() as session:
        if not redeliver(session, webhook_id):
            raise CallRefused(404, "webhook", "does not exist", "GET /_sandbox/webhooks lists them.")
    run_due()
    with transaction() as session:
        return answer(describe_webhook(session, webhook_id))


@control.post("/checkouts/<checkout_id>/pick")
def pick(checkout_id: str) -> Response:
    """Let the customer pick a method on the page, by default the first usable one."""
    body = read_object(empty={})
    method, reference = optional_text(body, "paymentMethod"), optional_text(body, "reference")
    return _answer_deposit(customer.picks(checkout_id, method, reference))


@control.post("/checkouts/<checkout_id>/pay")
def pay(checkout_id: str) -> Response:
    """Let the customer's money arrive, by default the exact amount."""
    return _answer_deposit(customer.pays(checkout_id, optional_amount(read_object(empty={}), "amount")))


@control.post("/checkouts/<checkout_id>/fail")
def fail(checkout_id: str) -> Response:
    """Let the bank refuse the payment."""
    return _answer_deposit(customer.fails(checkout_id))


@control.post("/checkouts/<checkout_id>/leave")
def leave(checkout_id: str) -> Response:
    """Let the page expire without a choice of method."""
    customer.picks_nothing(checkout_id)
    return answer(_time())


def _answer_deposit(deposit: Deposit) -> Response:
    with transaction() as session:
        return answer({"paymentMethod": deposit.method, "deposit": represent(session, deposit)})


@control.get("/disbursements")
def read_disbursements() -> Response:
    with transaction() as session:
        return answer(customer.list_disbursements(session, *_of_wanted_account(session, Disbursement.user_id)))


@control.post("/disbursements/<disbursement_id>/finish")
def finish(disbursement_id: str) -> Response:
    """Let the bank complete a disbursement, or let it fail."""
    return answer(customer.finishes(disbursement_id, read_object().get("status")))


@control.get("/account")
def read_account() -> Response:
    return account_calls.read_account_switches(ACCOUNT_NAME)


@control.post("/account")
def switch_account() -> Response:
    return account_calls.switch_account(ACCOUNT_NAME)


@control.get("/faults")
def read_faults() -> Response:
    with transaction() as session:
        return answer([describe(fault) for fault in active_faults(session)])


@control.post("/faults")
def order_fault() -> Response:
    body = read_object()
    fault, account = read_fault(body), optional_text(body, "account")
    with transaction() as session:
        if account is not None:
            limit_fault(fault, find_account(session, account))
        add_fault(session, fault)
        session.flush()
        return answer(describe(fault))


@control.delete("/faults")
def forget_faults() -> Response:
    with transaction() as session:
        clear_faults(session)
    return answer([])


@control.get("/openapi.json")
def describe_service() -> Response:
    return answer(document(current_app))


RESTORE = "restore"
"""The path of the call that takes a snapshot, below that of the control interface."""

_LIMIT = f"larger than {MAX_BYTES // 1024**2} MiB"


@control.get("/snapshot")
def take_state() -> Response:
    """The whole state as a file, with the secrets of the sandbox."""
    try:
        with transaction(exclusive=True) as session:
            content = take_snapshot(session, world())
    except SnapshotTooLarge:
        remedy = "Remove accounts that you do not need, or copy the database with its own tools."
        raise CallRefused(409, "snapshot", f"would be {_LIMIT}", remedy) from None
    return Response(content, content_type="application/json")


@control.post(f"/{RESTORE}")
def restore_state() -> Response:
    """Return to the state of the file in the body; when it is refused, nothing changes."""
    request.max_content_length = MAX_BYTES
    try:
        content = request.get_data()
    except RequestEntityTooLarge:
        raise CallRefused(413, "snapshot", f"is {_LIMIT}", "Send the file that GET /_sandbox/snapshot gave.") from None
    try:
        with transaction(exclusive=True) as session:
            restore_snapshot(session, world(), content)
    except SnapshotRefused as refused:
        remedy = "Send the whole file as it was taken, by a sandbox of this version; nothing was changed."
        raise CallRefused(400, "snapshot", str(refused), remedy) from None
    clock = world().clock
    return answer({"now": iso(clock.now()), "offsetSeconds": clock.offset.total_seconds()})


_UNKNOWNS_REMEDY = "GET /_sandbox/unknowns lists names and values; nothing was changed."


@control.get("/unknowns")
def read_unknowns() -> Response:
    return answer(world().unknowns.describe())


@control.post("/unknowns")
def change_some_unknowns() -> Response:
    """Change the unknowns that the body names, all of them or none; null stands for the value at the start."""
    asked = _read_unknowns(read_object())
    with transaction() as session:
        change_unknowns(session, world(), asked)
    return answer(world().unknowns.describe())


@control.delete("/unknowns")
def return_unknowns() -> Response:
    """Return all unknowns to their values at the start."""
    with transaction() as session:
        change_unknowns(session, world(), dict.fromkeys(world().unknowns))
    return answer(world().unknowns.describe())


def _read_unknowns(body: dict[str, Any]) -> dict[str, str | None]:
    for name, value in body.items():
        if value is not None and not isinstance(value, str):
            raise CallRefused(400, name[:60], "must be a text or null", _UNKNOWNS_REMEDY)
        try:
            choose({name: world().unknowns.get(name, "") if value is None else value})
        except AssumptionError as wrong:
            raise CallRefused(400, name[:60], f"cannot be set: {str(wrong)[:300]}", _UNKNOWNS_REMEDY) from None
    return body


@control.post("/trigger")
def cause_event() -> Response:
    """Bring a checkout or a payout into a state, or send a webhook again; without an id, begin with a new one."""
    try:
        return answer(trigger(read_object()))
    except Refusal as refused:
        # The service's own rules refused the new checkout or payout.
        raise CallRefused(
            400, "event", f"is refused: {refused.message}", "Correct the fields, or the account."
        ) from None


@control.get("/events")
def follow_events() -> Response:
    """Calls, moves and webhooks after a cursor, oldest first."""
    account, last = request.args.get("account"), request.args.get("last", "20")
    if not (last.isascii() and last.isdigit() and len(last) < 4 and int(last) <= MAX_EVENTS):
        raise FieldError(f"last must be a whole number from 0 to {MAX_EVENTS}.")
    with transaction() as session:
        # PostgreSQL cannot compare NUL characters.
        name = None if account is None else find_account(session, account.replace("\0", "")).name
        return answer(read_events(session, request.args.get("after"), int(last), name))


@control.get("/disbursements/<disbursement_id>/proof")
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


@control.get("/control-openapi.json")
def describe_control() -> Response:
    return answer(control_document(current_app))


@control.get("/requests")
def read_requests() -> Response:
    """The request log, newest first."""
    with transaction() as session:
        return answer([describe_entry(entry) for entry in logged_requests(session, *_logged_of_account())])


def _logged_of_account() -> list[ColumnElement[bool]]:
    # By the name that is in the log, which also finds calls of accounts that are gone.
    name = request.args.get("account")
    # PostgreSQL cannot compare NUL characters.
    return [] if name is None else [LoggedRequest.account == name.replace("\0", "")]


def refuse(refusal: CallRefused) -> Response:
    problem = {"field": refusal.field, "fault": refusal.fault, "remedy": refusal.remedy}
    refused = answer({"error": problem}, refusal.status)
    if refusal.asks_for is not None:
        refused.headers["WWW-Authenticate"] = refusal.asks_for
    return refused


@control.errorhandler(FieldError)
def refuse_field(wrong: FieldError) -> Response:
    field, _, fault = str(wrong).partition(" ")
    return refuse(CallRefused(400, field, fault, "Correct the field and send the call again; nothing was changed."))


@control.errorhandler(NoSuchMethod)
def refuse_method(wrong: NoSuchMethod) -> Response:
    return refuse(CallRefused(400, "paymentMethod", str(wrong), "Name one of them, or leave the field out."))


@control.errorhandler(NoSuchCheckout)
def refuse_unknown(_: NoSuchCheckout) -> Response:
    return refuse(CallRefused(404, "checkout", "does not exist", "Make one with POST /v1/checkout."))


@control.errorhandler(NotPossible)
def refuse_state(wrong: NotPossible) -> Response:
    return refuse(CallRefused(409, "checkout", str(wrong), "Make a new checkout with POST /v1/checkout."))


def refuse_http(error: HTTPException) -> Response:
    return refuse(
        CallRefused(
            error.code or 500, "request", error.description or error.name, "See the calls in the documentation."
        )
    )

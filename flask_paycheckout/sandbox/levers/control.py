"""The control interface below `/_sandbox/`, with which tests control a sandbox.

Every call is JSON and carries `X-Sandbox-Control`. Errors are `{"error": {"field", "fault", "remedy"}}` with 400 for a
wrong field, 401 without the token, 403 from another machine, 404 for what does not exist, and 409 for what the state
of a checkout or disbursement does not allow. Successful answers have the status 200:

reset               `{"reset": true}`
clock               `{"now", "offsetSeconds"}`
mails               an array of `{"to", "subject", "text", "otp", "sentAt"}`, newest first; `?to=` filters by address
webhook-endpoint    `{"url"}` for GET and PUT; null sends webhooks nowhere
webhooks            an array of webhooks, oldest first, and for redeliver one webhook:
                    `{"id", "orderId", "state", "createdAt", "dueAt", "attempts": [{"at", "request": {"method", "url",
                    "headers", "body"}, "answer": {"status"} or null, "error": text or null}]}`; the state is waiting,
                    delivered, failed (no retry left), dropped (by a fault) or no_endpoint
pick, pay           `{"paymentMethod", "deposit"}`, with the deposit's record; `pick` also accepts a `reference`,
                    by which the deposit can then be read
fail                as for pick; the bank refuses a payment that is not completed
leave               `{"now", "offsetSeconds"}`: the customer picks nothing, and the clock advances past the page's
                    expiry; 409 once a method is picked
disbursements       an array of `{"disbursementId", "kind", "reference", "amount", "currency", "to", "status",
                    "createdAt"}`, oldest first and of every account, and for finish one of them; `to` is the id of a
                    saved recipient, the account number of another one, or the address of a wallet
finish              the bank completes a pending disbursement or lets it fail, as the `status` says; 409 when it is not
                    pending any more
account             `{"checkoutEnabled", "paymentMethods": [{"code", "enabled", ...}], "conversions": [{"inputCurrency",
                    "outputCurrency", "enabled", ...}]}`; POST accepts any part of it, and changes only that
faults              the planned faults as an array for GET and DELETE, the new fault for POST: `{"id", "operation",
                    "kind", "times"}` and, where given, `statusCode`, `message` (for `garbage`: the body), `seconds`,
                    `retryAfter` and `share` (0.3 applies to three requests in ten, drawn by the seed, and leaves the
                    others to later faults; it is applied at most `times` times)
requests            an array of `{"id", "at", "method", "target", "clientId", "requestBody", "status", "answerBody",
                    "fault", "signedString"}`, newest first; status is null when no answer was given, and
                    signedString what the sandbox signed when it did not accept a signature
openapi.json        the OpenAPI document of the service, without these calls
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from flask import Blueprint, Response, current_app, request
from werkzeug.exceptions import HTTPException

from flask_paycheckout.sandbox.deposits.schemas import represent
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.deposits.transitions import NoSuchCheckout, NoSuchMethod
from flask_paycheckout.sandbox.levers import bank, customer
from flask_paycheckout.sandbox.levers.account_switches import read_switches, set_switches
from flask_paycheckout.sandbox.levers.due import run_due
from flask_paycheckout.sandbox.levers.fault_parsing import read_fault
from flask_paycheckout.sandbox.levers.start_state import reset_world
from flask_paycheckout.sandbox.outgoing.delivery_log import describe_webhook, list_webhooks
from flask_paycheckout.sandbox.outgoing.faults import active_faults, add_fault, clear_faults, describe
from flask_paycheckout.sandbox.outgoing.mails import list_mails
from flask_paycheckout.sandbox.outgoing.webhook_sender import EndpointError, check_endpoint
from flask_paycheckout.sandbox.outgoing.webhooks import redeliver
from flask_paycheckout.sandbox.wire.callers import CallRefused, check_control_token, check_loopback
from flask_paycheckout.sandbox.wire.envelope import encode, iso
from flask_paycheckout.sandbox.wire.openapi import document
from flask_paycheckout.sandbox.wire.parsing import (
    FieldError,
    optional_amount,
    optional_number,
    optional_text,
    read_object,
)
from flask_paycheckout.sandbox.wire.request_log import describe as describe_request
from flask_paycheckout.sandbox.wire.request_log import logged_requests
from flask_paycheckout.sandbox.world.clock import MAX_SECONDS
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import advance_clock, set_webhook_url, webhook_url
from flask_paycheckout.sandbox.world.transitions import NotPossible

control = Blueprint("control", __name__, url_prefix="/_sandbox")


@control.before_request
def check_caller() -> None:
    check_loopback()
    check_control_token()


@control.post("/reset")
def reset() -> Response:
    """Return to the start state; unknowns, control token and seed stay as the sandbox was started."""
    with transaction(exclusive=True) as session:
        reset_world(session, world())
    return _answer({"reset": True})


@control.get("/clock")
def read_time() -> Response:
    return _answer(_time())


@control.post("/clock")
def advance() -> Response:
    """Advance the virtual clock, and run what becomes due."""
    seconds = optional_number(read_object(), "advanceSeconds")
    if seconds is None or not 0 <= seconds <= MAX_SECONDS:
        raise FieldError(f"advanceSeconds must be a number from 0 to {MAX_SECONDS}.")
    with transaction() as session:
        advance_clock(session, world().clock, timedelta(seconds=float(seconds)))
    run_due()
    return _answer(_time())


def _time() -> dict[str, Any]:
    clock = world().clock
    return {"now": iso(clock.now()), "offsetSeconds": clock.offset.total_seconds()}


@control.get("/mails")
def read_mails() -> Response:
    """The mails of one address, or all of them, newest first."""
    to = request.args.get("to")
    with transaction() as session:
        # PostgreSQL cannot compare NUL characters.
        return _answer(list_mails(session, None if to is None else to.replace("\0", "")))


@control.get("/webhook-endpoint")
def read_webhook_endpoint() -> Response:
    with transaction() as session:
        return _answer({"url": webhook_url(session)})


@control.put("/webhook-endpoint")
def set_webhook_endpoint() -> Response:
    """Set where webhooks go from now on; null for nowhere."""
    url = read_object().get("url")
    if url is not None:
        _check_url(url)
    with transaction() as session:
        set_webhook_url(session, url)
    return _answer({"url": url})


def _check_url(url: object) -> None:
    if not isinstance(url, str):
        raise FieldError("url must be a string or null.")
    try:
        check_endpoint(url, loopback_only=world().loopback_webhooks_only)
    except EndpointError as wrong:
        raise FieldError(f"url {wrong}.") from None


@control.get("/webhooks")
def read_webhooks() -> Response:
    with transaction() as session:
        return _answer(list_webhooks(session))


@control.post("/webhooks/<webhook_id>/redeliver")
def send_again(webhook_id: str) -> Response:
    with transaction() as session:
        if not redeliver(session, webhook_id):
            raise CallRefused(404, "webhook", "does not exist", "GET /_sandbox/webhooks lists them.")
    run_due()
    with transaction() as session:
        return _answer(describe_webhook(session, webhook_id))


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
    return _answer(_time())


def _answer_deposit(deposit: Deposit) -> Response:
    with transaction() as session:
        return _answer({"paymentMethod": deposit.method, "deposit": represent(session, deposit)})


@control.get("/disbursements")
def read_disbursements() -> Response:
    with transaction() as session:
        return _answer(bank.list_disbursements(session))


@control.post("/disbursements/<disbursement_id>/finish")
def finish(disbursement_id: str) -> Response:
    """Let the bank complete a disbursement, or let it fail."""
    try:
        return _answer(bank.finish(disbursement_id, read_object().get("status")))
    except bank.NoSuchDisbursement:
        remedy = "GET /_sandbox/disbursements lists them."
        raise CallRefused(404, "disbursement", "does not exist", remedy) from None
    except NotPossible as wrong:
        remedy = "PATCH /v1/disbursement/{disbursementId} may change it."
        raise CallRefused(409, "disbursement", str(wrong), remedy) from None


@control.get("/account")
def read_account() -> Response:
    with transaction() as session:
        return _answer(read_switches(session))


@control.post("/account")
def switch_account() -> Response:
    body = read_object()
    with transaction() as session:
        set_switches(session, body)
    return read_account()


@control.get("/faults")
def read_faults() -> Response:
    with transaction() as session:
        return _answer([describe(fault) for fault in active_faults(session)])


@control.post("/faults")
def order_fault() -> Response:
    fault = read_fault(read_object())
    with transaction() as session:
        add_fault(session, fault)
        session.flush()
        return _answer(describe(fault))


@control.delete("/faults")
def forget_faults() -> Response:
    with transaction() as session:
        clear_faults(session)
    return _answer([])


@control.get("/requests")
def read_requests() -> Response:
    """The request log, newest first."""
    with transaction() as session:
        return _answer([describe_request(entry) for entry in logged_requests(session)])


@control.get("/openapi.json")
def describe_service() -> Response:
    return _answer(document(current_app))


def _answer(body: dict[str, Any] | list[dict[str, Any]], status: int = 200) -> Response:
    return Response(encode(body), status, content_type="application/json")


def refuse(refusal: CallRefused) -> Response:
    problem = {"field": refusal.field, "fault": refusal.fault, "remedy": refusal.remedy}
    answer = _answer({"error": problem}, refusal.status)
    if refusal.asks_for is not None:
        answer.headers["WWW-Authenticate"] = refusal.asks_for
    return answer


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

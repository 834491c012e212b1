"""Hooks around every request: host and origin checks, clock, fault plan, request log and the shape of errors.

The control interface and the inspector are not part of the service: they have no faults and are not logged.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress

from flask import Flask, Response, current_app, g, request
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import DBAPIError
from werkzeug.exceptions import BadRequest, HTTPException, MethodNotAllowed, NotFound

from flask_paycheckout.sandbox.auth.access import find_caller
from flask_paycheckout.sandbox.control.calls import refuse
from flask_paycheckout.sandbox.control.hosted_page import HEALTH, page
from flask_paycheckout.sandbox.control.triggers import ensure_picked, pay_picked
from flask_paycheckout.sandbox.outgoing.faults import GARBAGE, Fault, take_fault
from flask_paycheckout.sandbox.outgoing.webhooks import send_first
from flask_paycheckout.sandbox.wire.callers import CallRefused, check_host, check_rate
from flask_paycheckout.sandbox.wire.connection import TooManyHeld, drop_connection, holding
from flask_paycheckout.sandbox.wire.cross_origin import is_cross_site, is_noise, isolate, preflight
from flask_paycheckout.sandbox.wire.envelope import FieldError, Refusal, failure, unspecified_refusal
from flask_paycheckout.sandbox.wire.operations import allowed_methods, check_form, operation_of
from flask_paycheckout.sandbox.wire.request_log import LOSE_RESPONSE, log_request
from flask_paycheckout.sandbox.world.clock import ClockAtItsEnd
from flask_paycheckout.sandbox.world.context import current_time, world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import follow
from flask_paycheckout.sandbox.world.transitions import NotPossible

MAX_BODY_BYTES = 1024 * 1024
"""The largest request body, 1 MiB."""
_VERSIONS = frozenset({"v1", "v2"})
CONTROL = "/_sandbox/"
_HEADERS = ("HTTP_", "CONTENT_")
"""The prefix of the names of headers in the WSGI environment."""
_OUTSIDE = (CONTROL, "/static/", "/inspector/", "/docs", "/openapi.json", HEALTH)
_TOO_MANY_HELD = "A fault delays this call, but as many as can be wait already."
_OWN_TAB = "Send this from a program, or open the address in a tab of its own."
_AT_ITS_END = CallRefused(409, "clock", "cannot be moved past the year 9000", "Reset the sandbox.")


def install_hooks(app: Flask) -> None:
    """Install the hooks on an application."""
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.before_request(_begin)
    app.after_request(_end)
    app.register_error_handler(Refusal, failure)
    app.register_error_handler(CallRefused, _refused)
    app.register_error_handler(FieldError, lambda error: failure(unspecified_refusal(error.switch, str(error))))
    app.register_error_handler(NotPossible, lambda error: failure(unspecified_refusal(400, f"{error}.")))
    app.register_error_handler(ClockAtItsEnd, lambda _: _refused(_AT_ITS_END))
    app.register_error_handler(TooManyHeld, lambda _: failure(unspecified_refusal(503, _TOO_MANY_HELD)))
    app.register_error_handler(DBAPIError, _refused_by_database)
    app.register_error_handler(HTTPException, _in_our_words)


def _is_of_service() -> bool:
    """Whether the path is below `/v1` or `/v2`, also with doubled slashes."""
    return request.path.lstrip("/").partition("/")[0] in _VERSIONS


def _is_observed() -> bool:
    return request.path != "/" and not request.path.startswith(_OUTSIDE)


def _begin() -> ResponseReturnValue | None:
    check_host()
    # Control calls need no check of their origin: a page of another site cannot send the control token.
    if not request.path.startswith(CONTROL) and is_cross_site():
        raise CallRefused(403, "page", "is of another origin", _OWN_TAB)
    # PostgreSQL cannot store or compare NUL characters.
    if "\0" in request.path:
        raise NotFound
    if any("\0" in value for name, value in request.environ.items() if name.startswith(_HEADERS)):
        raise BadRequest("A header holds a NUL.")
    declared = g.operation = operation_of(current_app, request.endpoint)
    # If the operation declares query parameters, the undeclared ones are found when they are read.
    g.undeclared = [] if declared is None or declared.query is not None else list(request.args)
    fault = _fault_of_request()
    if not _is_observed():
        return None
    g.arrived_at = current_time()
    # Read now, so that no unread body is left on the connection if no endpoint reads it.
    g.body = request.get_data()
    if fault is not None:
        answer = _strike(fault)
        if answer is not None:
            return answer
    if _is_of_service():
        check_rate()
    return preflight()


def _fault_of_request() -> Fault | None:
    """The fault that applies to the request, by the clock and switches that other processes may have changed."""
    if not world().may_have_faults:
        check_form()
        return None
    with transaction() as session:
        follow(session, world())
        check_form()
        return take_fault(session, find_caller) if _is_observed() else None


def _strike(fault: Fault) -> ResponseReturnValue | None:
    g.fault_kind = fault.kind
    match fault.kind:
        case "error":
            g.retry_after = fault.retry_after
            raise Refusal(fault.status_code or 500, fault.message or "Injected fault.")
        case "delay":
            with holding():
                world().sleep(float(fault.seconds or 0))
        case "drop":
            log_request(None)
            drop_connection("injected fault: dropped before anything was done")
        case "garbage":
            garbage = Response(fault.message or GARBAGE, fault.status_code or 200, content_type="text/html")
            # A tester's text must not pass for a page of the sandbox, which other testers trust.
            garbage.headers["Content-Security-Policy"] = "sandbox; default-src 'none'; frame-ancestors 'none'"
            return garbage
    return None


def _end(response: Response) -> Response:
    isolate(response)
    if request.path.startswith(CONTROL):
        response.headers["Cache-Control"] = "no-store"
    # Requests that other sites cause must not fill the log.
    if not _is_observed() or is_cross_site():
        return response
    checkout_id = g.pop("paid_before_response", None)
    if checkout_id is not None:
        with ExitStack() as slots:
            with suppress(TooManyHeld):
                slots.enter_context(holding())
            ensure_picked(checkout_id)
            pay_picked(checkout_id)
            send_first(checkout_id)
    if g.get("retry_after") is not None:
        response.headers["Retry-After"] = str(g.retry_after)
    if g.get("fault_kind") == LOSE_RESPONSE:
        log_request(None)
        drop_connection("injected fault: done, and then the answer was lost")
    # A world that was removed in the meantime has no log.
    if _is_of_service() and not is_noise() and g.get("logged") is not response and world().exists():
        log_request(response)
    return response


def _refused(refusal: CallRefused) -> ResponseReturnValue:
    if _is_of_service():
        return failure(unspecified_refusal(refusal.status, f"{refusal}. {refusal.remedy}"))
    return refuse(refusal)


def _refused_by_database(error: DBAPIError) -> ResponseReturnValue:
    if world().exists():
        raise error
    return _in_our_words(NotFound("The world does not exist any more."))


def _in_our_words(error: HTTPException) -> ResponseReturnValue:
    if request.path.startswith(CONTROL):
        fault = error.description or error.name
        response = refuse(CallRefused(error.code or 500, "request", fault, "See the calls in the documentation."))
    elif _is_of_service():
        response = failure(unspecified_refusal(error.code or 500, error.description or error.name))
    else:
        response = page("refused.html", error.code or 500, heading=error.name, words=error.description or "")
    if isinstance(error, MethodNotAllowed):
        response.headers["Allow"] = ", ".join(allowed_methods())
    return response

"""The webhook's route. The body is limited and parsed strictly, and every id gets the same answer."""

from __future__ import annotations

import json
from contextlib import suppress

from flask import Response, abort, request
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import RequestEntityTooLarge

from flask_paycheckout.runtime import Runtime, runtime
from flask_paycheckout.security.comparing import is_one_of
from flask_paycheckout.wiring import Observed
from flask_paycheckout.wiring.logs import about

RECEIVED = '{"received":true}\n'
"""The answer to a webhook that was stored."""

_MAX_BODY = 64 * 1024


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


# The standard library accepts half an emoji, which JavaScript may produce when it cuts a text. It would refuse very
# long integers, so they are parsed as floats.
_decode = json.JSONDecoder(parse_constant=_refuse, parse_int=float).decode


def webhook(secret: str | None = None) -> Response:
    """Store a webhook, so that the deposit is read soon."""
    shop = runtime()
    expected = shop.settings.webhook_secret
    if not (is_one_of(secret or "", expected) if expected else secret is None):
        _observe(shop, "refused")
        # The shop's page for unknown addresses answers, so that nobody learns that there is a secret.
        abort(404)
    body = _body()
    if body is None:
        _observe(shop, "too_large")
        return _answer(413, '{"error":"send 64 KiB at most"}\n')
    try:
        checkout_id = _checkout_id(body)
    except (RecursionError, ValueError):
        _observe(shop, "malformed")
        return _answer(400, '{"error":"send a JSON object with a string orderId"}\n')
    try:
        shop.sessions.refuse_uncommitted("the webhook")
        if checkout_id is not None:
            _observe(shop, shop.webhooks.receive(checkout_id))
        else:
            shop.due_payouts.receive_hint()
            _observe(shop, "payout")
    except SQLAlchemyError:
        shop.log.exception("webhooks to store", "a webhook could not be stored", extra=about(checkout_id=checkout_id))
        _observe(shop, "not_stored")
        return _answer(503, '{"error":"not stored, send it again"}\n')
    return _answer(200, RECEIVED)


def _body() -> bytes | None:
    """The body of this request; None if it exceeds 64 KiB, because no error page of the shop may change that answer."""
    if "asgi.scope" in request.environ:
        # a2wsgi ends a chunked body but does not say so, and Werkzeug would take the body for an empty one.
        request.environ["wsgi.input_terminated"] = True
    # One byte above the limit: Werkzeug silently truncates a body that is sent without its length.
    request.max_content_length = _MAX_BODY + 1
    with suppress(RequestEntityTooLarge):
        body = request.get_data(cache=False)
        return body if len(body) <= _MAX_BODY else None
    return None


def _checkout_id(body: bytes) -> str | None:
    """The `orderId`, the only field of a webhook that is read: all others are unproven, so the deposit is read instead.

    The service sends webhooks about disbursements to the same address. They have no `orderId`. The interface does not
    describe their content, so each is only a hint that payouts should be read.

    :returns: None if there is no `orderId`.
    :raises ValueError: the body is no JSON object, or its orderId is no string.
    :raises RecursionError: the body is nested too deeply.
    """
    fields = _decode(body.decode())
    if not isinstance(fields, dict) or not isinstance(fields.get("orderId", ""), str):
        raise ValueError("no JSON object with a string orderId")
    order_id: str | None = fields.get("orderId")
    # An id with an unpaired surrogate is no text: encoding it raises UnicodeEncodeError, which is a ValueError.
    return order_id if order_id is None else order_id.encode().decode()


def _observe(shop: Runtime, outcome: str) -> None:
    shop.observers.record(Observed.WEBHOOK, "", outcome)


def _answer(status: int, body: str) -> Response:
    # Avoids the shop's own JSON formatting, which takes longer than a query and which the sender does not need.
    return Response(body, status, mimetype="application/json")

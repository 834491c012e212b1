"""The webhook's route. The body is limited and parsed strictly, and every id gets the same answer."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Sequence

import msgspec
from flask import Response, abort, request
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.runtime import Runtime, runtime
from flask_paycheckout.service.logs import about
from flask_paycheckout.service.observations import Observed

_MAX_BODY = 64 * 1024


class _Payload(msgspec.Struct):
    """The only field of a webhook that is read; all others are unproven, so the deposit is read instead.

    The service sends webhooks about disbursements to the same address. Those have no `orderId`, and as their content is
    not shown, each is only a hint that payouts should be read.
    """

    order_id: str | msgspec.UnsetType = msgspec.field(name="orderId", default=msgspec.UNSET)


_decode = msgspec.json.Decoder(_Payload).decode
# Half an emoji, as JavaScript cuts it off, is valid JSON, and msgspec refuses it.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def webhook(secret: str | None = None) -> Response:
    """Store a webhook, and let the deposit be read soon."""
    shop = runtime()
    if not _is_expected(secret, shop.settings.webhook_secret):
        _observe(shop, "refused")
        abort(404)
    # One byte above the limit: Werkzeug silently truncates a body that is sent without its length.
    request.max_content_length = _MAX_BODY + 1
    body = request.get_data(cache=False)
    if len(body) > _MAX_BODY:
        _observe(shop, "too_large")
        abort(413)
    try:
        payload = _parsed(body)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        _observe(shop, "malformed")
        return _answer(400, '{"error":"send a JSON object with a string orderId"}')
    try:
        if isinstance(payload.order_id, str):
            _observe(shop, shop.for_writing("the webhook").webhooks.receive(payload.order_id))
        else:
            shop.for_writing("the webhook").payout_hints.receive()
            _observe(shop, "payout")
    except SQLAlchemyError:
        named = payload.order_id if isinstance(payload.order_id, str) else None
        shop.log.exception("webhooks to store", "a webhook could not be stored", extra=about(checkout_id=named))
        _observe(shop, "not_stored")
        return _answer(503, '{"error":"not stored, send it again"}')
    return _answer(200, '{"received":true}')


def _parsed(body: bytes) -> _Payload:
    """The payload of a webhook.

    :raises ValueError: the body is no JSON object, or its orderId is no string.
    :raises RecursionError: it is nested too deeply.
    """
    try:
        return _decode(body)
    except msgspec.DecodeError:
        if _SURROGATE.search(body) is None:
            raise
    payload = msgspec.convert(json.JSONDecoder(parse_constant=_refuse).decode(body.decode()), _Payload)
    if isinstance(payload.order_id, str):
        # Half a letter in the id itself makes it no text.
        payload.order_id.encode()
    return payload


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _is_expected(secret: str | None, expected: Sequence[str]) -> bool:
    """Whether the path's secret is one of the expected ones, compared in constant time."""
    if not expected:
        return secret is None
    given = (secret or "").encode()
    # Compare with all, even after a match, so that the time does not tell which one matched.
    return sum(hmac.compare_digest(given, one.encode()) for one in expected) > 0


def _observe(shop: Runtime, outcome: str) -> None:
    shop.observers.record(Observed.WEBHOOK, "", outcome)


def _answer(status: int, body: str) -> Response:
    # The sender needs none of the shop's own JSON formatting, which takes longer than a query.
    return Response(f"{body}\n", status, mimetype="application/json")

"""The webhook: bounded, parsed strictly, stored, and answered alike for every id."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Sequence

import msgspec
from flask import Response, abort, jsonify, request
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.runtime import runtime

__all__ = ["webhook"]

_MAX_BODY = 64 * 1024

_log = logging.getLogger("flask_paycheckout")


class _Notice(msgspec.Struct):
    """All that is read of a webhook; whatever else it says is not evidence.

    The service sends webhooks about other things to the same address; those name no `orderId`.
    """

    order_id: str | msgspec.UnsetType = msgspec.field(name="orderId", default=msgspec.UNSET)


_decode = msgspec.json.Decoder(_Notice).decode


def webhook(secret: str | None = None) -> Response:
    """Take in a hint from the service."""
    if not _is_expected(secret, runtime().settings.webhook_secret):
        abort(404)
    # One byte more than may be: a body that is sent without its length is silently cut off at the limit.
    request.max_content_length = _MAX_BODY + 1
    body = request.get_data(cache=False)
    if len(body) > _MAX_BODY:
        abort(413)
    try:
        notice = _decode(body)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return _answer(400, error="send a JSON object with a string orderId")
    try:
        if isinstance(notice.order_id, str):
            runtime().receive_webhook(notice.order_id)
    except SQLAlchemyError:
        _log.exception("a webhook could not be stored")
        return _answer(503, error="not stored, send it again")
    return _answer(200, received=True)


def _is_expected(secret: str | None, expected: Sequence[str]) -> bool:
    """Whether the address is one that we serve; the time that the answer takes tells nothing of the secrets."""
    if not expected:
        return secret is None
    given = (secret or "").encode()
    # Each one is compared, also after one that is the same.
    return sum(hmac.compare_digest(given, one.encode()) for one in expected) > 0


def _answer(status: int, **body: object) -> Response:
    response = jsonify(body)
    response.status_code = status
    return response

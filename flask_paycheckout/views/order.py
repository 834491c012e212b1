"""The order's status page and its JSON: by signed link, from any device, without a session."""

from __future__ import annotations

import logging

from flask import Response, abort, jsonify, url_for

from flask_paycheckout.runtime import runtime
from flask_paycheckout.states import Status
from flask_paycheckout.tokens import STATUS
from flask_paycheckout.totals import Total
from flask_paycheckout.views import language
from flask_paycheckout.views.order_urls import pay_path
from flask_paycheckout.views.pages import page
from flask_paycheckout.views.words import order_words

__all__ = ["order_page", "order_status"]

_log = logging.getLogger("flask_paycheckout")


def order_page(token: str) -> Response:
    """Show how the order stands, with a way to pay while the shop wants a payment."""
    order_id = _order_of(token)
    standing = runtime().standing(order_id)
    settled = standing.status in (Status.PAID, Status.HELD)
    total = None if settled else _total_of(order_id)
    shown = total if runtime().settings.show_total else None
    return page(
        "order.html",
        order_id,
        order_words(standing.status, total is not None, shown, language.of_page()),
        standing=standing,
        action=None if total is None else pay_path(order_id),
        status_path=url_for("paycheckout.order_status", token=token),
    )


def order_status(token: str) -> Response:
    """The same for programs: never an amount or an id."""
    standing = runtime().standing(_order_of(token))
    return jsonify(status=standing.status, final=standing.final, pollAfter=standing.poll_after)


def _total_of(order_id: str) -> Total | None:
    """What can be paid now; None as well when the shop's `order_total` fails, for which its customer can do nothing."""
    try:
        return runtime().ask_total(order_id)
    except Exception:
        _log.exception("order_total failed for order %s", order_id)
        return None


def _order_of(token: str) -> str:
    order_id = runtime().tokens.read(STATUS, token)
    if order_id is None:
        # One answer for a forged link, an expired one and an unknown order.
        abort(404)
    return order_id

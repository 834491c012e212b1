"""The order's status page and its JSON: by sealed link, from any device, without a session."""

from __future__ import annotations

import logging
from dataclasses import replace

from flask import Response, abort, jsonify, url_for

from flask_paycheckout.rules.states import Status
from flask_paycheckout.rules.text import visible
from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.signed_links import STATUS
from flask_paycheckout.totals import Total
from flask_paycheckout.views import language
from flask_paycheckout.views.order_urls import Link, link_of, pay_path, status_path
from flask_paycheckout.views.page_text import order_words
from flask_paycheckout.views.pages import bad_link_page, page

__all__ = ["order_page", "order_status", "unpayable_page"]

_log = logging.getLogger("flask_paycheckout")


def order_page(token: str) -> Response:
    """Show how the order stands, with a way to pay while the shop wants a payment."""
    link = link_of(STATUS, token)
    if link is None:
        return bad_link_page()
    standing = runtime().standing(link.order_id)
    settled = standing.status in (Status.PAID, Status.HELD)
    total, failed = (None, False) if settled else _ask_total(link.order_id)
    shown = total if runtime().settings.show_total else None
    # Where the shop cannot say what the order costs, the page must not say that there is nothing to pay.
    wanted = total is not None or failed
    return page(
        "order.html",
        link.order_id,
        order_words(
            standing.status,
            wanted,
            shown,
            language.of_page(),
            reason=standing.reason,
            crowded=standing.crowded,
        ),
        standing=standing,
        action=None if total is None else pay_path(link),
        status_path=url_for("paycheckout.order_status", token=token),
    )


def unpayable_page(link: Link) -> Response:
    """Show how an order stands that the shop wants no payment for: the answer to a pay button that is too old."""
    # Where a form was posted to there is nothing to fetch again, so this page does not update itself.
    standing = replace(runtime().standing(link.order_id), final=True, poll_after=0)
    return page(
        "order.html",
        link.order_id,
        order_words(standing.status, False, None, language.of_page(), reason=standing.reason),
        404,
        standing=standing,
        action=None,
        status_path=status_path(link, "order_status"),
    )


def order_status(token: str) -> Response:
    """The same for programs: never an amount or an id."""
    link = link_of(STATUS, token)
    if link is None:
        # One answer for a forged link, an expired one and an unknown order.
        abort(404)
    standing = runtime().standing(link.order_id)
    return jsonify(status=standing.status, final=standing.final, pollAfter=standing.poll_after)


def _ask_total(order_id: str) -> tuple[Total | None, bool]:
    """What can be paid now, and whether the shop's `order_total` failed, for which its customer can do nothing."""
    try:
        return runtime().ask_total(order_id), False
    except Exception:
        _log.exception("order_total failed for order %s", visible(order_id))
        return None, True

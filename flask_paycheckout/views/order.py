"""The order's status page and its JSON: reached by a signed link, from any device, without a session."""

from __future__ import annotations

import msgspec
from flask import Response, abort, jsonify, url_for

from flask_paycheckout.checkouts.order_status import OrderStatus
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.operations.app import operations
from flask_paycheckout.payouts.refund_progress import NO_REFUNDS, OrderRefunds
from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.signed_links import STATUS
from flask_paycheckout.service.logs import about
from flask_paycheckout.totals import Total
from flask_paycheckout.views import language
from flask_paycheckout.views.headers import lead_forms_to
from flask_paycheckout.views.order_urls import Link, link_of, pay_path, status_path
from flask_paycheckout.views.page_text import Receipt, order_text
from flask_paycheckout.views.pages import bad_link_page, page

__all__ = ["order_page", "order_status", "unpayable_page"]


def order_page(token: str) -> Response:
    """Show the order's status, with a pay button while the shop wants a payment."""
    link = link_of(STATUS, token)
    if link is None:
        return bad_link_page()
    current = operations().read_order_status(link.order_id)
    settled = current.status in (Status.PAID, Status.HELD)
    total, failed = (None, False) if settled else _ask_total(link.order_id)
    # No link to the refund page, which decides where money goes: the status link may have been passed on.
    refunds = _refunds(current, link)
    receipt = Receipt()
    if runtime().settings.show_total:
        arrived = operations().read_payments(link.order_id) if settled or current.refundable else []
        receipt = Receipt(total, arrived, refunds.paid_back)
    # While order_total fails, the page must not claim that there is nothing to pay.
    wanted = total is not None or failed
    return page(
        "order.html",
        link.order_id,
        order_text(
            current.status,
            wanted,
            receipt,
            language.of_page(),
            reason=current.reason,
            crowded=current.crowded,
            refunds=refunds,
            unrecorded=current.unrecorded,
        ),
        standing=current,
        action=None if total is None else pay_path(link),
        status_path=url_for("paycheckout.order_status", token=token),
    )


def unpayable_page(link: Link) -> Response:
    """Show the status of an order that the shop wants no payment for: the answer to an outdated pay button."""
    # The page's address accepts only POST and cannot be fetched again, so this page does not update itself.
    current = msgspec.structs.replace(operations().read_order_status(link.order_id), final=True, poll_after=0)
    return page(
        "order.html",
        link.order_id,
        order_text(
            current.status,
            False,
            Receipt(),
            language.of_page(),
            reason=current.reason,
            refunds=_refunds(current, link),
        ),
        404,
        standing=current,
        action=None,
        status_path=status_path(link, "order_status"),
    )


def order_status(token: str) -> Response:
    """Give the order's status as JSON, without amounts or ids."""
    link = link_of(STATUS, token)
    if link is None:
        # A forged link, an expired one and an unknown order must look alike.
        abort(404)
    current = operations().read_order_status(link.order_id)
    return jsonify(status=current.status, final=current.final, pollAfter=current.poll_after)


def _refunds(current: OrderStatus, link: Link) -> OrderRefunds:
    return operations().read_refunds(link.order_id) if current.refundable else NO_REFUNDS


def _ask_total(order_id: str) -> tuple[Total | None, bool]:
    """The total that can be paid now, or None; and whether the shop's `order_total` failed."""
    try:
        total, account = runtime().answers.order(order_id)
        if total is not None:
            lead_forms_to(lambda: account)
        return total, False
    except Exception:
        runtime().log.exception("order_total", "order_total failed for order %s", order_id, extra=about(order_id))
        return None, True

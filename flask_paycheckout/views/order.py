"""An order's routes for customers: the pay button's, and the status page with its JSON.

A signed link leads to each of them, from any device, without a session.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

from flask import Response, redirect, render_template, request, url_for
from markupsafe import Markup
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.wrappers import Response as BaseResponse

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.order_problems import ProblemKind
from flask_paycheckout.checkouts.order_status import OrderStatus
from flask_paycheckout.checkouts.requests import ShownRequest
from flask_paycheckout.checkouts.shop_answers import ShopFailed, is_in_parts
from flask_paycheckout.checkouts.start import EarlierUnread
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.errors import (
    AmountRefused,
    OrderNotPayable,
    OrderSettled,
    ReceiverFailed,
    StartContended,
    TooManyAttempts,
    UnsafeCheckoutUrl,
)
from flask_paycheckout.payouts.refund_progress import NO_REFUNDS, OrderRefunds, read_refunds
from flask_paycheckout.runtime import STATUSES, for_writing, runtime
from flask_paycheckout.security.origins import require_allowed
from flask_paycheckout.security.signed_links import PAY, REQUEST, STATUS, Link
from flask_paycheckout.service.accounts import AccountUnavailable
from flask_paycheckout.text import request_of
from flask_paycheckout.totals import NothingToPay, Total
from flask_paycheckout.views import language
from flask_paycheckout.views.headers import lead_forms_to, may_use_links
from flask_paycheckout.views.order_urls import later_status_url, link_of, pay_path, request_page_url, status_path
from flask_paycheckout.views.page_text import AMOUNT_REFUSED, EARLIER_UNREAD, RETRY, SHOP_FAILED, PageText, plain_text
from flask_paycheckout.views.pages import (
    Answer,
    Code,
    bad_link,
    cross_origin,
    log_failure,
    negotiated,
    page,
    problem,
    qr_code,
    seconds_to_wait,
)
from flask_paycheckout.views.receipt_text import Receipt, pay_label
from flask_paycheckout.views.status_text import BUTTON, CHANGED, OVER, SECOND, UNFINISHED, UNPRICED, order_text
from flask_paycheckout.wiring.logs import about


@negotiated
def order_page(token: str) -> Answer:
    """Return the order's status; its page has a pay button while the shop wants a payment.

    With `?payment` in the page's address, redirect to the open payment page: the page itself names no checkout.
    """
    return _standing(link_of(STATUS, token))


@negotiated
def request_page(token: str) -> Answer:
    """Show what a payment request asks for, with its pay button; otherwise like `order_page`."""
    link = link_of(REQUEST, token)
    return _standing(link if link and runtime().requests.of_an_order(link.subject) else None)


def _standing(link: Link | None) -> Answer:
    if link is None:
        return bad_link()
    current = _read_status(link.subject)
    facts = {"status": current.status, "final": current.final, "pollAfter": current.poll_after}
    return Answer(partial(_status_page, link, current), lambda: facts)


def _status_page(link: Link, current: OrderStatus) -> BaseResponse:
    shop, order_id, settled = runtime(), link.subject, current.status in (Status.PAID, Status.HELD)
    total, failed = (None, False) if settled else _ask_total(order_id)
    due, rest = total, Decimal(0)
    if total is not None:
        rest = total.amount
        if current.has_part or is_in_parts(total):
            due, rest = shop.part_payments.due(order_id, total)
        if due is None and shop.part_payments.try_to_complete(order_id):
            return redirect(status_path(link), 303)
    open_page, news = None, ""
    if current.status == Status.PENDING and due is not None:
        open_page, news = _open_page(current.newest, total, due)
    # The shop may add to the query of each address.
    this_page = partial(url_for, str(request.endpoint), **(request.view_args or {}))
    if "payment" in request.args:
        # If the payment page has expired, redirect all the same. Otherwise this address would stay in the browser's
        # history, where it could lead to a later payment page.
        return redirect(open_page or this_page(), 303)
    held_totals = [checkout.due for checkout in current.newest if checkout.status == Status.HELD]
    if held_totals and current.status == Status.PAID:
        held_totals, news = [], SECOND
    elif failed:
        news = UNPRICED
    # Do not link to the refund page, which decides where money goes: others may have received the status link.
    refunds = _refunds(current, order_id)
    is_shown = shop.settings.show_total or request_of(order_id) is not None
    arrivals, taken_back = shop.checkouts.arrivals(order_id) if settled or current.refundable else ([], [])
    lines = shop.customers.lines_of(order_id) if is_shown else ()
    receipt = Receipt(next(iter(held_totals), due), rest, arrivals if is_shown else (), is_shown, taken_back, lines)
    # While order_total fails, the page must not claim that there is nothing to pay.
    is_payable = due is not None or failed
    # While it is unknown whether the customer has paid, offer only the page that is open, to avoid a second payment.
    newest = next(iter(current.newest), None)
    is_open = newest is not None and runtime().clock() < newest.expires_at
    offered = due is not None and news != UNFINISHED and (is_open or not current.is_unsure)
    return _page(
        link,
        current,
        order_text(current, is_payable, receipt, refunds, _asked(order_id), news),
        # The form is not shown with the link to the open page, because it could create a second one.
        action=pay_path(link) if offered else None,
        payment_page=open_page and this_page(payment=1),
    )


def _not_payable(link: Link) -> Answer:
    """The answer to an outdated pay button: the status of an order for which the shop wants no payment."""
    order_id = link.subject
    current = _read_status(order_id)
    text = order_text(current, False, Receipt(), _refunds(current, order_id), _asked(order_id))
    return problem(Code.NOT_PAYABLE, text.title, partial(_page, link, current, text))


def _page(
    link: Link, current: OrderStatus, text: PageText, action: str | None = None, payment_page: str | None = None
) -> Response:
    return page(
        "order.html",
        link.subject,
        text,
        standing=current,
        status_path=status_path(link, "order_status"),
        action=action,
        payment_page=payment_page,
        scan=_drawn(request_page_url((request.view_args or {})["token"]))
        if action and request.endpoint == "paycheckout.request"
        else None,
    )


def _asked(order_id: str) -> ShownRequest | None:
    """The payment request that an order belongs to, with the state of its row; None for an order of the shop."""
    payable = runtime().requests.of_an_order(order_id)
    return None if payable is None else ShownRequest(payable, payable.status("unpaid", runtime().clock()))


# Drawing takes longer than the rest of the page, and anybody with the link can open the page any number of times.
@lru_cache(maxsize=64)
def _drawn(url: str) -> Markup | None:
    """A QR code of a request's page; None without segno."""
    try:
        return qr_code(url)
    except ImportError:
        return None


def _open_page(newest: Sequence[CheckoutMixin], total: Total | None, due: Total | None) -> tuple[str | None, str]:
    """The open payment page on which the customer chose how to pay, or None; and the sentence about it.

    :param newest: the order's newest checkouts.
    :param due: the sum that a new payment page would ask for.
    """
    # The current checkout may be newer. The customer may have sent the money for this one, and would pay twice.
    pending = next((each for each in newest if each.status == Status.PENDING), None)
    if pending is not None and (pending.total, pending.due) != (total, due):
        return None, CHANGED
    if pending is None or runtime().clock() >= pending.expires_at:
        return None, OVER
    try:
        require_allowed(pending.url, runtime().origins_of(pending.account))
    except UnsafeCheckoutUrl:
        return None, OVER
    return pending.url, UNFINISHED


def _refunds(current: OrderStatus, order_id: str) -> OrderRefunds:
    if not current.refundable:
        return NO_REFUNDS
    return read_refunds(runtime().payouts, runtime().checkouts, order_id)


def _read_status(order_id: str) -> OrderStatus:
    return for_writing("the status page").statuses.of(order_id)


def _ask_total(order_id: str) -> tuple[Total | None, bool]:
    """The total that can be paid now, or None; and whether the shop failed to say it."""
    try:
        total, account = runtime().answers.order(order_id)
        if total is not None:
            runtime().service.accounts.client_of(account)
            lead_forms_to(lambda: account)
        return total, False
    except NothingToPay:
        return None, False
    except AccountUnavailable as error:
        runtime().order_problems.record(ProblemKind.ACCOUNT, order_id, error, account=error.account)
    except ShopFailed as failed:
        _log_shop_failure(order_id, failed)
        runtime().order_problems.record(failed.function, order_id, failed.error)
    except SQLAlchemyError:
        runtime().log.exception("order_total", "order %s could not be looked up", order_id, extra=about(order_id))
    return None, True


@negotiated
def create_checkout(token: str) -> Answer:
    """Start a payment of the order; people are redirected to the service's payment page.

    A browser that opens this address without the form gets the status page.
    """
    link = link_of(PAY, token)
    if request.method != "POST":
        return _standing(link)
    if not may_use_links():
        return cross_origin("Please start the payment from the shop's own page.")
    if link is None:
        return bad_link()
    try:
        checkout, is_new = for_writing("the pay button").starter.start(link.subject)
    except OrderNotPayable:
        return _not_payable(link)
    except OrderSettled:
        return Answer(lambda: redirect(status_path(link), 303), partial(_started, link))
    except ShopFailed as failed:
        _log_shop_failure(link.subject, failed)
        return _refused(link, Code.SHOP_FAILED, SHOP_FAILED)
    except AmountRefused as error:
        log_failure("starts of payments", "no checkout for order %s: %s", link.subject, error, about(link.subject))
        return _refused(link, Code.AMOUNT_REFUSED, AMOUNT_REFUSED)
    except (
        PaymentsError,
        TooManyAttempts,
        UnsafeCheckoutUrl,
        StartContended,
        ReceiverFailed,
        SQLAlchemyError,
    ) as error:
        return _unavailable(link, error)
    return Answer(lambda: redirect(checkout.url, 303), partial(_started, link, checkout), 201 if is_new else 200)


def _started(link: Link, checkout: CheckoutMixin | None = None) -> dict[str, Any]:
    """The JSON of an order's payment. The checkout is None if money has arrived."""
    current = runtime().statuses.stored(link.subject)
    # The URL is a hidden string, which JSON does not encode without `str`.
    url = {} if checkout is None else {"url": str(checkout.url)}
    return url | {
        "statusUrl": later_status_url(link),
        "status": current.status,
        "expiresAt": checkout and checkout.expires_at,
        "pollAfter": current.poll_after,
    }


def _log_shop_failure(order_id: str, failed: ShopFailed) -> None:
    message = "%s failed for order %s", failed.function, order_id
    runtime().log.exception(failed.function, *message, extra=about(order_id), error=failed.error)


def _refused(link: Link, code: Code, text: PageText) -> Answer:
    """The answer that no payment can be started, and that trying again does not help."""
    text = plain_text(text)
    return problem(code, text.title, partial(page, "unavailable.html", link.subject, text, action=None))


def _unavailable(link: Link, error: Exception) -> Answer:
    order_id = link.subject
    log_failure("starts of payments", "no checkout for order %s: %s", order_id, error, about(order_id))
    code = Code.TOO_MANY_ATTEMPTS if isinstance(error, TooManyAttempts) else Code.TRY_LATER
    wait = seconds_to_wait(error)
    text = plain_text(EARLIER_UNREAD if isinstance(error, EarlierUnread) else RETRY, wait)

    def write() -> Response:
        lead_forms_to(lambda: runtime().answers.account_of(order_id))
        return page("unavailable.html", order_id, text, action=pay_path(link))

    return problem(code, text.title, write, wait)


def paycheckout_button(order_id: str, label: str | None = None, total: Total | None = None) -> Markup:
    """A form that starts the payment of this order; or a link to its status page if a payment is pending, held or paid.

    The form contains an encrypted token, and no price. Reading the order's status takes one query, or none if this
    request has called `paycheckout.order_statuses` for it.

    :param label: the text of the button; by default "Pay now" in Flask-Babel's locale, or in the first of
        PAYCHECKOUT_LANGUAGES if the shop does not use Flask-Babel.
    :param total: the order's price, if the page knows it: the button then names the sum. `order_total` is not called,
        because it may lock the order.
    """
    status = _status_of(order_id)
    is_link = status in BUTTON and status != Status.PART
    if is_link or label is None:
        of_shop = language.of_shop(order_id)
        words = of_shop.gettext(BUTTON.get(status or "", BUTTON["pay"]))
        label = words if total is None or status in BUTTON else pay_label(total, of_shop)
    link, action = (status_path(order_id), None) if is_link else (None, pay_path(order_id))
    # Every variable is set, because a context processor of the shop could set a missing one.
    variables = {"label": label, "link": link, "action": action, "new_tab": runtime().settings.new_tab}
    return Markup(render_template("paycheckout/button.html", **variables))  # noqa: S704 - rendered with autoescape


def _status_of(order_id: str) -> str | None:
    shop = runtime()
    statuses: dict[str, str] = (shop.web_request() or {}).get(STATUSES, {})
    try:
        return statuses.get(shop.requests.require_order(order_id)) or shop.order_statuses([order_id])[order_id]
    except SQLAlchemyError:
        # The form reads the status again when it is sent, so the shop's page still works while the database is away.
        return None

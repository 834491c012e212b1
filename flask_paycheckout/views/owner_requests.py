"""The owner's page of payment requests: their list, a form that makes one, and their withdrawal."""

from __future__ import annotations

from datetime import datetime

from flask import request
from werkzeug.wrappers import Response

from flask_paycheckout.books.lists import page_of_requests
from flask_paycheckout.books.periods import moment_of
from flask_paycheckout.checkouts.requests import MAX_NOTE, MAX_TITLE, new_reference
from flask_paycheckout.runtime import runtime
from flask_paycheckout.shop_functions import personal
from flask_paycheckout.totals import Pay
from flask_paycheckout.views.order_urls import request_url
from flask_paycheckout.views.owner_forms import (
    PAY_MAIL,
    accounts_offered,
    as_typed,
    currency_given,
    faults,
    form,
    form_url,
    mail_with,
    number_given,
    why_given,
)
from flask_paycheckout.views.owner_page import Fault, Page, go_to, owner, owner_page, requested_filters

_TYPED = ("title", "note", "amount", "currency", "expires", "account")


def list_requests(fault: Fault | None = None) -> Page:
    """List payment requests, newest first, with a form for another one."""
    shop, filters = runtime(), requested_filters()
    page = page_of_requests(shop.checkouts, shop.clock(), request.args.get("after"), account=filters.account)
    typed = as_typed(*_TYPED)
    if not typed["currency"] and page.rows:
        typed["currency"] = page.rows[0].request.total.currency
    return owner_page(
        "requests",
        fault,
        page=page,
        asked=filters,
        typed=typed,
        longest={"title": MAX_TITLE, "note": MAX_NOTE},
        accounts=accounts_offered(),
        make_url=form_url("make_request", new_reference()),
        url_of=lambda listed: request_url(listed.reference),
        # The shop describes only its own orders, so the customer's address is unknown here.
        mail_of=lambda listed: mail_with(
            request_url(listed.reference), None, listed.account, None, PAY_MAIL, personal(listed.title)
        ),
        withdraw_url=lambda listed: form_url("withdraw_request", listed.reference),
    )


@form(lambda _, fault: list_requests(fault))
def make_request(reference: str) -> Response:
    """Make a payment request, once for each form that was shown."""
    account = request.form.get("account", "")
    with faults():
        runtime().merchants.require(account)
        payment_request = runtime().requests.make(
            Pay(number_given("amount"), currency_given()),
            request.form.get("title", ""),
            request.form.get("note", ""),
            _deadline_given(account),
            account,
            owner(),
            reference,
        )
    return go_to("requests", done="requested", _anchor=payment_request.reference)


@form(lambda _, fault: list_requests(fault))
def withdraw_request(reference: str) -> Response:
    """Withdraw a payment request, with name and reason."""
    runtime().requests.withdraw(reference, owner(), why_given())
    return go_to("requests", done="withdrawn")


def _deadline_given(account: str) -> datetime | None:
    text = request.form.get("expires", "")
    try:
        return moment_of(text, runtime().settings_of(account).time_zone) if text else None
    except ValueError as fault:
        raise ValueError(f"expires {fault}") from None

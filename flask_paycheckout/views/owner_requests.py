"""The owner's page of payment requests: their list, a form that makes one, and their withdrawal."""

from __future__ import annotations

from datetime import datetime

from flask import redirect, request, url_for
from werkzeug.wrappers import Response

from flask_paycheckout.books.lists import page_of_requests
from flask_paycheckout.books.periods import moment_of
from flask_paycheckout.checkouts.requests import MAX_NOTE, MAX_TITLE, new_reference
from flask_paycheckout.errors import WithdrawalRefused
from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.signed_links import REQUEST_FORM
from flask_paycheckout.text import trimmed
from flask_paycheckout.totals import Pay
from flask_paycheckout.views.order_urls import request_url
from flask_paycheckout.views.owner_forms import (
    asked_for,
    fault_text,
    form_url,
    number_given,
    owner,
    owner_page,
    subject_of_form,
    why_given,
)

_Page = str | tuple[str, int] | Response

_LISTED = 25
_DONE = frozenset({"paid", "withdrawn"})
_TYPED = ("title", "note", "amount", "currency", "expires", "account")


def list_requests() -> _Page:
    """List payment requests, newest first, with a form for another one."""
    return _shown()


def make_request(token: str) -> _Page:
    """Make a payment request, once for each form that was shown."""
    reference = subject_of_form(REQUEST_FORM, token)
    requests = runtime().for_writing("request()").requests
    account = request.form.get("account", "")
    try:
        if runtime().parts.several_accounts():
            runtime().merchants.require(account)
        made = requests.make(
            Pay(number_given("amount"), _currency_given()),
            request.form.get("title", ""),
            request.form.get("note", ""),
            _deadline_given(account),
            account,
            owner(),
            reference,
        )
    except ValueError as error:
        return _shown(fault_text(error), 400, wrong=str(error).partition(" ")[0])
    return redirect(url_for("paycheckout_owner.list_requests", _anchor=made.reference), 303)


def withdraw_request(token: str) -> _Page:
    """Withdraw a payment request, with name and reason."""
    reference, why = subject_of_form(REQUEST_FORM, token), why_given()
    if not why:
        return _shown("Say why the request is withdrawn.", 400)
    try:
        runtime().for_writing(f"withdraw_request({reference!r})").requests.withdraw(reference, owner(), why)
    except WithdrawalRefused as refused:
        return _shown(f"This request is {refused.status} already; see below.", 409)
    return redirect(url_for("paycheckout_owner.list_requests"), 303)


def _shown(fault: str | None = None, code: int = 200, wrong: str = "") -> _Page:
    shop, asked = runtime(), asked_for()
    page = page_of_requests(shop.checkouts, shop.clock(), request.args.get("after"), _LISTED, asked.account)
    typed = {name: request.form.get(name, "") for name in _TYPED}
    if not typed["currency"] and page.rows:
        typed["currency"] = page.rows[0].request.total.currency
    shown = owner_page(
        "requests",
        page=page,
        asked=asked,
        fault=fault,
        wrong=wrong,
        typed=typed,
        longest={"title": MAX_TITLE, "note": MAX_NOTE},
        accounts=shop.merchants.names() if shop.parts.several_accounts() else [],
        make_url=form_url("make_request", REQUEST_FORM, new_reference()),
        url_of=lambda listed: request_url(listed.reference),
        withdraw_url=lambda listed: form_url("withdraw_request", REQUEST_FORM, listed.reference),
        done=_DONE,
    )
    return shown, code


def _currency_given() -> str:
    """The currency of the form; the capitals of a currency's code may be left out."""
    given = trimmed(request.form.get("currency", ""))
    return given.upper() if len(given) == 3 else given


def _deadline_given(account: str) -> datetime | None:
    given = request.form.get("expires", "")
    try:
        return moment_of(given, runtime().settings_of(account).time_zone) if given else None
    except ValueError as fault:
        raise ValueError(f"expires {fault}") from None

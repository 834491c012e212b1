"""The owner's page that makes a payout without an order, which a person then approves."""

from __future__ import annotations

from flask import request
from werkzeug.wrappers import Response

from flask_paycheckout.checkouts.requests import new_reference
from flask_paycheckout.payouts.destinations import Destination, ToBank, ToWallet
from flask_paycheckout.runtime import runtime
from flask_paycheckout.views.owner_forms import (
    accounts_offered,
    as_typed,
    choice_given,
    currency_given,
    faults,
    form,
    form_url,
    number_given,
    text_given,
)
from flask_paycheckout.views.owner_page import Fault, Page, go_to, owner, owner_page

_WAYS = ("ask", "bank", "wallet")
_TYPED = ("amount", "currency", "note", "account", "to", "wallet_address", "account_name", "bank_name", "bank_code")


def ask_to_pay(fault: Fault | None = None) -> Page:
    """Show the form that pays somebody."""
    return owner_page(
        "pay",
        fault,
        # No page shows an account number again.
        typed=as_typed(*_TYPED) | {"account_number": ""},
        accounts=accounts_offered(),
        banks=runtime().banks.named(""),
        action=form_url("pay", f"payout-{new_reference()}"),
    )


@form(lambda _, fault: ask_to_pay(fault))
def pay(reference: str) -> Response:
    """Make a payout that waits for an approval, once for each form that was shown."""
    shop, currency, account, by = runtime(), currency_given(), request.form.get("account", ""), owner()
    with faults():
        shop.merchants.require(account)
        to = _destination(choice_given("to", _WAYS))
        amount, note = number_given("amount"), text_given("note") or None
        with shop.sessions.own() as session:
            shop.payout_requests.pay_out(reference, amount, currency, to, note, None, account, True, by, None)
            session.commit()
    return go_to("payout", reference=reference, done="asked" if to else "asked_receiver")


def _destination(way: str) -> Destination | None:
    """The destination in the form; None if the receiver is asked for it.

    :raises ValueError: a value cannot be used.
    :raises Fault: a value is missing.
    """
    if way == "ask":
        return None
    if way == "wallet":
        return ToWallet(_required("wallet_address"))
    name, number, code = (_required(each) for each in ("account_name", "account_number", "bank_code"))
    return ToBank(name, number, code, runtime().banks.named("").get(code) or _required("bank_name"))


def _required(name: str) -> str:
    text = text_given(name)
    if not text:
        raise Fault(f"Fill in the {name.replace('_', ' ')}.", field=name)
    return text

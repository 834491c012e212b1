"""The commands about payment requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from flask_paycheckout.books.explain import request_facts
from flask_paycheckout.books.lists import page_of_requests
from flask_paycheckout.books.periods import moment_of
from flask_paycheckout.checkouts.requests import ShownRequest
from flask_paycheckout.cli import paycheckout, system_user
from flask_paycheckout.cli.options import (
    account_option,
    json_option,
    known_account,
    limit_option,
    print_facts,
    print_page,
    read_amount,
    usable,
)
from flask_paycheckout.runtime import for_reading, for_writing
from flask_paycheckout.shop_functions import personal
from flask_paycheckout.text import account_text, moment_text, table_lines, visible
from flask_paycheckout.totals import Pay
from flask_paycheckout.views.order_urls import request_url, require_address


@paycheckout.command(short_help="Ask for money without an order; print the link.")
@click.argument("amount")
@click.argument("currency")
@click.option("--title", required=True, metavar="TEXT", help="What it is for; the customer sees it.")
@click.option("--note", metavar="TEXT", help="A further sentence for the customer.")
@click.option("--expires", metavar="WHEN", help="The date or time, in PAYCHECKOUT_TIME_ZONE, when it ends.")
@click.option("--account", default="", metavar="NAME", help="The merchant account that is paid.")
@json_option
def request(
    amount: str, currency: str, title: str, note: str | None, expires: str | None, account: str, as_json: bool
) -> None:
    """Make a payment request for AMOUNT in CURRENCY; print its reference and the link of its page.

    Send the link to the person who pays. `flask paycheckout requests` lists how requests stand.

    Exit code 0: made. 2: an argument cannot be used.
    """
    shop = for_writing("request()")
    account_name = known_account(account) or ""
    with usable("expires"):
        end = None if expires is None else moment_of(expires, shop.settings_of(account_name).time_zone)
    typed = read_amount(amount)
    with usable():
        require_address(account_name)
        stored = shop.requests.make(Pay(typed, currency), title, note, end, account_name, system_user())
    facts = _facts(ShownRequest(stored, "unpaid"))
    link = f"Send this link to the person who pays: {facts['url']}"
    print_facts(as_json, facts, f"request {stored.reference} for {stored.total}", link)


@paycheckout.command(short_help="List payment requests and how they stand.")
@account_option
@limit_option
@json_option
def requests(account: str | None, limit: int, as_json: bool) -> None:
    """List payment requests, newest first.

    Exit code 0: listed. 2: there is no such account.
    """
    account_name = known_account(account)
    shop = for_reading("the list of requests")
    page = page_of_requests(shop.checkouts, shop.clock(), None, limit, account_name)
    print_page(as_json, page, _facts, _table, "There are no payment requests.")


def _table(requests: Sequence[ShownRequest]) -> list[str]:
    rows = [["REFERENCE", "TITLE", "STATUS", "BEFORE", "AMOUNT"]]
    for request, status in requests:
        before = moment_text(request.expires_at) if request.expires_at else ""
        about = visible(request.reference + account_text(request.account)), visible(personal(request.title))
        rows.append([*about, status, before, str(request.total)])
    return table_lines(rows, left=4)


def _facts(shown: ShownRequest) -> dict[str, Any]:
    """The JSON facts of a request."""
    request, total = shown.request, shown.request.total
    return personal(request_facts(request)) | {
        "amount": total.amount,
        "currency": total.currency,
        "status": shown.status,
        "url": request_url(request.reference),
    }

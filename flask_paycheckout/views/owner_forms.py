"""The parts that the owner's pages share: rendering, choices of a list, and forms for one subject and one person."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from functools import partial, wraps
from itertools import groupby
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from flask import abort, current_app, redirect, render_template, request, url_for
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from flask_paycheckout.books.customers import Described
from flask_paycheckout.books.happenings import REASON_WORDS
from flask_paycheckout.books.payout_alarms import payout_name
from flask_paycheckout.books.periods import Period, moment_of
from flask_paycheckout.checkouts.payments import Amount
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.database.deeds import MAX_BY, MAX_WHY
from flask_paycheckout.errors import (
    NothingToRefund,
    PayoutConflict,
    PayoutRefused,
    RefundTooLarge,
    TransitionRefused,
    payout_status_text,
)
from flask_paycheckout.payouts.destinations import Facts, facts_in, hides_errors
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.runtime import for_writing, runtime
from flask_paycheckout.security.permission import PERSON, Person
from flask_paycheckout.security.signed_links import FORMS
from flask_paycheckout.shop_functions import personal
from flask_paycheckout.text import order_text, payout_sum_text, stored_sum_text, trimmed, visible
from flask_paycheckout.totals import typed_amount
from flask_paycheckout.translations.catalogues import choose
from flask_paycheckout.views.headers import HTML, nonce
from flask_paycheckout.views.language import format_amount, page_format, page_settings, shop_shown, use_settings
from flask_paycheckout.wiring.logs import about

Page = tuple[str, int, dict[str, str]]
"""A page of the owner's view, its HTTP status, and the header that says it is one."""

View = Callable[[str], Response | Page]

_Read = TypeVar("_Read")

_ALL_ACCOUNTS = "*"
_METHODS = {"": "not said", "crypto": "From a wallet"}
# The service writes codes in small letters with underscores.
_CODE = re.compile("[a-z0-9]+(_[a-z0-9]+)+")
_CAPITALS = frozenset({"ach", "eth", "pix", "qris", "sepa", "usdc", "usdt"})
# Longer than any amount; a longer text is no number.
_MAX_AMOUNT = 100
_NO_NAME = re.compile(r"[^A-Za-z0-9.-]+")
_DECIDED = "This was decided already, or cannot be decided like this any more; see below by whom."


@dataclass(eq=False)
class Fault(Exception):
    """Why a page does not do what was asked for; told on the page that the person came from."""

    text: str
    code: int = 400
    """The HTTP status."""

    field: str = ""
    """The field of the form that it is about; empty for none."""


@dataclass(frozen=True)
class Asked:
    """The filters in a list's address: account and days."""

    account: str | None
    """The merchant account; None for all."""

    accounts: list[str]
    """The names of the shop's accounts; empty when it has only one."""

    since: date | None
    until: date | None
    """The first and the last day."""

    period: Period
    """The time of these days in the shop's time zone, where the day on which clocks change has 23 or 25 hours."""

    @property
    def query(self) -> dict[str, str | date | None]:
        """The query of an address with these filters."""
        return {"account": self.account, "from": self.since, "to": self.until}


def asked_for() -> Asked:
    """Read the filters of this request's address."""
    shop = runtime()
    names = shop.merchants.names()
    accounts = names if len(names) > 1 else []
    account = request.args.get("account") if accounts else None
    if account == _ALL_ACCOUNTS:
        account = None
    if account is not None:
        try:
            shop.merchants.require(account)
        except ValueError:
            abort(404, "There is no such account.")
        use_settings(partial(shop.settings_of, account))
    since, until, zone = _day("from"), _day("to"), page_settings().time_zone
    start = None if since is None else moment_of(since, zone)
    end = None if until is None else moment_of(until + timedelta(days=1), zone)
    return Asked(account, accounts, since, until, Period(start, end, account))


def chosen(read: Callable[[str], _Read], name: str) -> _Read | None:
    """The value that the address has by this name; None for all, where it has none that can be read.

    :param read: raises a ValueError for other texts.
    """
    try:
        return read(request.args.get(name, ""))
    except ValueError:
        return None


def _day(name: str) -> date | None:
    day = chosen(date.fromisoformat, name)
    return day if day and 1970 <= day.year < 9999 else None


def when(at: datetime) -> str:
    """A time as people say it: "today, 14:05", "3 Mar, 14:05", "3 Mar 2025".

    In the time zone of the shop, or of the account that the page is limited to.
    """
    return _said(page_settings().time_zone, runtime().clock(), at)


def _exact(zone: tzinfo, at: datetime) -> str:
    """A time to the second."""
    local = at.astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M:%S}{'Z' if zone is UTC else f' {local:%Z}'}"


def _said(zone: tzinfo, now: datetime, at: datetime) -> str:
    local, today = at.astimezone(zone), now.astimezone(zone).date()
    name = {-1: "tomorrow", 0: "today", 1: "yesterday"}.get((today - local.date()).days)
    if name:
        return f"{name}, {local:%H:%M}"
    day = f"{local.day} {local:%b}"
    return f"{day}, {local:%H:%M}" if local.year == today.year else f"{day} {local.year}"


def shown(amount: Amount) -> str:
    """An amount in the notation of the page's language."""
    return format_amount(amount.amount, amount.currency)


def sum_in_sentence(amount: Decimal, currency: str) -> str:
    """An amount in the same notation with plain spaces, which stand alike on a terminal."""
    return " ".join(format_amount(amount, currency).split())


def owner() -> str:
    """The name of the person who makes this request, as decisions record it."""
    return person().name[:MAX_BY]


def person() -> Person:
    """The person who makes this request."""
    who: Person = request.environ[PERSON]
    return who


def owner_page(template: str, fault: Fault | None = None, code: int = 200, **facts: object) -> Page:
    """Render a page of the owner's view, for a person who may look.

    :param fault: what the page tells; its code is the answer's.
    """
    if "look" not in person().may:
        abort(403, "You may not look at these pages.")
    html = render_template(
        f"paycheckout/owner/{template}.html",
        done=_DONE.get(request.args.get("done", "")),
        first="after" not in request.args,
        fault=fault and visible(fault.text),
        wrong=fault and fault.field,
        why=request.form.get("why", ""),
        **facts,
    )
    return html, fault.code if fault else code, HTML


def frame(home: str | None, logout: str | None, wanted: Mapping[str, str], **more: object) -> dict[str, object]:
    """The variables and functions of all templates of the owner's view.

    :param home: the address or endpoint of the shop's own desk, and that which logs the person out.
    :param wanted: the ability that each endpoint wants.
    :param more: further ones.
    """
    who, show, zone = request.environ.get(PERSON), page_format(), page_settings().time_zone

    def can(endpoint: str) -> bool:
        """Whether the person may use an endpoint of these pages; templates show nothing else."""
        return wanted[endpoint] in person().may

    return more | {
        "home": _address(home),
        "logout": _address(logout),
        "can": can,
        "moment": partial(_exact, zone),
        "when": partial(_said, zone, runtime().clock()),
        "method_name": method_name,
        "format_amount": show,
        "shop": shop_shown(),
        "visible": visible,
        "state": state_text,
        "destination": destination,
        "personal": personal,
        "reasons": REASON_WORDS,
        "facts_in": facts_in,
        "name_of": payout_name,
        "order_text": order_text,
        "sum_of": partial(payout_sum_text, show=show),
        "shown": shown,
        "stored_sum": partial(stored_sum_text, show=show),
        "folded": folded,
        "who": who and who.name,
        "nonce": nonce(),
    }


def _address(place: str | None) -> str | None:
    """The address of a place that the shop gave as an address or as an endpoint."""
    return place if place is None or "/" in place else url_for(place)


def error_page(error: HTTPException) -> Response | HTTPException | Page:
    """An error page in the owner's frame, with a link to the shop's login for visitors who are not logged in."""
    if error.code is None or error.response is not None:
        # A redirect, or an answer that somebody has made.
        return error
    facts = {
        "name": error.name,
        "text": visible(error.description or ""),
        "is_nobody": error.code == 403 and PERSON not in request.environ,
        "done": None,
        # To count what waits takes twenty queries.
        "number_waiting": lambda: 0,
    }
    try:
        return render_template("paycheckout/owner/error.html", **facts), error.code, dict(error.get_headers()) | HTML
    except Exception:
        # A context processor of the shop, whose error may be the one that is told here.
        runtime().log.exception("owner's error pages", "an error page could not be rendered", extra=about())
        return error


_DONE = {
    "asked": "The payout is made. It waits for an approval.",
    "asked_receiver": "The payout is made. Send its receiver the link below.",
    "refunded": "The refund is made. Write to the customer: the link below asks where the money goes.",
    "by_hand": "Recorded: the money was given back by hand.",
    "approve": "Approved. It is sent within minutes.",
    "over_limit": "Approved beyond the daily limit. It is sent within minutes.",
    "cancel": "Cancelled. Nothing is sent.",
    "give_up": "Given up. It is not paid.",
    "retry": "It is tried again.",
    "sent": "Recorded: it was sent.",
    "not_sent": "Recorded: it was not sent.",
    "amended": "Recorded: it is right so.",
    "returned": "Recorded: it came back, and has failed.",
    "accepted": "Accepted.",
    "part": "Accepted as a part. Write to the customer: the link below leads to the payment of the rest.",
    "excess": "Accepted, and the refund of what came too much is made. Write to the customer: the link below asks where"
    " the money goes.",
    "rejected": "Refused. Give the money back, or keep it.",
    "kept": "Recorded: the money is kept.",
    "dealt_with": "Recorded: it is dealt with.",
    "requested": "The request is made. Send its link to whoever pays.",
    "withdrawn": "Withdrawn. It cannot be paid any more.",
    "erased": "Erased.",
}
"""The line that a page shows after what was done, by the name in its address."""


# Sentences of the customers' pages, so that they are translated.
CLAIM_MAIL = "A refund waits for you: open the link that the shop sent you, and say where the money should go."
PAY_MAIL = "This request is waiting for your payment."


def mail_with(
    url: str, order_id: str | None, account: str, described: Described | None, sentence: str, title: str | None = None
) -> str:
    """The `mailto:` address of a mail to a customer with a link, in the first language of the shop's pages.

    :param sentence: stands above the link; one of the customers' pages.
    :param title: what it is about, where that is no order.
    """
    settings = runtime().settings_of(account)
    language = choose([], settings.languages)
    subject = settings.shop_name or current_app.name
    if order_id is not None:
        title = language.gettext("Order %(order)s") % {"order": order_id}
    if title:
        subject += f": {title}"
    query = urlencode({"subject": subject, "body": f"{language.gettext(sentence)}\n\n{url}"}, quote_via=quote)
    return f"mailto:{quote((described and described.email) or '', safe='@')}?{query}"


def go_to(endpoint: str, **values: Any) -> Response:
    """Lead to another page of the owner's view."""
    return redirect(url_for(f".{endpoint}", **values), 303)


def to_save(content: bytes | Iterable[str], mimetype: str, name: str) -> Response:
    """A response that the browser saves as a file."""
    disposition = f'attachment; filename="{_NO_NAME.sub("-", name)}"'
    return Response(content, mimetype=mimetype, headers={"Content-Disposition": disposition})


_STATES = {
    Status.CREATED: "begun",
    Status.PENDING: "on its way",
    Status.PART: "part paid",
    Status.HELD: "needs you",
    Status.REJECTED: "refused",
    Status.ABANDONED: "not paid",
}


def state_text(status: str) -> str:
    """The words of an owner for a state of an order, checkout, request or payout."""
    return (
        _STATES.get(Status(status)) or status if status in {*Status} else payout_status_text(status).removeprefix("is ")
    )


def method_name(method: str | None) -> str:
    """The name of a payment method for people; of a bank's code its words: "US bank transfer"."""
    if method in _METHODS:
        return _METHODS[method]
    if method is None or not _CODE.fullmatch(method):
        return method or ""
    first, *words = [word.upper() if len(word) == 2 or word in _CAPITALS else word for word in method.split("_")]
    return " ".join([first[:1].upper() + first[1:], *words])


def destination(payout: PayoutMixin) -> Facts:
    """The facts about where a payout goes, each under its label; none until its receiver has said it."""
    facts = facts_in(payout.destination)
    if hides_errors(payout.destination, payout.currency):
        facts["Check"] = "none: compare each character, since nobody notices a wrong one"
    return facts


def folded(history: Iterable[Any]) -> Iterator[list[Any]]:
    """The entries of a history; equal ones that follow each other stand together."""
    for _, entries in groupby(history, lambda entry: (entry.text, entry.facts.get("compared"))):
        yield list(entries)


def form(page: Callable[[str, Fault], Page]) -> Callable[[View], View]:
    """Make the view of a form's token of a function that does what the form says, given the token's subject.

    :param page: shows the page with the form again, with what kept it from being done.
    """

    def decorate(act: View) -> View:
        @wraps(act)
        def view(token: str) -> Response | Page:
            signed = runtime().signed_links.read(f"{FORMS}{act.__name__}", token) or ""
            subject, _, who = signed.partition("\n")
            if not subject or who != person().name:
                abort(403, "This form is not yours, or too old. Open the page again.")
            for_writing(f"{act.__name__}({subject!r})")
            try:
                return act(subject)
            except Fault as told:
                fault = told
            except (PayoutConflict, PayoutRefused) as refused:
                fault = Fault(f"Nothing was recorded: {refused}", 409)
            except RefundTooLarge as refused:
                left = f"{refused.limit:f} {refused.currency}"
                fault = Fault(f"Nothing was recorded: only {left} of the payment are left for refunds.", 409, "amount")
            except (NothingToRefund, TransitionRefused):
                fault = Fault(_DECIDED, 409)
            return page(subject, fault)

        return view

    return decorate


def form_url(endpoint: str, subject: str) -> str:
    """The URL that a form posts to. Its token contains subject and person, so nobody can decide in another's name.

    :param subject: the id of the checkout or payout.
    """
    token = runtime().signed_links.sign(f"{FORMS}{endpoint}", f"{subject}\n{person().name}")
    return url_for(f".{endpoint}", token=token)


def text_given(name: str) -> str:
    """A text of the posted form, without blanks at its ends; empty without one."""
    return trimmed(request.form.get(name, ""))


def number_given(name: str) -> str:
    """A number of the posted form, as `typed_amount` reads it.

    :raises ValueError: it cannot be read.
    """
    return typed_amount(text_given(name)[:_MAX_AMOUNT])


@contextmanager
def faults(field: str | None = None) -> Iterator[None]:
    """Tell a value of the form that cannot be used.

    :param field: the field that has it; else the first word of the error.
    :raises Fault: for each `ValueError`.
    """
    try:
        yield
    except ValueError as error:
        text = str(error)
        raise Fault(f"{text[:1].upper()}{text[1:]}.", field=field or text.partition(" ")[0]) from None


def choice_given(name: str, choices: Container[str]) -> str:
    """The choice in the posted form.

    :raises Fault: it is none of these.
    """
    choice = request.form.get(name, "")
    if choice not in choices:
        raise Fault("Choose one, and say why.")
    return choice


def why_given(*, required: bool = True) -> str:
    """The reason in the posted form.

    :raises Fault: there is none, and it is required.
    """
    why = text_given("why")[:MAX_WHY]
    if required and not why:
        raise Fault("Say why, for the record.", field="why")
    return why

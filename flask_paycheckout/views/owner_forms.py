"""The parts that the owner's pages share: rendering, choices of a list, and forms for one subject and one person."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial, wraps
from itertools import groupby
from typing import Any, TypeVar

from flask import abort, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from flask_paycheckout.books.payout_alarms import payout_name
from flask_paycheckout.books.periods import Period, moment_of
from flask_paycheckout.database.deeds import MAX_BY, MAX_WHY
from flask_paycheckout.errors import (
    NothingToRefund,
    PaybackRefused,
    PayoutRefused,
    RefundTooLarge,
    TransitionRefused,
    payout_status_text,
)
from flask_paycheckout.runtime import for_writing, runtime
from flask_paycheckout.security.permission import Person
from flask_paycheckout.security.signed_links import FORMS
from flask_paycheckout.text import moment_text, payout_sum_text, trimmed, visible
from flask_paycheckout.totals import decimals_of
from flask_paycheckout.views.headers import nonce
from flask_paycheckout.views.language import page_settings, use_settings

Page = tuple[str, int]
"""A page of the owner's view, and its HTTP status."""

View = Callable[[str], Response | Page]

_Read = TypeVar("_Read")

_ALL_ACCOUNTS = "*"
# Longer than any amount; a longer text is no number.
_MAX_AMOUNT = 100
_EXPONENT = re.compile(r"[0-9]e", re.IGNORECASE)
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

    @property
    def period(self) -> Period:
        """The time of these days in the shop's time zone, where the day on which clocks change has 23 or 25 hours."""
        zone, end = page_settings().time_zone, self.until and self.until + timedelta(days=1)
        start, until = (None if day is None else moment_of(day, zone) for day in (self.since, end))
        return Period(start, until, self.account)

    @property
    def query(self) -> dict[str, str | date | None]:
        """The query of an address with these filters."""
        return {"account": self.account, "from": self.since, "to": self.until}


def asked_for() -> Asked:
    """Read the filters of this request's address."""
    names = runtime().merchants.names()
    accounts = names if len(names) > 1 else []
    account = request.args.get("account") if accounts else None
    if account == _ALL_ACCOUNTS:
        account = None
    if account is not None:
        try:
            runtime().merchants.require(account)
        except ValueError:
            abort(404, "There is no such account.")
        use_settings(partial(runtime().settings_of, account))
    return Asked(account, accounts, _day("from"), _day("to"))


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


def moment(at: datetime) -> str:
    """A time for people, in the time zone of the shop or of the account that the page is limited to, to the second."""
    zone = page_settings().time_zone
    return moment_text(at) if zone is UTC else f"{at.astimezone(zone):%Y-%m-%d %H:%M:%S %Z}"


def owner() -> str:
    """The name of the person who makes this request, as decisions record it."""
    return person().name[:MAX_BY]


def person() -> Person:
    """The person who makes this request."""
    who: Person = g.paycheckout_owner
    return who


def owner_page(template: str, fault: Fault | None = None, code: int = 200, **facts: object) -> Page:
    """Render a page of the owner's view, for a person who may look.

    :param fault: what the page tells; its code is the answer's.
    """
    if "look" not in person().may:
        abort(403, "You may not look at these pages.")
    html = render_template(
        f"paycheckout/owner/{template}.html",
        moment=moment,
        visible=visible,
        state=state_text,
        name_of=payout_name,
        sum_of=payout_sum_text,
        folded=folded,
        who=person().name,
        first="after" not in request.args,
        nonce=nonce(),
        fault=fault and visible(fault.text),
        wrong=fault and fault.field,
        why=request.form.get("why", ""),
        **facts,
    )
    return html, fault.code if fault else code


def go_to(endpoint: str, **values: Any) -> Response:
    """Lead to another page of the owner's view."""
    return redirect(url_for(f".{endpoint}", **values), 303)


def to_save(content: bytes | Iterable[str], mimetype: str, name: str) -> Response:
    """A response that the browser saves as a file."""
    disposition = f'attachment; filename="{_NO_NAME.sub("-", name)}"'
    return Response(content, mimetype=mimetype, headers={"Content-Disposition": disposition})


def state_text(status: str) -> str:
    """The words for a state of a checkout or payout."""
    return payout_status_text(status).removeprefix("is ")


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
            subject = subject_of_form(f"{FORMS}{act.__name__}", token)
            for_writing(f"{act.__name__}({subject!r})")
            try:
                return act(subject)
            except Fault as told:
                fault = told
            except (PaybackRefused, PayoutRefused) as refused:
                fault = Fault(f"Nothing was recorded: {refused}", 409)
            except RefundTooLarge as refused:
                left = f"{refused.rest} {refused.currency}"
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


def subject_of_form(purpose: str, token: str) -> str:
    """The subject in a form's token; anything but this person's own valid form is refused with 403."""
    signed = runtime().signed_links.read(purpose, token) or ""
    subject, _, who = signed.partition("\n")
    if not subject or who != person().name:
        abort(403, "This form is not yours, or too old. Open the page again.")
    return subject


def text_given(name: str) -> str:
    """A text of the posted form, without blanks at its ends; empty without one."""
    return trimmed(request.form.get(name, ""))


def number_given(name: str, currency: str) -> str:
    """A number of the posted form, with a point before its decimals.

    :raises ValueError: there is none, or it has an exponent, which programs write, and a person by mistake; or three
        decimals, zeros among them, in a currency with fewer, since 1,000 may be a thousand. Or there is no such
        currency.
    """
    # A comma is a decimal mark, never one of thousands, whatever the language.
    number, places = text_given(name)[:_MAX_AMOUNT].replace(",", "."), decimals_of(currency)
    in_thousands = places is not None and places < len(number.partition(".")[2]) == 3
    if not number:
        raise ValueError("amount is missing: say how much")
    if in_thousands or _EXPONENT.search(number):
        raise ValueError("amount must be written like 12.50, without a mark of thousands")
    return number


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

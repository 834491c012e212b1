"""The frame of the owner's pages: who may see them, how they are rendered, and the filters and words that they share.

Every request first asks the shop's permission function for the person's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from functools import cache, partial, wraps
from itertools import groupby
from typing import Any, TypeVar

from flask import abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from flask_paycheckout.books.happenings import REASON_WORDS
from flask_paycheckout.books.payout_alarms import payout_name
from flask_paycheckout.books.periods import Period, moment_of
from flask_paycheckout.checkouts.order_problems import ProblemKind
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.database.deeds import MAX_BY
from flask_paycheckout.errors import ConfigurationError, payout_status_text
from flask_paycheckout.payouts.destinations import Facts, facts_in, hides_errors
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.permission import PERSON, Permission, Person, person_of
from flask_paycheckout.shop_functions import Door, personal, through
from flask_paycheckout.text import order_text, payout_sum_text, stored_sum_text, visible
from flask_paycheckout.views.headers import HTML, nonce, require_same_site
from flask_paycheckout.views.language import (
    exact_moment,
    page_format,
    page_settings,
    shop_shown,
    shown,
    spoken_moment,
    use_settings,
)
from flask_paycheckout.wiring.logs import about

Page = tuple[str, int, dict[str, str]]
"""A page of the owner's view, its HTTP status, and the header that says it is one."""

_Read = TypeVar("_Read")

_ALL_ACCOUNTS = "*"
_METHODS = {"": "not said", "crypto": "From a wallet"}
# The service writes codes in small letters with underscores.
_CODE = re.compile("[a-z0-9]+(_[a-z0-9]+)+")
_CAPITALS = frozenset({"ach", "eth", "pix", "qris", "sepa", "usdc", "usdt"})


@dataclass(eq=False)
class Fault(Exception):
    """The reason why a form was refused, shown on the page that has the form."""

    text: str
    code: int = 400
    """The HTTP status."""

    field: str = ""
    """The field of the form that is wrong; empty if no single field is."""


def owner() -> str:
    """The name of the person who makes this request, as decisions record it."""
    return person().name[:MAX_BY]


def person() -> Person:
    """The person who makes this request."""
    who: Person = request.environ[PERSON]
    return who


def require_permission(permission: Permission, abilities: Mapping[str, str]) -> None:
    """Refuse a request without a person, one whose person may not do this, and every form of another site.

    :param abilities: the ability that each endpoint requires.
    """
    shop = runtime()
    try:
        visitor = person_of(permission, shop.call_shop)
    except (HTTPException, SQLAlchemyError):
        raise
    except Exception as error:
        if isinstance(error, ConfigurationError) and shop.strict:
            raise
        shop.log.exception("permission", "the function that says who may look at payments failed", extra=about())
        shop.order_problems.record(ProblemKind.PERMISSION, "", error)
        abort(503, "The shop's own function that says who may see this page failed. Its log and its report tell why.")
    if visitor is None:
        abort(403, "Only the shop's owner may see this page. Log in to the shop first.")
    request.environ[PERSON] = visitor
    require_ability(visitor, abilities[str(request.endpoint).rpartition(".")[2]])
    # The permission function may have read through db.session. End that read, because these pages would need a second
    # connection while it is open, and its lock could block them.
    shop.sessions.allow_reading("the owner's page")
    shop.order_problems.works(ProblemKind.PERMISSION)
    if request.method == "POST":
        require_same_site("Please decide on the owner's own page.")


def require_ability(visitor: Person, ability: str) -> None:
    if ability not in visitor.may:
        abort(403, f"You may not do this here: it needs the permission to {ability}.")


# The query parameter with a page's subject.
_ABOUT = {"show_payout": "reference", "give_proof": "reference"}


def order_asked() -> str:
    """The order id in this request's address; a person who types the address may write the short parameter `id`."""
    return request.args.get("order_id") or request.args.get("id", "")


def endpoint_of(view: Callable[..., ResponseReturnValue]) -> str:
    """The endpoint of a page, which is the name of its view without "list" or "show"."""
    return view.__name__.removeprefix("list_").removeprefix("show_")


def as_page(view: Callable[..., ResponseReturnValue]) -> Callable[..., ResponseReturnValue]:
    """Record that a view's deeds were done through a page, and who viewed personal data on it."""
    name, endpoint = view.__name__, endpoint_of(view)

    @wraps(view)
    def page(**values: str) -> ResponseReturnValue:
        order_id = order_asked() if name == "show_order" else None
        subject = order_id or request.args.get(_ABOUT.get(name, ""), endpoint)
        by = owner()
        with through(Door("page", by, cache(lambda: runtime().viewed(by, subject, order_id)))):
            return view(**values)

    return page


def owner_page(template: str, fault: Fault | None = None, code: int = 200, **facts: object) -> Page:
    """Render a page of the owner's view for a person with the ability `look`.

    :param fault: shown on the page; its code is the status of the answer.
    """
    if "look" not in person().may:
        abort(403, "You may not look at these pages.")
    html = render_template(
        f"paycheckout/owner/{template}.html",
        first="after" not in request.args,
        fault=fault and visible(fault.text),
        wrong=fault and fault.field,
        why=request.form.get("why", ""),
        **facts,
    )
    return html, fault.code if fault else code, HTML


def frame(home: str | None, logout: str | None, abilities: Mapping[str, str], **more: object) -> dict[str, object]:
    """The variables and functions of all templates of the owner's view.

    :param home: the address or endpoint of the shop's own admin page.
    :param logout: the address or endpoint that logs the person out.
    :param abilities: the ability that each endpoint requires.
    :param more: further variables and functions.
    """
    who, show, zone, shop = request.environ.get(PERSON), page_format(), page_settings().time_zone, shop_shown()

    def can(endpoint: str) -> bool:
        """Whether the person may use an endpoint of these pages; templates show nothing else."""
        return abilities[endpoint] in person().may

    return more | {
        "home": _address(home),
        "logout": _address(logout),
        "can": can,
        "moment": partial(exact_moment, zone),
        "when": partial(spoken_moment, zone, runtime().clock()),
        "method_name": method_name,
        "format_amount": show,
        "shop": shop,
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
        # A redirect, or an error that already has a response.
        return error
    facts = {
        "name": error.name,
        "text": visible(error.description or ""),
        "is_nobody": error.code == 403 and PERSON not in request.environ,
        # The true number takes twenty queries.
        "number_waiting": lambda: 0,
    }
    try:
        return render_template("paycheckout/owner/error.html", **facts), error.code, dict(error.get_headers()) | HTML
    except Exception:
        # A context processor of the shop failed; its error may also be the one that this page reports.
        runtime().log.exception("owner's error pages", "an error page could not be rendered", extra=about())
        return error


def go_to(endpoint: str, **values: Any) -> Response:
    """Redirect to another page of the owner's view."""
    return redirect(url_for(f".{endpoint}", **values), 303)


# The filters of lists


@dataclass(frozen=True)
class Filters:
    """The filters in a list's address: account and days."""

    account: str | None
    """The merchant account; None for all."""

    accounts: list[str]
    """The names of the shop's accounts; empty when it has only one."""

    since: date | None
    until: date | None
    """The first and the last day."""

    period: Period
    """The time of these days in the zone; a day on which the clocks change has 23 or 25 hours."""

    zone: tzinfo
    """The time zone of the shop, or of the merchant account."""

    @property
    def query(self) -> dict[str, str | date | None]:
        """The query of an address with these filters."""
        return {"account": self.account, "from": self.since, "to": self.until}


def requested_filters() -> Filters:
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
    return Filters(account, accounts, since, until, Period(start, end, account), zone)


def chosen(read: Callable[[str], _Read], name: str) -> _Read | None:
    """The value of this query parameter; None, which means all, if it is missing or cannot be read.

    :param read: parses the text, and raises ValueError for one that it cannot read.
    """
    try:
        return read(request.args.get(name, ""))
    except ValueError:
        return None


def _day(name: str) -> date | None:
    day = chosen(date.fromisoformat, name)
    return day if day and 1970 <= day.year < 9999 else None


# Words


_STATES: dict[str, str] = {
    "unpaid": "not paid",
    Status.CREATED: "begun",
    Status.PENDING: "on its way",
    Status.PART: "part paid",
    Status.PAID: "paid",
    Status.HELD: "needs you",
    Status.REJECTED: "rejected",
    Status.ABANDONED: "not paid",
}


def state_text(status: str) -> str:
    """The owner's words for a state of an order, checkout, request or payout."""
    return _STATES.get(status) or payout_status_text(status).removeprefix("is ")


def method_name(method: str | None) -> str:
    """The name of a payment method for people; a code such as "us_bank_transfer" becomes "US bank transfer"."""
    if method in _METHODS:
        return _METHODS[method]
    if method is None or not _CODE.fullmatch(method):
        return method or ""
    first, *words = [word.upper() if len(word) == 2 or word in _CAPITALS else word for word in method.split("_")]
    return " ".join([first[:1].upper() + first[1:], *words])


def destination(payout: PayoutMixin) -> Facts:
    """The facts about where a payout goes, by label; empty until its receiver has said it."""
    facts = facts_in(payout.destination)
    if hides_errors(payout.destination, payout.currency):
        facts["Check"] = "none: compare each character, since nobody notices a wrong one"
    return facts


def folded(history: Iterable[Any]) -> Iterator[list[Any]]:
    """The entries of a history, with consecutive equal entries grouped."""
    for _, entries in groupby(history, lambda entry: (entry.text, entry.facts.get("compared"))):
        yield list(entries)

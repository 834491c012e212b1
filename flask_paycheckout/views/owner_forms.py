"""The forms of the owner's pages, each for one subject and one person; their values; mail links and downloads."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from urllib.parse import quote, urlencode

from flask import abort, current_app, request, url_for
from werkzeug.wrappers import Response

from flask_paycheckout.books.customers import Described
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.database.deeds import MAX_WHY
from flask_paycheckout.errors import NothingToRefund, PayoutConflict, PayoutRefused, RefundTooLarge, TransitionRefused
from flask_paycheckout.runtime import for_writing, runtime
from flask_paycheckout.security.signed_links import FORMS
from flask_paycheckout.text import trimmed
from flask_paycheckout.totals import typed_amount
from flask_paycheckout.translations.catalogues import choose
from flask_paycheckout.views.owner_page import Fault, Page, person

View = Callable[[str], Response | Page]

MAX_AMOUNT = 100
"""The most characters of an amount; a longer text is no number."""

_NO_NAME = re.compile(r"[^A-Za-z0-9.-]+")
_UNSEEN = (
    "Nothing was recorded: the payments service reports another amount now than when you opened the page. Look at it"
    " below, and decide again."
)
_DECIDED = "This was decided already, or cannot be decided like this any more; see below by whom."


def form(page: Callable[[str, Fault], Page]) -> Callable[[View], View]:
    """Decorate a function that carries out a form for its subject: the view takes the form's token instead.

    :param page: shows the page with the form again, with the fault that prevented the action.
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
            except Fault as error:
                fault = error
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


def form_url(endpoint: str, subject: str, **seen: object) -> str:
    """The URL that a form posts to. Its token contains subject and person, so nobody can act in another's name.

    :param subject: the id of the checkout or payout.
    :param seen: the query, for what the page showed.
    """
    token = runtime().signed_links.sign(f"{FORMS}{endpoint}", f"{subject}\n{person().name}")
    return url_for(f".{endpoint}", token=token, **seen)  # type: ignore[arg-type]


def money_text(checkout: CheckoutMixin) -> str:
    """The money of a checkout, by which a form knows whether it is still what the page showed."""
    return str(checkout.payment and checkout.payment.paid)


def require_money_seen(checkout_id: str) -> None:
    """Refuse a form about a checkout whose money has changed since the page was opened.

    :raises Fault: it has changed.
    """
    now = money_text(runtime().checkouts.require(checkout_id))
    if request.args.get("seen", now) != now:
        raise Fault(_UNSEEN, 409)


def as_typed(*names: str) -> dict[str, str]:
    """The values of the posted form, to be shown again; empty texts before it is sent."""
    return {name: request.form.get(name, "") for name in names}


def accounts_offered() -> list[str]:
    """The names of the accounts that a form offers; empty if the shop has only one."""
    shop = runtime()
    return shop.merchants.names() if shop.several_accounts() else []


def text_given(name: str) -> str:
    """A text of the posted form, without blanks at its ends; empty if it is missing."""
    return trimmed(request.form.get(name, ""))


def number_given(name: str) -> str:
    """A number of the posted form, as `typed_amount` reads it.

    :raises ValueError: it cannot be read.
    """
    return typed_amount(text_given(name)[:MAX_AMOUNT])


def currency_given() -> str:
    """The currency of the posted form; the capitals of its code may be left out."""
    currency = text_given("currency")
    return currency.upper() if len(currency) == 3 else currency


@contextmanager
def faults(field: str | None = None) -> Iterator[None]:
    """Turn each `ValueError` into a `Fault` about a field of the form.

    :param field: the field's name; by default the first word of the error.
    :raises Fault: for each `ValueError`.
    """
    try:
        yield
    except ValueError as error:
        text = str(error)
        raise Fault(f"{text[:1].upper()}{text[1:]}.", field=field or text.partition(" ")[0]) from None


def choice_given(name: str, choices: Container[str]) -> str:
    """The choice in the posted form.

    :raises Fault: the choice is not in `choices`.
    """
    choice = request.form.get(name, "")
    if choice not in choices:
        raise Fault("Choose one, and say why.")
    return choice


def why_given(*, required: bool = True) -> str:
    """The reason in the posted form.

    :raises Fault: the reason is missing, and required.
    """
    why = text_given("why")[:MAX_WHY]
    if required and not why:
        raise Fault("Say why, for the record.", field="why")
    return why


# These sentences are listed with the customers' pages, so that they are translated.
CLAIM_MAIL = "A refund waits for you: open the link that the shop sent you, and say where the money should go."
PAY_MAIL = "This request is waiting for your payment."


def mail_with(
    url: str, order_id: str | None, account: str, described: Described | None, sentence: str, title: str | None = None
) -> str:
    """The `mailto:` address of a mail with a link for a customer, in the first language of the shop's pages.

    :param sentence: a translated sentence of the customers' pages, which stands above the link.
    :param title: the mail's subject if it is about no order.
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


def to_save(content: bytes | Iterable[str], mimetype: str, name: str) -> Response:
    """A response that the browser saves as a file."""
    disposition = f'attachment; filename="{_NO_NAME.sub("-", name)}"'
    return Response(content, mimetype=mimetype, headers={"Content-Disposition": disposition})

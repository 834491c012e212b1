"""The owner's pages about orders: their list, the explanation of one, and decisions on held payments.

Every request first asks the shop's permission function for the person's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import cast

from flask import Blueprint, Flask, abort, current_app, g, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import NotFound, ServiceUnavailable
from werkzeug.wrappers import Response

from flask_paycheckout.books.explain import total_text
from flask_paycheckout.books.lists import find_order_id, page_of_deeds, page_of_orders
from flask_paycheckout.books.order_money import money_of, refunded_of
from flask_paycheckout.books.report import find_alarms
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.decisions import HOW_TO_ACCEPT, REJECTING, accepting
from flask_paycheckout.checkouts.payments import Amount, arrived_of, sums_of
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.database.order_ids import is_order_id
from flask_paycheckout.errors import ReceiverFailed, UnknownCheckout, UnknownPayout, UnknownRequest
from flask_paycheckout.runtime import for_reading, runtime
from flask_paycheckout.security.permission import Permission, person_of, require_callable
from flask_paycheckout.shop_functions import through
from flask_paycheckout.text import visible
from flask_paycheckout.views import owner_books, owner_payouts, owner_requests
from flask_paycheckout.views.headers import exempt_from_csrf, harden, require_same_site
from flask_paycheckout.views.owner_forms import (
    Fault,
    Page,
    asked_for,
    choice_given,
    chosen,
    form,
    form_url,
    go_to,
    owner,
    owner_page,
    person,
    why_given,
)
from flask_paycheckout.views.pages import answer_owner

_LISTED = 100
# The pages that list what these alarms count, the state in which it is, and the words of the link.
_LISTS_OF_ALARMS: dict[str, tuple[str, str | None, str]] = {
    "held-payments": ("list_orders", "held", "See what is held"),
    "money-to-pay-back": ("list_paybacks", None, "See what to pay back or keep"),
    "payouts-to-approve": ("list_payouts", "waiting", "See what to approve"),
    "unclaimed-refunds": ("list_payouts", "claimable", "See what waits for its receiver"),
    "unknown-payouts": ("list_payouts", "unknown", "See what is unknown"),
    "failed-payouts": ("list_payouts", "failed", "See what failed"),
}


def make_owner_view(permission: Permission, home: str | None, logout: str | None) -> Blueprint:
    """Make the blueprint `paycheckout_owner`, whose every page asks the permission function first.

    :param home: the address or endpoint of the shop's own desk, to which each page links.
    :param logout: the address or endpoint that logs the person out.
    """
    require_callable(permission, "paycheckout.owner_view")
    blueprint = Blueprint("paycheckout_owner", __name__, url_prefix="/paycheckout/owner")
    # The pages, each with the ability that it wants of a person; those with a token take a form.
    pages: dict[str, tuple[Callable[..., ResponseReturnValue], str]] = {
        "": (list_orders, "look"),
        "/order": (show_order, "look"),
        "/paybacks": (list_paybacks, "look"),
        "/held/<token>": (resolve, "decide"),
        "/paybacks/<token>": (mark_paid_back, "decide"),
        "/payouts": (owner_payouts.list_payouts, "look"),
        "/payout": (owner_payouts.show_payout, "look"),
        "/payout/proof": (owner_payouts.give_proof, "look"),
        "/payouts/<token>": (owner_payouts.decide_payout, "approve"),
        "/books": (owner_books.show_month, "look"),
        "/books/month": (owner_books.download_month, "export"),
        "/deeds": (list_deeds, "look"),
        "/erase/<token>": (erase, "erase"),
        "/requests": (owner_requests.list_requests, "look"),
        "/requests/<token>": (owner_requests.make_request, "decide"),
        "/requests/<token>/withdraw": (owner_requests.withdraw_request, "decide"),
        "/refund": (owner_payouts.ask_for_refund, "refund"),
        "/refunds/<token>": (owner_payouts.refund, "refund"),
    }
    wanted = {view.__name__: ability for view, ability in pages.values()}
    forms = [view for rule, (view, _) in pages.items() if "<token>" in rule]
    # The deeds of these views are recorded as done through a page.
    as_page = through("page")
    for rule, (view, _) in pages.items():
        methods = ["POST" if view in forms else "GET"]
        blueprint.add_url_rule(
            rule, view_func=as_page(view), methods=methods, merge_slashes=False, strict_slashes=False
        )

    def can(endpoint: str) -> bool:
        """Whether the person may use an endpoint of these pages; templates show nothing else."""
        return wanted[endpoint] in person().may

    blueprint.before_request(lambda: _require_permission(permission, wanted))
    blueprint.context_processor(lambda: {"home": _address(home), "logout": _address(logout), "can": can})
    blueprint.register_error_handler(SQLAlchemyError, answer_owner)
    blueprint.register_error_handler(
        ReceiverFailed,
        lambda error: ServiceUnavailable(f"Nothing was recorded, because {visible(error.problem)}.").get_response(),
    )
    for unknown in (UnknownCheckout, UnknownPayout, UnknownRequest):
        # By the shop's own page, where it has one.
        blueprint.register_error_handler(
            unknown,
            lambda error: current_app.handle_http_exception(NotFound("There is no such payment, payout or request.")),
        )
    blueprint.after_request(harden)
    blueprint.record(lambda state: exempt_from_csrf(cast(Flask, state.app), forms))
    return blueprint


def _address(place: str | None) -> str | None:
    """The address of a place that the shop gave as an address or as an endpoint."""
    return place if place is None or "/" in place else url_for(place)


def list_orders() -> Page | Response:
    """List the orders, newest first, below the alarms that need a person."""
    shop = runtime()
    search = request.args.get("search", "").strip()
    if search:
        order_id = find_order_id(shop.checkouts, search)
        if order_id is not None:
            return go_to("show_order", id=order_id)
    status, asked = chosen(Status, "status"), asked_for()
    page = page_of_orders(shop.checkouts, status, request.args.get("after"), period=asked.period)
    return owner_page(
        "orders",
        code=404 if search else 200,
        page=page,
        arrived=sums_of(_arrived(attempt) for order in page.rows for attempt in order.attempts),
        arrived_of=_arrived,
        total_of=total_text,
        sums=owner_books.sums_of_days(asked),
        alarms=find_alarms(shop.look(asked.account)),
        lists=_LISTS_OF_ALARMS,
        asked=asked,
        statuses=list(Status),
        status=status,
        not_found=search,
    )


def _arrived(attempt: CheckoutMixin) -> Amount | None:
    return arrived_of(attempt.payment, attempt.total_kind)


def show_order() -> Page:
    """Explain one order, with a form for each payment that needs a person."""
    return _story(request.args.get("id", ""))


def _story(order_id: str, fault: Fault | None = None) -> Page:
    shop = runtime()
    story = shop.explain(order_id) if is_order_id(order_id) else None
    if story is None or not (story.attempts or story.payouts or story.request):
        abort(404, "No payment of such an order was ever started.")
    shop.looked(owner(), order_id, order_id)
    has_part = any(attempt.status == Status.PART for attempt in story.attempts)
    return owner_page(
        "order",
        fault,
        story=story,
        money=money_of(story),
        accepting=accepting,
        rejecting=REJECTING,
        refunded_of=partial(refunded_of, story),
        rest=shop.part_payments.rest(order_id) if has_part else None,
        choices=lambda checkout_id: shop.resolutions.choices(shop.checkouts.require(checkout_id)),
        action=form_url,
        erase_url=form_url("erase", order_id),
    )


def _story_of(checkout_id: str, fault: Fault) -> Page:
    return _story(runtime().checkouts.require(checkout_id).order_id, fault)


def list_paybacks() -> Page:
    """List the money that paid no order, until a person records that it was paid back or is kept."""
    count, listed = runtime().paybacks.listed(_LISTED)
    return owner_page("paybacks", count=count, listed=listed, sums=sums_of(money.left for money in listed))


def list_deeds() -> Page:
    """List who looked at, decided, approved, refunded, exported and erased what, newest first."""
    page = page_of_deeds(runtime().engine(), runtime().models, request.args.get("after"), _LISTED)
    return owner_page("deeds", page=page)


@form(_story_of)
def resolve(checkout_id: str) -> Response:
    """Record a decision on a held payment, with name and reason."""
    decision, why = choice_given("decision", (*HOW_TO_ACCEPT, "reject")), why_given()
    part, excess = HOW_TO_ACCEPT.get(decision, (False, False))
    if excess:
        _require_ability("refund")
    resolutions, accepts = runtime().resolutions, decision in HOW_TO_ACCEPT
    decided = resolutions.resolve(checkout_id, accepts, owner(), why, as_part=part, refund_excess=excess)
    return go_to("show_order", id=decided.order_id)


@form(_story_of)
def mark_paid_back(checkout_id: str) -> Response:
    """Record that money was paid back, or is kept, with name and reason."""
    became, why = choice_given("became", ("done", "kept")), why_given()
    marked = runtime().paybacks.mark(checkout_id, owner(), why, became == "kept")
    return go_to("show_order", id=marked.order_id)


@form(_story)
def erase(order_id: str) -> Response:
    """Erase the persons of an order, with name and reason; the page names what must stay for now."""
    erased = runtime().erasing.erase(order_id, owner(), why_given())
    if erased.kept:
        kept = "; ".join(f"{subject}: {reason}" for subject, reason in erased.kept.items())
        raise Fault(f"Erased, but for what must stay for now. Erase it again later. {kept}.", 409)
    return go_to("show_order", id=order_id)


def _require_permission(permission: Permission, wanted: Mapping[str, str]) -> None:
    """Refuse a request of nobody, or of a person who may not do this, and every form of another site.

    :param wanted: the ability that each endpoint wants.
    """
    who = person_of(permission, runtime().call_shop)
    if who is None:
        abort(403, "Only the shop's owner may see this page. Log in to the shop first.")
    g.paycheckout_owner = who
    _require_ability(wanted[str(request.endpoint).rpartition(".")[2]])
    # The permission function may have read through db.session: end that read, or these pages would need a second
    # connection beside it, and its lock could block them.
    runtime().sessions.let_clean_go()
    for_reading("the owner's page")
    if request.method == "POST":
        require_same_site("Please decide on the owner's own page.")


def _require_ability(ability: str) -> None:
    if ability not in person().may:
        abort(403, f"You may not do this here: it needs the permission to {ability}.")

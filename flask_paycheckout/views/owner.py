"""The owner's pages: their routes, the explanation of an order, and decisions on held payments.

Every request first asks the shop's permission function for the person's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial, wraps
from operator import itemgetter
from typing import cast

from flask import Blueprint, Flask, abort, current_app, request
from flask.blueprints import BlueprintSetupState
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException, NotFound, ServiceUnavailable
from werkzeug.wrappers import Response

from flask_paycheckout.books.customers import Described
from flask_paycheckout.books.explain import Explanation
from flask_paycheckout.books.happenings import happenings_of
from flask_paycheckout.books.lists import page_of_deeds, subjects_of_deeds
from flask_paycheckout.books.order_money import money_of, refunded_of
from flask_paycheckout.books.order_text import problem_line, total_text
from flask_paycheckout.checkouts.decisions import HOW_TO_ACCEPT, REJECTING, accepting
from flask_paycheckout.checkouts.order_problems import OrderProblem, ProblemKind
from flask_paycheckout.checkouts.payments import sums_of
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.errors import ConfigurationError, ReceiverFailed, UnknownCheckout, UnknownPayout, UnknownRequest
from flask_paycheckout.payouts.paybacks import refunds_to_make, waits_for_payback
from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.permission import PERSON, Permission, Person, person_of, require_callable
from flask_paycheckout.shop_functions import Door, through
from flask_paycheckout.text import is_order_id
from flask_paycheckout.views import owner_books, owner_orders, owner_paying, owner_payouts, owner_requests
from flask_paycheckout.views.headers import exempt_from_csrf, harden, require_same_site
from flask_paycheckout.views.order_urls import OWNER, status_url
from flask_paycheckout.views.owner_forms import (
    PAY_MAIL,
    Fault,
    Page,
    choice_given,
    error_page,
    form,
    form_url,
    frame,
    go_to,
    mail_with,
    owner,
    owner_page,
    person,
    sum_in_sentence,
    when,
    why_given,
)
from flask_paycheckout.views.owner_story import Told, arrived_text, links_told, reminders_told, story_of
from flask_paycheckout.views.owner_tasks import number_waiting
from flask_paycheckout.views.pages import owners_answer
from flask_paycheckout.views.receipt_text import ordered
from flask_paycheckout.wiring.logs import about

_LISTED = 100
_UNPAID = (Status.CREATED, Status.ABANDONED, Status.PART)


def make_owner_view(permission: Permission, home: str | None, logout: str | None) -> Blueprint:
    """Make the blueprint `paycheckout_owner`, whose every page asks the permission function first.

    :param home: the address or endpoint of the shop's own desk, to which each page links.
    :param logout: the address or endpoint that logs the person out.
    """
    require_callable(permission, "paycheckout.owner_view")
    blueprint = Blueprint(OWNER, __name__, url_prefix="/paycheckout/owner")
    # The pages, each with the ability that it wants of a person; those with a token take a form.
    pages: dict[str, tuple[Callable[..., ResponseReturnValue], str]] = {
        "": (owner_orders.overview, "look"),
        "/orders": (owner_orders.list_orders, "look"),
        "/order": (show_order, "look"),
        "/paybacks": (list_paybacks, "look"),
        "/held/<token>": (resolve, "decide"),
        "/paybacks/<token>": (keep, "decide"),
        "/payouts": (owner_payouts.list_payouts, "look"),
        "/payout": (owner_payouts.show_payout, "look"),
        "/payout/proof": (owner_payouts.give_proof, "look"),
        "/payouts/<token>": (owner_payouts.decide_payout, "approve"),
        "/books": (owner_books.show_books, "look"),
        "/books/month": (owner_books.download_month, "export"),
        "/books/compare/<token>": (owner_books.compare_month, "look"),
        "/books/settle/<token>": (owner_books.settle_month, "decide"),
        "/deeds": (list_deeds, "look"),
        "/erase/<token>": (erase, "erase"),
        "/stopped/<token>": (let_go, "decide"),
        "/requests": (owner_requests.list_requests, "look"),
        "/requests/<token>": (owner_requests.make_request, "decide"),
        "/requests/<token>/withdraw": (owner_requests.withdraw_request, "decide"),
        "/pay": (owner_paying.ask_to_pay, "pay"),
        "/pay/<token>": (owner_paying.pay, "pay"),
        "/refund": (owner_payouts.ask_for_refund, "refund"),
        "/refunds/<token>": (owner_payouts.refund, "refund"),
    }
    wanted = {_endpoint(view): ability for view, ability in pages.values()}
    forms = [view for rule, (view, _) in pages.items() if "<token>" in rule]
    for rule, (view, _) in pages.items():
        methods = ["POST" if view in forms else "GET"]
        options = {"merge_slashes": False, "strict_slashes": False}
        blueprint.add_url_rule(rule, _endpoint(view), _as_page(view), methods=methods, **options)

    # For APIFlask, as in the customers' blueprint.
    blueprint.enable_openapi = False  # type: ignore[attr-defined]
    blueprint.before_request(partial(_require_permission, permission, wanted))
    blueprint.context_processor(partial(frame, home, logout, wanted, number_waiting=number_waiting))
    blueprint.register_error_handler(SQLAlchemyError, lambda error: error_page(owners_answer(error)))
    blueprint.register_error_handler(
        ReceiverFailed,
        lambda error: error_page(ServiceUnavailable(f"Nothing was recorded, because {error.problem}.")),
    )
    for unknown in (UnknownCheckout, UnknownPayout, UnknownRequest):
        # By the shop's own page, where it has one.
        blueprint.register_error_handler(
            unknown,
            lambda error: current_app.handle_http_exception(NotFound("There is no such payment, payout or request.")),
        )
    # Where the shop has a page of its own for an error, Flask shows that.
    blueprint.register_error_handler(HTTPException, error_page)
    blueprint.after_request(harden)
    blueprint.record(lambda state: exempt_from_csrf(cast(Flask, state.app), forms))
    blueprint.record(_keep_name)
    return blueprint


def _keep_name(state: BlueprintSetupState) -> None:
    """Keep the name by which the shop registers the pages: one of its own, or below a blueprint of its own."""
    state.app.extensions[OWNER] = f"{state.name_prefix}.{state.name}".lstrip(".")


# The part of an address that names what the page is about.
_ABOUT = {"show_order": "order_id", "show_payout": "reference", "give_proof": "reference"}


def _endpoint(view: Callable[..., ResponseReturnValue]) -> str:
    """The endpoint of a page, which is the name of its view without "list" or "show"."""
    return view.__name__.removeprefix("list_").removeprefix("show_")


def _as_page(view: Callable[..., ResponseReturnValue]) -> Callable[..., ResponseReturnValue]:
    """Record the deeds of a view as done through a page, and who is shown what tells of persons on it."""
    name = view.__name__

    @wraps(view)
    def page(**values: str) -> ResponseReturnValue:
        subject = request.args.get(_ABOUT.get(name, ""), _endpoint(view))
        order_id = subject if view is show_order else None
        by = owner()
        with through(Door("page", by, cache(lambda: runtime().viewed(by, subject, order_id)))):
            return view(**values)

    return page


def show_order() -> Page:
    """Explain one order, with a form for each payment that needs a person."""
    # Someone who types the address writes the short name.
    return _story(request.args.get("order_id") or request.args.get("id", ""))


def _story(order_id: str, fault: Fault | None = None) -> Page:
    shop = runtime()
    story = shop.explain(order_id) if is_order_id(order_id) else None
    if story is None or not story.is_stored:
        abort(404, "No payment of such an order was ever started.")
    described = shop.customers.described([order_id]).get(order_id)
    stopped = next((each for each in story.problems if each.kind == ProblemKind.UNAVAILABLE), None)
    is_unpaid = stopped is not None or (bool(story.attempts) and story.status in _UNPAID)
    pay_link = status_url(order_id) if is_unpaid and story.request is None else None
    newest = story.attempts[-1] if story.attempts else stopped
    currency = story.attempts[-1].total_currency if story.attempts else None
    has_part = any(attempt.status == Status.PART for attempt in story.attempts)
    return owner_page(
        "order",
        fault,
        story=story,
        described=described,
        lines=list(ordered(described.lines if described else (), currency)),
        pay_link=pay_link,
        mail=pay_link and newest and mail_with(pay_link, order_id, newest.account, described, PAY_MAIL),
        told=sorted([*story_of(story, described), *_sent(story, described)], key=itemgetter(0)),
        problems=[(_problem_text(problem), problem_line(problem)) for problem in story.problems],
        money=money_of(story),
        accepting=accepting,
        rejecting=REJECTING,
        refunded_of=partial(refunded_of, story),
        balance=shop.part_payments.balance(order_id) if has_part else None,
        total_of=partial(total_text, show=sum_in_sentence),
        arrived=arrived_text,
        history_of=happenings_of,
        waits=waits_for_payback,
        refunds=lambda attempt: refunds_to_make(attempt, story.attempts),
        action=form_url,
        let_go_url=stopped and form_url("let_go", order_id),
        erase_url=form_url("erase", order_id),
    )


def _problem_text(problem: OrderProblem) -> str:
    """Why an order cannot be paid, for its owner."""
    if problem.kind != ProblemKind.UNAVAILABLE:
        return "Customers cannot pay this order online at the moment."
    return f"The customer could not pay, the last time {when(problem.last_at)}: the payments service could not be used."


def _sent(story: Explanation, described: Described | None) -> Iterator[Told]:
    yield from reminders_told(story.events, (described and described.customer) or "the customer")
    yield from links_told(story.payouts)


def _story_of(checkout_id: str, fault: Fault) -> Page:
    return _story(runtime().checkouts.require(checkout_id).order_id, fault)


def list_paybacks() -> Page:
    """List the money that paid no order, until a person records that it was paid back or is kept."""
    count, listed = runtime().paybacks.listed(_LISTED)
    return owner_page("paybacks", count=count, listed=listed, sums=sums_of(money.left for money in listed))


def list_deeds() -> Page:
    """List who viewed, decided, approved, refunded, exported and erased what, newest first."""
    with_views = "views" in request.args
    engine, models = runtime().engine(), runtime().models
    page = page_of_deeds(engine, models, request.args.get("after"), _LISTED, with_views)
    deeds = list(zip(page.rows, subjects_of_deeds(models, engine, page.rows), strict=True))
    # A payout that was approved twice counts once.
    approved = {deed.subject: about.amount for deed, about in deeds if deed.deed == "approved"}
    return owner_page("deeds", page=page, deeds=deeds, with_views=with_views, approved=sums_of(approved.values()))


@form(_story_of)
def resolve(checkout_id: str) -> Response:
    """Record a decision on a held payment, with name and reason."""
    decision, why = choice_given("decision", (*HOW_TO_ACCEPT, "reject")), why_given()
    part, excess = HOW_TO_ACCEPT.get(decision, (False, False))
    if excess:
        _require_ability(person(), "refund")
    resolutions, accepts = runtime().resolutions, decision in HOW_TO_ACCEPT
    decided = resolutions.resolve(checkout_id, accepts, owner(), why, as_part=part, refund_excess=excess)
    if excess:
        refund = runtime().payouts.of_checkout(checkout_id)[-1]
        return go_to("payout", reference=refund.reference, done="excess")
    done = "part" if part else "accepted" if accepts else "rejected"
    return go_to("order", order_id=decided.order_id, done=done)


@form(_story_of)
def keep(checkout_id: str) -> Response:
    """Record that money is kept, with name and reason."""
    kept = runtime().paybacks.keep(checkout_id, owner(), why_given())
    return go_to("order", order_id=kept.order_id, done="kept" if kept.taken_back is None else "dealt_with")


@form(_story)
def let_go(order_id: str) -> Response:
    """Record that nothing is left to do about a customer who could not pay, with name and reason."""
    runtime().order_problems.settle(order_id, owner(), why_given())
    # The order may have no page any more.
    return go_to("overview", done="dealt_with")


@form(_story)
def erase(order_id: str) -> Response:
    """Erase the persons of an order, with name and reason; the page names what must stay for now."""
    erased = runtime().erasing.erase(order_id, None, owner(), why_given())
    if erased.kept:
        kept = "; ".join(f"{subject}: {reason}" for subject, reason in erased.kept.items())
        raise Fault(f"Erased, but for what must stay for now. Erase it again later. {kept}.", 409)
    return go_to("order", order_id=order_id, done="erased")


def _require_permission(permission: Permission, wanted: Mapping[str, str]) -> None:
    """Refuse a request of nobody, or of a person who may not do this, and every form of another site.

    :param wanted: the ability that each endpoint wants.
    """
    shop = runtime()
    try:
        who = person_of(permission, shop.call_shop)
    except (HTTPException, SQLAlchemyError):
        raise
    except Exception as error:
        if isinstance(error, ConfigurationError) and shop.strict:
            raise
        shop.log.exception("permission", "the function that says who may look at payments failed", extra=about())
        shop.order_problems.record(ProblemKind.PERMISSION, "", error)
        abort(503, "The shop's own function that says who may see this page failed. Its log and its report tell why.")
    if who is None:
        abort(403, "Only the shop's owner may see this page. Log in to the shop first.")
    request.environ[PERSON] = who
    _require_ability(who, wanted[str(request.endpoint).rpartition(".")[2]])
    # The permission function may have read through db.session: end that read, or these pages would need a second
    # connection beside it, and its lock could block them.
    shop.sessions.allow_reading("the owner's page")
    shop.order_problems.works(ProblemKind.PERMISSION)
    if request.method == "POST":
        require_same_site("Please decide on the owner's own page.")


def _require_ability(who: Person, ability: str) -> None:
    if ability not in who.may:
        abort(403, f"You may not do this here: it needs the permission to {ability}.")

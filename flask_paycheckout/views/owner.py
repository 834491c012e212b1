"""The owner's pages: their routes, and the log of what people did."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

from flask import Blueprint, Flask, current_app, request
from flask.blueprints import BlueprintSetupState
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException, NotFound, ServiceUnavailable

from flask_paycheckout.books.lists import page_of_deeds, subjects_of_deeds
from flask_paycheckout.checkouts.payments import sums_of
from flask_paycheckout.errors import ReceiverFailed, UnknownCheckout, UnknownPayout, UnknownRequest
from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.permission import Permission, require_callable
from flask_paycheckout.views import (
    owner_books,
    owner_order,
    owner_orders,
    owner_paying,
    owner_payouts,
    owner_refunds,
    owner_requests,
)
from flask_paycheckout.views.headers import exempt_from_csrf, harden
from flask_paycheckout.views.order_urls import OWNER
from flask_paycheckout.views.owner_page import (
    Page,
    as_page,
    endpoint_of,
    error_page,
    frame,
    owner_page,
    require_permission,
)
from flask_paycheckout.views.owner_tasks import number_waiting
from flask_paycheckout.views.pages import owners_answer

_LISTED = 100


def make_owner_view(permission: Permission, home: str | None, logout: str | None) -> Blueprint:
    """Make the blueprint `paycheckout_owner`. Each of its pages asks the permission function first.

    :param home: the address or endpoint of the shop's own admin page, to which each page links.
    :param logout: the address or endpoint that logs the person out.
    """
    require_callable(permission, "paycheckout.owner_view")
    blueprint = Blueprint(OWNER, __name__, url_prefix="/paycheckout/owner")
    # The pages, each with the ability that it requires; a route with a token takes a form.
    pages: dict[str, tuple[Callable[..., ResponseReturnValue], str]] = {
        "": (owner_orders.overview, "look"),
        "/orders": (owner_orders.list_orders, "look"),
        "/order": (owner_order.show_order, "look"),
        "/paybacks": (owner_order.list_paybacks, "look"),
        "/held/<token>": (owner_order.resolve, "decide"),
        "/paybacks/<token>": (owner_order.keep, "decide"),
        "/payouts": (owner_payouts.list_payouts, "look"),
        "/payout": (owner_payouts.show_payout, "look"),
        "/payout/proof": (owner_payouts.give_proof, "look"),
        "/payouts/<token>": (owner_payouts.decide_payout, "approve"),
        "/books": (owner_books.show_books, "look"),
        "/books/month": (owner_books.download_month, "export"),
        "/books/compare/<token>": (owner_books.compare_month, "look"),
        "/books/settle/<token>": (owner_books.settle_month, "decide"),
        "/deeds": (list_deeds, "look"),
        "/erase/<token>": (owner_order.erase, "erase"),
        "/stopped/<token>": (owner_order.let_go, "decide"),
        "/requests": (owner_requests.list_requests, "look"),
        "/requests/<token>": (owner_requests.make_request, "decide"),
        "/requests/<token>/withdraw": (owner_requests.withdraw_request, "decide"),
        "/pay": (owner_paying.ask_to_pay, "pay"),
        "/pay/<token>": (owner_paying.pay, "pay"),
        "/refund": (owner_refunds.ask_for_refund, "refund"),
        "/refunds/<token>": (owner_refunds.refund, "refund"),
    }
    abilities = {endpoint_of(view): ability for view, ability in pages.values()}
    forms = [view for rule, (view, _) in pages.items() if "<token>" in rule]
    for rule, (view, _) in pages.items():
        methods = ["POST" if view in forms else "GET"]
        options = {"merge_slashes": False, "strict_slashes": False}
        blueprint.add_url_rule(rule, endpoint_of(view), as_page(view), methods=methods, **options)

    # APIFlask reads this attribute, as in the customers' blueprint.
    blueprint.enable_openapi = False  # type: ignore[attr-defined]
    blueprint.before_request(partial(require_permission, permission, abilities))
    blueprint.context_processor(partial(frame, home, logout, abilities, number_waiting=number_waiting))
    blueprint.register_error_handler(SQLAlchemyError, lambda error: error_page(owners_answer(error)))
    blueprint.register_error_handler(
        ReceiverFailed,
        lambda error: error_page(ServiceUnavailable(f"Nothing was recorded, because {error.problem}.")),
    )
    for unknown in (UnknownCheckout, UnknownPayout, UnknownRequest):
        # The shop's own page answers, if it has one.
        blueprint.register_error_handler(
            unknown,
            lambda error: current_app.handle_http_exception(NotFound("There is no such payment, payout or request.")),
        )
    # Flask prefers the shop's own page for an error, if there is one.
    blueprint.register_error_handler(HTTPException, error_page)
    blueprint.after_request(harden)
    blueprint.record(lambda state: exempt_from_csrf(cast(Flask, state.app), forms))
    blueprint.record(_keep_name)
    return blueprint


def _keep_name(state: BlueprintSetupState) -> None:
    """Keep the name under which the shop registers the pages, which may be its own or nested below a blueprint."""
    state.app.extensions[OWNER] = f"{state.name_prefix}.{state.name}".lstrip(".")


def list_deeds() -> Page:
    """List the deeds of persons (views, decisions, approvals, refunds, exports, erasures), newest first."""
    with_views = "views" in request.args
    shop = runtime()
    engine, models = shop.engine(), shop.models
    page = page_of_deeds(engine, models, request.args.get("after"), _LISTED, with_views)
    deeds = list(zip(page.rows, subjects_of_deeds(models, engine, page.rows), strict=True))
    # A payout that was approved twice counts once.
    approved = {deed.subject: about.amount for deed, about in deeds if deed.deed == "approved"}
    return owner_page(
        "deeds",
        page=page,
        deeds=deeds,
        titles=shop.requests.titles(deed.order_id for deed in page.rows if deed.order_id),
        with_views=with_views,
        approved=sums_of(approved.values()),
    )

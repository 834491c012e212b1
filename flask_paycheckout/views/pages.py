"""Rendering of the customers' pages, and the answers of all pages while the database cannot serve them."""

from __future__ import annotations

from typing import Any

from flask import Response, current_app, g, jsonify, make_response, render_template, request
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import ServiceUnavailable
from werkzeug.wrappers import Response as BaseResponse

from flask_paycheckout.database.database_errors import first_line
from flask_paycheckout.database.troubles import is_unavailable, trouble_of
from flask_paycheckout.runtime import runtime
from flask_paycheckout.service.logs import about
from flask_paycheckout.views import language
from flask_paycheckout.views.headers import nonce
from flask_paycheckout.views.page_text import PageText, bad_link_text, database_text, named_order
from flask_paycheckout.views.refund_text import RefundText

_RETRY_AFTER = 10


def page(
    template: str, order_id: str | None, text: PageText | RefundText, status: int = 200, **context: Any
) -> Response:
    """Render a page about an order, or, without an id, about none.

    :param text: the page's text, which is also the variable `words` of the template.
    """
    settings = runtime().settings
    about = [settings.shop_name or current_app.name]
    if order_id is not None and settings.show_total:
        about.insert(0, named_order(order_id, language.of_page()))
    html = render_template(
        f"paycheckout/{template}",
        words=text,
        about=" · ".join(about),
        order_url=None if order_id is None else runtime().answers.order_url(order_id),
        nonce=nonce(),
        **context,
    )
    response = make_response(html, status)
    language.add_headers(response, text.language)
    return response


def bad_link_page() -> Response:
    """Render the one page for all forged, expired and misused links, which reveals no order."""
    return page("bad_link.html", None, bad_link_text(language.of_page()), 404)


def seconds_to_wait(error: Exception) -> int:
    """The value of `Retry-After` after an error: what the service asked for, within bounds, or a short time."""
    return min(max(int(getattr(error, "retry_after", None) or _RETRY_AFTER), 1), 3600)


def answer_customer(error: SQLAlchemyError) -> BaseResponse:
    """Tell a customer that nothing is lost, and when to look again."""
    _log_or_raise(error)
    wait = seconds_to_wait(error)
    if request.endpoint == "paycheckout.order_status":
        response: Response = jsonify(error="not available now, ask again")
        response.status_code = 503
    else:
        text = database_text(wait, language.of_page())
        # A form is never sent again by itself.
        refresh = wait if request.method == "GET" else None
        response = page("unavailable.html", None, text, 503, action=None, refresh=refresh)
    response.headers["Retry-After"] = str(wait)
    return response


def answer_owner(error: SQLAlchemyError) -> BaseResponse:
    """Tell the shop's owner what keeps the database from answering, and what to do."""
    _log_or_raise(error)
    trouble = trouble_of(error)
    # Whoever is not known to be the owner, because that could not be looked up either, learns no cause.
    told = f"{trouble.found}. {trouble.remedy}" if trouble and "paycheckout_owner" in g else "the database failed."
    words = f"Nothing was recorded by this request: {told} Try again in a moment."
    return ServiceUnavailable(words, retry_after=seconds_to_wait(error)).get_response()


def _log_or_raise(error: SQLAlchemyError) -> None:
    if not is_unavailable(error):
        raise error
    # Neither the path, which has a token, nor SQLAlchemy's message, which has the statement's parameters.
    told = "%s was answered 503: %s", str(request.endpoint), first_line(error)
    runtime().log.error("pages without a database", *told, extra=about(), error=error)

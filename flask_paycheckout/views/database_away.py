"""The answers of all pages while the database cannot serve them: 503, in plain words, instead of an internal error."""

from __future__ import annotations

from flask import Response, g, jsonify, request
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import ServiceUnavailable
from werkzeug.wrappers import Response as BaseResponse

from flask_paycheckout.database.database_errors import first_line
from flask_paycheckout.database.troubles import is_unavailable, trouble_of
from flask_paycheckout.runtime import runtime
from flask_paycheckout.service.logs import about
from flask_paycheckout.views import language
from flask_paycheckout.views.page_text import database_text
from flask_paycheckout.views.pages import page, seconds_to_wait

__all__ = ["answer_customer", "answer_owner"]


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

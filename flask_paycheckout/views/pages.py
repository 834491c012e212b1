"""Answers of the customers' routes: decided once, then written as a page, or as JSON if the request prefers it.

This module also has the answers of all pages while the database is unavailable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any

import msgspec
from flask import (
    Response,
    abort,
    current_app,
    got_request_exception,
    make_response,
    render_template,
    request,
    url_for,
)
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge, ServiceUnavailable
from werkzeug.wrappers import Response as BaseResponse

from flask_paycheckout.database.database_errors import is_unavailable, trouble_of
from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.permission import PERSON
from flask_paycheckout.service.calls import NotAsked
from flask_paycheckout.text import first_line, request_of, visible
from flask_paycheckout.views import language
from flask_paycheckout.views.headers import FOREIGN_FORM, HTML, nonce, wants_json
from flask_paycheckout.views.page_text import BAD_LINK, DATABASE, PageText, named_order, plain_text
from flask_paycheckout.views.refund_text import RefundText
from flask_paycheckout.wiring.logs import about

_RETRY_AFTER = 10
_PROBLEM = "application/problem+json"


class Code(Enum):
    """Why a request was not carried out: the `code` of a problem in JSON, and the HTTP status."""

    NOT_FOUND = "not_found", 404
    NOT_PAYABLE = "not_payable", 404
    TOO_MANY_ATTEMPTS = "too_many_attempts", 429
    TRY_LATER = "try_later", 503
    SHOP_FAILED = "shop_failed", 503
    AMOUNT_REFUSED = "amount_refused", 422
    CROSS_ORIGIN = "cross_origin", 403
    TOO_LATE = "too_late", 409
    INVALID = "invalid", 422
    TOO_LARGE = "invalid", 413


class Answer(msgspec.Struct, frozen=True):
    """The answer to a customer's request, before it is written."""

    page: Callable[[], BaseResponse]
    """Returns the page for people."""

    facts: Callable[[], Mapping[str, object]]
    """Returns the members of the JSON for programs."""

    status: int = 200
    """The HTTP status of the JSON, and of a problem's page too."""

    mimetype: str = "application/json"
    """The media type of the JSON, which distinguishes a problem from other answers."""

    wait: int | None = None
    """Seconds until another try is useful."""

    language: str = ""
    """The language of the sentences in the facts; empty if the facts have no sentence."""


def problem(
    code: Code, title: str, write: Callable[[], BaseResponse], wait: int | None = None, **more: object
) -> Answer:
    """An answer that says why nothing was done.

    :param title: the sentence, which people see too.
    :param write: writes the page.
    :param more: further members of the JSON.
    """
    name, status = code.value
    facts = {"title": title} | more | {"status": status, "code": name}
    if wait is not None:
        facts["retryAfter"] = wait
    return Answer(write, lambda: facts, status, _PROBLEM, wait, language.of_page().code)


def negotiated(decide: Callable[[str], Answer]) -> Callable[[str], BaseResponse]:
    """Make a view of a function that decides the answer to a request with this token in its path."""

    @wraps(decide)
    def view(token: str) -> BaseResponse:
        try:
            return written(decide(token))
        except RequestEntityTooLarge as error:
            if not wants_json():
                raise
            return written(problem(Code.TOO_LARGE, error.name, error.get_response))

    return view


def written(answer: Answer) -> BaseResponse:
    """Write an answer as a page or as JSON."""
    if wants_json():
        body = msgspec.json.encode(answer.facts())
        response: BaseResponse = Response(body, answer.status, mimetype=answer.mimetype)
        if answer.language:
            language.add_headers(response, answer.language)
    else:
        response = answer.page()
        if answer.mimetype == _PROBLEM:
            response.status_code = answer.status
    response.vary.add("Accept")
    if answer.wait is not None:
        response.headers["Retry-After"] = str(answer.wait)
    return response


def cross_origin(remedy: str) -> Answer:
    """Refuse a form that another site has sent.

    :param remedy: the sentence that tells people what to do instead.
    """
    return problem(Code.CROSS_ORIGIN, FOREIGN_FORM, partial(abort, 403, f"{FOREIGN_FORM} {remedy}"))


def page(template: str, order_id: str | None, text: PageText | RefundText, **context: Any) -> Response:
    """Render a page about an order, or, without an id, about none.

    :param text: the page's text, which is also the variable `words` of the template.
    """
    order = order_id if order_id is not None and request_of(order_id) is None and runtime().settings.show_total else ""
    shop = language.shop_shown()
    # Every variable is set, because a context processor of the shop could set a missing one.
    context = {"refresh": None} | context
    context |= {
        "words": text,
        "order": visible(order),
        "shop": shop,
        "about": " · ".join([named_order(order), shop["name"]] if order else [shop["name"]]),
        "order_url": None if order_id is None else runtime().answers.order_url(order_id),
        "nonce": nonce(),
    }
    response = make_response(_rendered(f"paycheckout/{template}", context), HTML)
    language.add_headers(response, text.language)
    return response


def _rendered(template: str, context: dict[str, Any]) -> str:
    """Render a page in the shop's frame; if that fails, in ours, without the shop's templates and context processors.

    The shop's templates and context processors may be broken, or need the database while it is unavailable.
    """
    try:
        return render_template(template, **context)
    except Exception as error:
        if _is_developers(error):
            raise
        line = "%s was shown without the shop's templates and context processors, which failed"
        runtime().log.exception("pages of the shop", line, template, extra=about())
    return _own_templates().get_template(template).render(context, url_for=url_for)


@cache
def _own_templates() -> Environment:
    folder = Path(__file__).parent.parent / "templates"
    return Environment(loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined)


def qr_code(text: str) -> Markup:
    """Draw a QR code, such as one of a checkout's `url`, as an inline SVG; dark on white, so that scanners can read it.

    :raises ImportError: segno, which the extra `qr` installs, is missing.
    :raises TypeError: the text is not a string.
    :raises ValueError: the text is too long for a QR code.
    """
    try:
        import segno
    except ImportError:
        raise ImportError("paycheckout.qr needs segno. Install it: pip install 'flask-paycheckout[qr]'") from None
    if not isinstance(text, str):
        raise TypeError(f"text must be a string, not {type(text).__name__}")
    # Not `make`, which draws short texts as Micro QR codes that phones cannot read.
    # The unit adds a `viewBox`. Without it, a page that makes the drawing smaller would cut it off.
    drawing = segno.make_qr(text, error="m").svg_inline(
        scale=4, unit="px", light="#fff", svgclass="paycheckout-qr", title="QR code"
    )
    # Safe: the SVG consists of numbers, without the text itself.
    return Markup(drawing)  # noqa: S704


def bad_link() -> Answer:
    """The one answer to all forged, expired and misused links, which reveals no order."""
    text = plain_text(BAD_LINK)
    return problem(Code.NOT_FOUND, text.title, partial(page, "bad_link.html", None, text))


def seconds_to_wait(error: Exception) -> int:
    """The seconds of `Retry-After` after an error: the service's own value, limited to 1 to 3600, or else 10."""
    return min(max(int(getattr(error, "retry_after", None) or _RETRY_AFTER), 1), 3600)


def answer_customer(error: Exception) -> BaseResponse:
    """Tell a customer that nothing is lost, and when to try again if the database is unavailable.

    Flask handles no error itself, because it would log the path, which contains the link's token.
    """
    if isinstance(error, HTTPException):
        return _shops_answer(error)
    if _is_developers(error):
        raise error
    wait = seconds_to_wait(error) if is_unavailable(error) else None
    if wait is None:
        runtime().log.exception("pages", "%s failed", str(request.endpoint), extra=about())
        got_request_exception.send(runtime().app, exception=error)
    else:
        _log_or_raise(error)
    language.use_found_settings()
    text = plain_text(DATABASE, wait)
    # A form is never sent again automatically.
    refresh = wait if request.method == "GET" else None
    write = partial(page, "unavailable.html", None, text, action=None, refresh=refresh)
    return written(problem(Code.TRY_LATER if wait else Code.SHOP_FAILED, text.title, write, wait))


def _is_developers(error: Exception) -> bool:
    """Whether an error is raised for the developer, as Flask does in debug mode and in tests."""
    propagates = current_app.config["PROPAGATE_EXCEPTIONS"]
    if propagates is None:
        propagates = current_app.testing or current_app.debug
    return bool(propagates) and not is_unavailable(error)


def _shops_answer(error: HTTPException) -> BaseResponse:
    """The answer to an HTTP error, from the shop's own handler if it has one."""
    handlers = current_app.error_handler_spec[None][None]
    own = next((handlers[kind] for kind in type(error).__mro__ if kind in handlers), None)
    return current_app.make_response(error if own is None else current_app.ensure_sync(own)(error))


def owners_answer(error: SQLAlchemyError) -> ServiceUnavailable:
    """The answer that tells the shop's owner why the database does not answer, and what to do."""
    _log_or_raise(error)
    trouble = trouble_of(error)
    # The cause is only for the owner; a visitor may be unknown because the lookup of the person failed too.
    message = f"{trouble.found}. {trouble.remedy}" if trouble and PERSON in request.environ else "the database failed."
    words = f"Nothing was recorded by this request: {message} Try again in a moment."
    return ServiceUnavailable(words, retry_after=seconds_to_wait(error))


def log_failure(kind: str, line: str, subject: str, error: Exception, extra: Mapping[str, str]) -> None:
    """Log that a request was not carried out.

    :param kind: as for `FailureLog.warning`.
    :param line: takes the subject and the text of the error.
    :raises SQLAlchemyError: the error comes from the database, which is available.
    """
    # The calls of the service log this themselves, once a minute instead of once per customer.
    if isinstance(error, NotAsked):
        return
    if isinstance(error, SQLAlchemyError) and not is_unavailable(error):
        raise error
    # The driver's own message: SQLAlchemy's contains the statement's parameters, and so the payment URL.
    message = first_line(error) if isinstance(error, SQLAlchemyError) else str(error)
    runtime().log.warning(kind, line, subject, message, extra=extra)


def _log_or_raise(error: Exception) -> None:
    # Log the endpoint instead of the path, which contains a token.
    log_failure("pages without a database", "%s was answered 503: %s", str(request.endpoint), error, about())

"""The checks of our routes as the shop serves them: through all of its middleware, request hooks and headers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flask import Flask, Response, got_request_exception, request_finished
from werkzeug.test import TestResponse

from flask_paycheckout.doctor.checks import Check, failure, ok, warning
from flask_paycheckout.errors import UncommittedChanges
from flask_paycheckout.runtime import Runtime
from flask_paycheckout.security.origins import origin_of
from flask_paycheckout.security.signed_links import PAY, STATUS
from flask_paycheckout.views.headers import harden
from flask_paycheckout.views.order_urls import webhook_path
from flask_paycheckout.views.webhook import RECEIVED
from flask_paycheckout.wiring.installation import request_base

NO_ORDER = "no order of this shop: asked by flask paycheckout doctor"
"""The order id for the trial calls of the shop's functions and of our routes."""

DATABASE = "See database and tables, above."

_SHORT_SECRET = 16
_HOOKS = "Check the shop's before_request and after_request."
_COMMIT = "Commit or roll back what before_request writes, before a route is called."
_REFUSED = (
    "Something before the route refuses it: a login, a redirect, a check of the host, or Flask-WTF, where"
    " csrf.exempt(app.blueprints['paycheckout']) helps; its forms are protected otherwise."
)


def check_webhook(shop: Runtime) -> Iterator[Check]:
    """Check the webhook's secret, and post a webhook about an unknown checkout."""
    secrets = shop.settings.webhook_secret
    shortest = min(map(len, secrets), default=_SHORT_SECRET)
    if shortest < _SHORT_SECRET:
        yield warning(
            "webhook",
            f"PAYCHECKOUT_WEBHOOK_SECRET has {shortest} characters",
            "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'.",
        )
    elif not secrets:
        yield ok("webhook", "no PAYCHECKOUT_WEBHOOK_SECRET; a forged webhook causes one read at most")
    answer = _ask(shop, "webhook", "POST", webhook_path(), json={"orderId": NO_ORDER})
    if isinstance(answer, Check):
        yield answer
    elif answer.status_code == 503:
        remedy = f"It could not be stored. {DATABASE}"
        yield failure("webhook", "its route answered 503 to a well-formed webhook", remedy)
    elif answer.status_code != 200:
        yield failure("webhook", f"its route answered {answer.status_code} to a well-formed webhook", _REFUSED)
    elif answer.text != RECEIVED:
        remedy = "Something answers in its place, such as a page for maintenance: the service takes it for received."
        yield failure("webhook", "its route is never called, although the answer is 200", remedy)
    else:
        yield ok("webhook", "its route answers")


def check_pages(shop: Runtime) -> Iterator[Check]:
    """Open a status page and press a pay button, as a customer's browser would, and compare their headers."""
    replaced: dict[str, None] = {}

    def compare(app: Flask, response: Response, **extra: object) -> None:
        # In the same request, our response gets the same nonce.
        ours = harden(Response(mimetype=response.mimetype, headers={"Location": response.location or ""}))
        for name, value in ours.headers:
            if name not in ("Content-Length", "Location") and response.headers.get(name) != value:
                replaced[name] = None

    faults: list[Check] = []
    for about, method, path in _customers_requests(shop):
        with request_finished.connected_to(compare, sender=shop.app):
            answer = _ask(shop, about, method, path, headers={"Sec-Fetch-Site": "same-origin"})
        if isinstance(answer, Check):
            faults.append(answer)
        elif answer.status_code not in (200, 404):
            faults.append(failure(about, f"its route answered {answer.status_code}", _REFUSED))
    if replaced:
        faults.append(
            warning(
                "pages",
                f"the shop replaces headers of our pages: {', '.join(replaced)}; their script and styles may not work",
                "Leave the blueprints paycheckout and paycheckout_owner their headers; see docs/beside-other-tools.md.",
            )
        )
    yield from faults or [ok("pages", "a status page and a pay button answer, and keep their headers")]


def _customers_requests(shop: Runtime) -> Iterator[tuple[str, str, str]]:
    # Not `url_for`, which needs a request that the shop's own check of the host accepts.
    routes, sign = shop.app.url_map.bind("localhost"), shop.signed_links.sign
    yield "status page", "GET", routes.build("paycheckout.order_page", {"token": sign(STATUS, NO_ORDER)})
    # If the shop gives a price for this order, which `order_total`'s check reports, the button would create a checkout.
    try:
        payable = shop.answers.order(NO_ORDER)[0] is not None
    except Exception:
        return
    if not payable:
        yield "pay button", "POST", routes.build("paycheckout.create_checkout", {"token": sign(PAY, NO_ORDER)})


def _ask(shop: Runtime, about: str, method: str, path: str, **options: Any) -> TestResponse | Check:
    """The answer of one of our routes; a failed check if it raises."""
    raised: list[BaseException] = []

    def note(app: Flask, exception: BaseException, **extra: object) -> None:
        raised.append(exception)

    answer: TestResponse | None = None
    with got_request_exception.connected_to(note, sender=shop.app):
        try:
            answer = shop.app.test_client().open(path, base_url=_base(shop), method=method, **options)
        except Exception as error:
            raised.append(error)
    if answer is not None and not raised:
        return answer
    remedy = _COMMIT if isinstance(raised[0], UncommittedChanges) else _HOOKS
    return failure(about, f"its route raised {type(raised[0]).__name__}", remedy)


def _base(shop: Runtime) -> str | None:
    public = shop.settings.public_url
    return origin_of(public) if public else request_base(shop.settings, shop.app.config)

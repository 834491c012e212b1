"""The route that sends a customer to pay."""

from __future__ import annotations

import logging

from flask import Response, abort, redirect
from sqlalchemy.exc import OperationalError
from werkzeug.wrappers import Response as BaseResponse

from flask_paycheckout.client import PaymentsError
from flask_paycheckout.errors import OrderNotPayable, OrderSettled, ReceiverFailed, StartContended, UnsafeCheckoutUrl
from flask_paycheckout.runtime import runtime
from flask_paycheckout.tokens import PAY
from flask_paycheckout.views import language
from flask_paycheckout.views.headers import require_same_site
from flask_paycheckout.views.order_urls import pay_path, status_path
from flask_paycheckout.views.pages import page
from flask_paycheckout.views.words import retry_words

__all__ = ["create_checkout"]

_RETRY_AFTER = 10

_log = logging.getLogger("flask_paycheckout")


def create_checkout(token: str) -> BaseResponse:
    """Send the customer to the hosted page of this order."""
    require_same_site()
    order_id = runtime().tokens.read(PAY, token)
    if order_id is None:
        abort(404)
    try:
        checkout = runtime().start(order_id)
    except OrderNotPayable:
        abort(404)
    except OrderSettled:
        return redirect(status_path(order_id), 303)
    except (PaymentsError, UnsafeCheckoutUrl, StartContended, ReceiverFailed) as error:
        _log.error("no checkout for order %s: %s", order_id, error)
        return _unavailable(order_id, error)
    except OperationalError as error:
        # The database's own words alone: SQLAlchemy adds what was to be stored, and so the URL.
        _log.error("no checkout for order %s: %s", order_id, str(error.orig).partition("\n")[0])
        return _unavailable(order_id, error)
    return redirect(checkout.url, 303)


def _unavailable(order_id: str, error: Exception) -> Response:
    wait = min(max(int(getattr(error, "retry_after", None) or _RETRY_AFTER), 1), 3600)
    words = retry_words(wait, language.of_page())
    response = page("unavailable.html", order_id, words, 503, action=pay_path(order_id))
    response.headers["Retry-After"] = str(wait)
    return response

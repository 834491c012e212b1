"""The route behind the pay button."""

from __future__ import annotations

from flask import Response, redirect
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.wrappers import Response as BaseResponse

from flask_paycheckout.client import PaymentsError
from flask_paycheckout.database.database_errors import first_line
from flask_paycheckout.database.troubles import is_unavailable
from flask_paycheckout.errors import (
    OrderNotPayable,
    OrderSettled,
    ReceiverFailed,
    StartContended,
    TooManyAttempts,
    UnsafeCheckoutUrl,
)
from flask_paycheckout.operations.app import operations
from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.signed_links import PAY
from flask_paycheckout.service.calls import NotAsked
from flask_paycheckout.service.logs import about
from flask_paycheckout.views import language
from flask_paycheckout.views.headers import lead_forms_to, require_same_site
from flask_paycheckout.views.order import unpayable_page
from flask_paycheckout.views.order_urls import Link, link_of, pay_path, status_path
from flask_paycheckout.views.page_text import retry_text
from flask_paycheckout.views.pages import bad_link_page, page, seconds_to_wait

__all__ = ["create_checkout"]

_STARTS = "starts of payments"
_NO_CHECKOUT = "no checkout for order %s: %s"


def create_checkout(token: str) -> BaseResponse:
    """Start a payment of the order, and redirect the customer to the service's payment page."""
    require_same_site()
    link = link_of(PAY, token)
    if link is None:
        return bad_link_page()
    try:
        checkout = operations().start(link.order_id)
    except OrderNotPayable:
        return unpayable_page(link)
    except OrderSettled:
        return redirect(status_path(link), 303)
    except NotAsked as error:
        # The service's calls log this themselves, once a minute instead of once per customer.
        return _unavailable(link, error)
    except TooManyAttempts as error:
        runtime().log.warning(_STARTS, _NO_CHECKOUT, link.order_id, error, extra=about(link.order_id), error=error)
        return _unavailable(link, error, 429)
    except (PaymentsError, UnsafeCheckoutUrl, StartContended, ReceiverFailed) as error:
        runtime().log.error(_STARTS, _NO_CHECKOUT, link.order_id, error, extra=about(link.order_id), error=error)
        return _unavailable(link, error)
    except SQLAlchemyError as error:
        if not is_unavailable(error):
            raise
        # Log the driver's own message: SQLAlchemy's contains the statement's parameters, and so the payment URL.
        told = link.order_id, first_line(error)
        runtime().log.error(_STARTS, _NO_CHECKOUT, *told, extra=about(link.order_id), error=error)
        return _unavailable(link, error)
    return redirect(checkout.url, 303)


def _unavailable(link: Link, error: Exception, status: int = 503) -> Response:
    wait = seconds_to_wait(error)
    lead_forms_to(lambda: runtime().answers.account_of(link.order_id))
    text = retry_text(wait, language.of_page())
    response = page("unavailable.html", link.order_id, text, status, action=pay_path(link))
    response.headers["Retry-After"] = str(wait)
    return response

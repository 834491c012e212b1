"""The whole payments service as typed Python; needs no Flask and no database.

    from flask_paycheckout.client import PaymentsClient
    from flask_paycheckout.totals import Pay

    with PaymentsClient("https://api.example.com", client_id="...", client_secret="...") as client:
        link = client.checkouts.create(Pay("12.50", "USD"))
        deposit = client.deposits.get(link.id)

How the service speaks: every answer is a JSON envelope `{statusCode, message, data}`, or `{statusCode, error, message}`
for a refusal. The `statusCode` in the body decides, never the HTTP status. Amounts are exact `Decimal`s both ways,
timestamps aware `datetime`s in UTC, ids opaque strings.

Every call ends within the client's `timeout`, retries included, with a record or with one of the errors below.
"""

from __future__ import annotations

from flask_paycheckout.client.client import PaymentsClient
from flask_paycheckout.client.errors import (
    Invalid,
    NotFound,
    OutcomeUnknown,
    PaymentsError,
    RateLimited,
    RequestRefused,
    ServiceFault,
    TransportFailed,
    Unauthorized,
)
from flask_paycheckout.client.records.checkouts import CheckoutLink
from flask_paycheckout.client.records.activities import Activity
from flask_paycheckout.client.records.deposits import Deposit, ExchangeInfo, Fee, PaymentFiat
from flask_paycheckout.client.signing import BearerToken, HmacSigner, Signer

__all__ = [
    "Activity",
    "BearerToken",
    "CheckoutLink",
    "Deposit",
    "ExchangeInfo",
    "Fee",
    "HmacSigner",
    "Invalid",
    "NotFound",
    "OutcomeUnknown",
    "PaymentFiat",
    "PaymentsClient",
    "PaymentsError",
    "RateLimited",
    "RequestRefused",
    "ServiceFault",
    "Signer",
    "TransportFailed",
    "Unauthorized",
]

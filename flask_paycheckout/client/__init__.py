"""The whole payments service as typed Python; needs no Flask and no database.

    >>> from flask_paycheckout import Pay
    >>> from flask_paycheckout.client import PaymentsClient
    >>> client = PaymentsClient(
    ...     "http://127.0.0.1:8790",
    ...     client_id="sandbox-client",
    ...     client_secret="sandbox-secret-0123456789abcdef",
    ...     access_token="sandbox-access-token",
    ... )
    >>> print(client.checkouts.create(Pay("12.50", "USD")).url)
    http://127.0.0.1:8790/checkout/...

Each part of the service is an attribute of the client, and has a page with an example:
`python -m pydoc flask_paycheckout.client.resources.auth`, `.checkouts`, `.deposits`, `.fiat_disbursements`,
`.crypto_disbursements`, `.recipients`, `.payments` and `.references`; the last two are deprecated by the service and
warn. Records that are sent and received stand in `flask_paycheckout.client.records`, and can be imported from here.

The examples run as they stand, with this client, against `python -m flask_paycheckout.sandbox --control-token control`.
For the acts of customers and banks they use the sandbox's control interface:

    >>> import httpx
    >>> sandbox = httpx.Client(base_url="http://127.0.0.1:8790/_sandbox/", headers={"X-Sandbox-Control": "control"})

Every response of the service is a JSON envelope `{statusCode, message, data}`, or `{statusCode, error, message}` for a
refusal. The `statusCode` in the body decides, never the HTTP status. Amounts are exact `Decimal`s both ways,
timestamps aware `datetime`s in UTC, ids opaque strings.

Every call ends within the client's `timeout`, retries included, with a record or with an error: a
`RequestRefused` when the service said no, a `TransportFailed` when no usable answer came, and of those an
`OutcomeUnknown` when money may have moved all the same; `python -m pydoc flask_paycheckout.client.errors` has all.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from flask_paycheckout.client.paging import Page
    from flask_paycheckout.client.probing import Probe
    from flask_paycheckout.client.records.activities import Activity
    from flask_paycheckout.client.records.auth import Login, Organization, User
    from flask_paycheckout.client.records.checkouts import CheckoutLink
    from flask_paycheckout.client.records.crypto_disbursements import (
        CryptoBatch,
        CryptoDisbursement,
        CryptoReceiver,
        FeeConfig,
        FeeEstimate,
    )
    from flask_paycheckout.client.records.deposits import Deposit, ExchangeInfo, Fee, PaymentFiat
    from flask_paycheckout.client.records.fiat_disbursements import (
        CurrencySum,
        FiatBank,
        FiatBatch,
        FiatBatchV1,
        FiatDisbursement,
        FiatItem,
        FiatItemV1,
        FiatPaymentMethod,
        FiatRecipient,
        NewRecipient,
        PayoutBank,
    )
    from flask_paycheckout.client.records.payments import (
        Payment,
        PaymentActivity,
        PaymentReceiver,
        PaymentSender,
        Quote,
    )
    from flask_paycheckout.client.records.recipients import BankDetails, Recipient, RecipientBank
    from flask_paycheckout.client.records.record import Record
    from flask_paycheckout.client.records.references import Bank, Crypto, Currency, PaymentMethod
    from flask_paycheckout.client.renewing import RenewedToken
    from flask_paycheckout.client.responses import ResponseInfo
    from flask_paycheckout.client.signing import BearerToken, HmacSigner, Signer

# Imported when first used: a shop that only takes payments needs few of these.
_NAMES = {
    "client": "PaymentsClient",
    "errors": "Invalid NotFound OutcomeUnknown PaymentsError RateLimited RequestRefused ServiceFault TransportFailed"
    " Unauthorized",
    "paging": "Page",
    "probing": "Probe",
    "records.activities": "Activity",
    "records.auth": "Login Organization User",
    "records.checkouts": "CheckoutLink",
    "records.crypto_disbursements": "CryptoBatch CryptoDisbursement CryptoReceiver FeeConfig FeeEstimate",
    "records.deposits": "Deposit ExchangeInfo Fee PaymentFiat",
    "records.fiat_disbursements": "CurrencySum FiatBank FiatBatch FiatBatchV1 FiatDisbursement FiatItem FiatItemV1"
    " FiatPaymentMethod FiatRecipient NewRecipient PayoutBank",
    "records.payments": "Payment PaymentActivity PaymentReceiver PaymentSender Quote",
    "records.recipients": "BankDetails Recipient RecipientBank",
    "records.references": "Bank Crypto Currency PaymentMethod",
    "records.record": "Record",
    "renewing": "RenewedToken",
    "responses": "ResponseInfo",
    "signing": "BearerToken HmacSigner Signer",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "Activity",
    "Bank",
    "BankDetails",
    "BearerToken",
    "CheckoutLink",
    "Crypto",
    "CryptoBatch",
    "CryptoDisbursement",
    "CryptoReceiver",
    "Currency",
    "CurrencySum",
    "Deposit",
    "ExchangeInfo",
    "Fee",
    "FeeConfig",
    "FeeEstimate",
    "FiatBank",
    "FiatBatch",
    "FiatBatchV1",
    "FiatDisbursement",
    "FiatItem",
    "FiatItemV1",
    "FiatPaymentMethod",
    "FiatRecipient",
    "HmacSigner",
    "Invalid",
    "Login",
    "NewRecipient",
    "NotFound",
    "Organization",
    "OutcomeUnknown",
    "Page",
    "Payment",
    "PaymentActivity",
    "PaymentFiat",
    "PaymentMethod",
    "PaymentReceiver",
    "PaymentSender",
    "PaymentsClient",
    "PaymentsError",
    "PayoutBank",
    "Probe",
    "Quote",
    "RateLimited",
    "Recipient",
    "RecipientBank",
    "Record",
    "RenewedToken",
    "RequestRefused",
    "ResponseInfo",
    "ServiceFault",
    "Signer",
    "TransportFailed",
    "Unauthorized",
    "User",
]


# There is no `__dir__`: `pydoc` would load all of these names and bury the text above under their pages.


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value

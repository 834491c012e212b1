"""The whole payments service as typed Python; needs no Flask and no database.

    from flask_paycheckout.client import PaymentsClient
    from flask_paycheckout.totals import Pay

    with PaymentsClient("https://api.example.com", client_id="...", client_secret="...") as client:
        link = client.checkouts.create(Pay("12.50", "USD"))
        deposit = client.deposits.get(link.id)

Each part of the service is an attribute of the client: `auth`, `checkouts`, `deposits`, `fiat_disbursements`,
`crypto_disbursements`, `recipients`, `payments` and `references`; the last two are deprecated by the service and warn.

    batch = client.fiat_disbursements.create("USD", [FiatItem(amount="12.50", recipient_id="...", reference="pay-1")])
    for disbursement in client.fiat_disbursements.iterate(sort="-createdAt"):
        ...

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
from flask_paycheckout.client.records.payments import Payment, PaymentActivity, PaymentReceiver, PaymentSender, Quote
from flask_paycheckout.client.records.recipients import BankDetails, Recipient, RecipientBank
from flask_paycheckout.client.records.references import Bank, Crypto, Currency, PaymentMethod
from flask_paycheckout.client.signing import BearerToken, HmacSigner, Signer

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
    "RequestRefused",
    "ServiceFault",
    "Signer",
    "TransportFailed",
    "Unauthorized",
    "User",
]

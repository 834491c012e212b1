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
warn. Records that are sent and received are defined beside the calls that use them, and can be imported from here.

The examples run unchanged, with this client, against `python -m flask_paycheckout.sandbox --control-token control`.
For the actions of customers and banks they use the sandbox's control interface:

    >>> import httpx
    >>> sandbox = httpx.Client(base_url="http://127.0.0.1:8790/_sandbox/", headers={"X-Sandbox-Control": "control"})

Every response of the service is a JSON envelope `{statusCode, message, data}`, or `{statusCode, error, message}` for a
refusal. The `statusCode` in the body decides, never the HTTP status. Amounts are exact `Decimal`s in both
directions, timestamps are aware `datetime`s in UTC, and ids are opaque strings.

Every call ends within the client's `timeout`, including retries, with a record or with an error: a `RequestRefused` if
the service refused it, or a `TransportFailed` without a usable answer, which is an `OutcomeUnknown` if money may have
moved; `python -m pydoc flask_paycheckout.client.errors` lists all errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask_paycheckout.client.client import (
        AsyncPaymentsClient as AsyncPaymentsClient,
        PaymentsClient as PaymentsClient,
    )
    from flask_paycheckout.client.errors import (
        Invalid as Invalid,
        NotFound as NotFound,
        OutcomeUnknown as OutcomeUnknown,
        PaymentsError as PaymentsError,
        RateLimited as RateLimited,
        RequestRefused as RequestRefused,
        ServiceFault as ServiceFault,
        TransportFailed as TransportFailed,
        Unauthorized as Unauthorized,
    )
    from flask_paycheckout.client.paging import Page as Page
    from flask_paycheckout.client.records import (
        Activity as Activity,
        Record as Record,
        ResponseInfo as ResponseInfo,
    )
    from flask_paycheckout.client.resources.auth import (
        Login as Login,
        Organization as Organization,
        User as User,
    )
    from flask_paycheckout.client.resources.checkouts import CheckoutLink as CheckoutLink
    from flask_paycheckout.client.resources.crypto_disbursements import (
        CryptoBatch as CryptoBatch,
        CryptoDisbursement as CryptoDisbursement,
        CryptoReceiver as CryptoReceiver,
        FeeConfig as FeeConfig,
        FeeEstimate as FeeEstimate,
    )
    from flask_paycheckout.client.resources.deposits import (
        Deposit as Deposit,
        ExchangeInfo as ExchangeInfo,
        Fee as Fee,
        PaymentFiat as PaymentFiat,
    )
    from flask_paycheckout.client.resources.fiat_records import (
        CurrencySum as CurrencySum,
        FiatBank as FiatBank,
        FiatBatch as FiatBatch,
        FiatBatchV1 as FiatBatchV1,
        FiatDisbursement as FiatDisbursement,
        FiatItem as FiatItem,
        FiatItemV1 as FiatItemV1,
        FiatPaymentMethod as FiatPaymentMethod,
        FiatRecipient as FiatRecipient,
        FiatTransfer as FiatTransfer,
        NewRecipient as NewRecipient,
        PayoutBank as PayoutBank,
    )
    from flask_paycheckout.client.resources.payments import (
        Payment as Payment,
        PaymentActivity as PaymentActivity,
        PaymentReceiver as PaymentReceiver,
        PaymentSender as PaymentSender,
        Quote as Quote,
    )
    from flask_paycheckout.client.resources.recipients import (
        BankDetails as BankDetails,
        Recipient as Recipient,
        RecipientBank as RecipientBank,
    )
    from flask_paycheckout.client.resources.references import (
        Bank as Bank,
        Crypto as Crypto,
        Currency as Currency,
        PaymentMethod as PaymentMethod,
    )
    from flask_paycheckout.client.signing import (
        BearerToken as BearerToken,
        HmacSigner as HmacSigner,
        RenewedToken as RenewedToken,
        Signer as Signer,
        WebhookRefused as WebhookRefused,
        verify_webhook as verify_webhook,
    )
else:
    import lazy_loader

    # The names are not in a stub file, because frozen programs and minimized images have no stubs. `__dir__` is left
    # out, because `pydoc` would load all names and bury the text above under their pages.
    __getattr__, _, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "client": ["AsyncPaymentsClient", "PaymentsClient"],
            "errors": [
                "Invalid",
                "NotFound",
                "OutcomeUnknown",
                "PaymentsError",
                "RateLimited",
                "RequestRefused",
                "ServiceFault",
                "TransportFailed",
                "Unauthorized",
            ],
            "paging": ["Page"],
            "records": ["Activity", "Record", "ResponseInfo"],
            "resources.auth": ["Login", "Organization", "User"],
            "resources.checkouts": ["CheckoutLink"],
            "resources.crypto_disbursements": [
                "CryptoBatch",
                "CryptoDisbursement",
                "CryptoReceiver",
                "FeeConfig",
                "FeeEstimate",
            ],
            "resources.deposits": ["Deposit", "ExchangeInfo", "Fee", "PaymentFiat"],
            "resources.fiat_records": [
                "CurrencySum",
                "FiatBank",
                "FiatBatch",
                "FiatBatchV1",
                "FiatDisbursement",
                "FiatItem",
                "FiatItemV1",
                "FiatPaymentMethod",
                "FiatRecipient",
                "FiatTransfer",
                "NewRecipient",
                "PayoutBank",
            ],
            "resources.payments": ["Payment", "PaymentActivity", "PaymentReceiver", "PaymentSender", "Quote"],
            "resources.recipients": ["BankDetails", "Recipient", "RecipientBank"],
            "resources.references": ["Bank", "Crypto", "Currency", "PaymentMethod"],
            "signing": ["BearerToken", "HmacSigner", "RenewedToken", "Signer", "WebhookRefused", "verify_webhook"],
        },
    )

"""The public names with their modules; they are imported when first used."""

from .client import (
    AsyncPaymentsClient as AsyncPaymentsClient,
    PaymentsClient as PaymentsClient,
    Probe as Probe,
)
from .errors import (
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
from .paging import Page as Page
from .records import (
    Activity as Activity,
    Record as Record,
    ResponseInfo as ResponseInfo,
)
from .resources.auth import (
    Login as Login,
    Organization as Organization,
    User as User,
)
from .resources.checkouts import CheckoutLink as CheckoutLink
from .resources.crypto_disbursements import (
    CryptoBatch as CryptoBatch,
    CryptoDisbursement as CryptoDisbursement,
    CryptoReceiver as CryptoReceiver,
    FeeConfig as FeeConfig,
    FeeEstimate as FeeEstimate,
)
from .resources.deposits import (
    Deposit as Deposit,
    ExchangeInfo as ExchangeInfo,
    Fee as Fee,
    PaymentFiat as PaymentFiat,
)
from .resources.fiat_records import (
    CurrencySum as CurrencySum,
    FiatBank as FiatBank,
    FiatBatch as FiatBatch,
    FiatBatchV1 as FiatBatchV1,
    FiatDisbursement as FiatDisbursement,
    FiatItem as FiatItem,
    FiatItemV1 as FiatItemV1,
    FiatPaymentMethod as FiatPaymentMethod,
    FiatRecipient as FiatRecipient,
    NewRecipient as NewRecipient,
    PayoutBank as PayoutBank,
)
from .resources.payments import (
    Payment as Payment,
    PaymentActivity as PaymentActivity,
    PaymentReceiver as PaymentReceiver,
    PaymentSender as PaymentSender,
    Quote as Quote,
)
from .resources.recipients import (
    BankDetails as BankDetails,
    Recipient as Recipient,
    RecipientBank as RecipientBank,
)
from .resources.references import (
    Bank as Bank,
    Crypto as Crypto,
    Currency as Currency,
    PaymentMethod as PaymentMethod,
)
from .signing import (
    BearerToken as BearerToken,
    HmacSigner as HmacSigner,
    RenewedToken as RenewedToken,
    Signer as Signer,
    WebhookRefused as WebhookRefused,
    verify_webhook as verify_webhook,
)

"""The public names with their modules; they are imported when first used."""

from .books.erasing import Erased as Erased
from .books.explain import Explanation as Explanation
from .checkouts.checkout_model import CheckoutMixin as CheckoutMixin
from .checkouts.payments import (
    Amount as Amount,
    Payment as Payment,
    PaymentFee as PaymentFee,
)
from .checkouts.requests import RequestMixin as RequestMixin
from .config.accounts import (
    SETTINGS as SETTINGS,
    Account as Account,
)
from .database.hosts import Host as Host
from .errors import (
    ConfigurationError as ConfigurationError,
    NothingToRefund as NothingToRefund,
    OrderNotPayable as OrderNotPayable,
    OrderSettled as OrderSettled,
    PaybackRefused as PaybackRefused,
    PayCheckoutError as PayCheckoutError,
    PayoutConflict as PayoutConflict,
    ReceiverFailed as ReceiverFailed,
    RefundTooLarge as RefundTooLarge,
    StartContended as StartContended,
    TooManyAttempts as TooManyAttempts,
    TransitionRefused as TransitionRefused,
    UncommittedChanges as UncommittedChanges,
    UnknownCheckout as UnknownCheckout,
    UnknownPayout as UnknownPayout,
    UnknownRequest as UnknownRequest,
    UnsafeCheckoutUrl as UnsafeCheckoutUrl,
)
from .events.event_model import EventMixin as EventMixin
from .extension import PayCheckout as PayCheckout
from .payouts.destinations import (
    ByHand as ByHand,
    ToBank as ToBank,
    ToRecipient as ToRecipient,
    ToWallet as ToWallet,
)
from .payouts.payout_model import PayoutMixin as PayoutMixin
from .payouts.results import PayoutReport as PayoutReport
from .rounds.reconcile import ReconcileReport as ReconcileReport
from .security.permission import Person as Person
from .signals import (
    checkout_created as checkout_created,
    order_abandoned as order_abandoned,
    order_paid as order_paid,
    order_part_paid as order_part_paid,
    order_pending as order_pending,
    payment_held as payment_held,
    payment_reminder as payment_reminder,
    payment_resolved as payment_resolved,
    payout_completed as payout_completed,
    payout_failed as payout_failed,
    payout_sent as payout_sent,
    payout_unknown as payout_unknown,
    refund_claimed as refund_claimed,
)
from .totals import (
    Pay as Pay,
    Receive as Receive,
)

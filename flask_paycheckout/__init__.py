"""Hosted checkout for Flask shops: the order's total goes out, a verified payment comes back.

    from flask_paycheckout import Pay, PayCheckout, order_paid

    paycheckout = PayCheckout(app, db)

    @paycheckout.order_total
    def order_total(order_id):
        order = db.session.get(Order, order_id, with_for_update=True)
        return Pay(order.total, "USD") if order and order.open else None

    @order_paid.connect
    @paycheckout.atomic
    def close(app, *, order_id, checkout, event_id, **extra):
        db.session.get(Order, order_id).paid = True  # committed together with the payment

and in a template `{{ paycheckout_button(order.id) }}`. Keep `flask paycheckout reconcile --watch` running beside the
shop.

A checkout is one attempt at paying an order. It is `created`, `pending`, `paid`, `held`, `rejected` or `abandoned`.
Only a fresh read of the deposit changes its state; a webhook merely causes such a read, and reconcile finds every
payment without it. Money is `Decimal`, `int` or `str`, never a float; times are aware UTC, and durations in the
configuration are seconds.

Read on with `python -m pydoc`:

    flask_paycheckout.extension     PayCheckout: start, settle, resolve, explain, URLs, the owner's pages
    flask_paycheckout.config        every PAYCHECKOUT_ setting with its default
    flask_paycheckout.signals       the signals, and the guarantees for their receivers
    flask_paycheckout.rules.states  the states of a checkout, and the evidence that changes them
    flask_paycheckout.errors        the exceptions
    flask_paycheckout.client        the client of the whole payments service, typed, without Flask
    flask_paycheckout.testing       fixtures for a shop's own tests
    flask_paycheckout.sandbox       the simulated service, for development and tests
    flask_paycheckout.admin         views for Flask-Admin
    flask_paycheckout.tasks         tasks for Celery
    flask_paycheckout.metrics       metrics for Prometheus

`flask paycheckout --help` lists the commands.

The names in `__all__` here and in client, sandbox, testing and admin are public. They are imported when first used, so
that the client works without Flask, and optional dependencies are loaded late.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask_paycheckout.checkouts.reconcile import ReconcileReport
    from flask_paycheckout.errors import (
        ConfigurationError,
        NothingToRefund,
        OrderNotPayable,
        OrderSettled,
        PaybackRefused,
        PayCheckoutError,
        PayoutConflict,
        ReceiverFailed,
        RefundTooLarge,
        StartContended,
        TooManyAttempts,
        TransitionRefused,
        UncommittedChanges,
        UnknownCheckout,
        UnknownPayout,
        UnsafeCheckoutUrl,
    )
    from flask_paycheckout.extension import PayCheckout
    from flask_paycheckout.reports.explain import Explanation
    from flask_paycheckout.rules.destinations import ToBank, ToRecipient, ToWallet
    from flask_paycheckout.rules.payout_report import PayoutReport
    from flask_paycheckout.service.accounts import Account
    from flask_paycheckout.signals import (
        checkout_created,
        order_abandoned,
        order_paid,
        order_pending,
        payment_held,
        payment_resolved,
        payout_completed,
        payout_failed,
        payout_sent,
        payout_unknown,
        refund_claimed,
    )
    from flask_paycheckout.store.checkout_model import CheckoutMixin
    from flask_paycheckout.store.event_model import EventMixin
    from flask_paycheckout.store.payments import Amount, Payment, PaymentFee
    from flask_paycheckout.store.payout_model import PayoutMixin
    from flask_paycheckout.totals import Pay, Receive

_HOMES = {
    "service.accounts": ("Account",),
    "errors": (
        "ConfigurationError",
        "NothingToRefund",
        "OrderNotPayable",
        "OrderSettled",
        "PayCheckoutError",
        "PaybackRefused",
        "PayoutConflict",
        "ReceiverFailed",
        "RefundTooLarge",
        "StartContended",
        "TooManyAttempts",
        "TransitionRefused",
        "UncommittedChanges",
        "UnknownCheckout",
        "UnknownPayout",
        "UnsafeCheckoutUrl",
    ),
    "reports.explain": ("Explanation",),
    "extension": ("PayCheckout",),
    "store.checkout_model": ("CheckoutMixin",),
    "store.event_model": ("EventMixin",),
    "store.payout_model": ("PayoutMixin",),
    "rules.destinations": ("ToBank", "ToRecipient", "ToWallet"),
    "rules.payout_report": ("PayoutReport",),
    "checkouts.reconcile": ("ReconcileReport",),
    "store.payments": ("Amount", "Payment", "PaymentFee"),
    "signals": (
        "checkout_created",
        "order_abandoned",
        "order_paid",
        "order_pending",
        "payment_held",
        "payment_resolved",
        "payout_completed",
        "payout_failed",
        "payout_sent",
        "payout_unknown",
        "refund_claimed",
    ),
    "totals": ("Pay", "Receive"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Account",
    "Amount",
    "CheckoutMixin",
    "ConfigurationError",
    "EventMixin",
    "Explanation",
    "NothingToRefund",
    "OrderNotPayable",
    "OrderSettled",
    "Pay",
    "PayCheckout",
    "PayCheckoutError",
    "PaybackRefused",
    "Payment",
    "PaymentFee",
    "PayoutConflict",
    "PayoutMixin",
    "PayoutReport",
    "Receive",
    "ReceiverFailed",
    "ReconcileReport",
    "RefundTooLarge",
    "StartContended",
    "ToBank",
    "ToRecipient",
    "ToWallet",
    "TooManyAttempts",
    "TransitionRefused",
    "UncommittedChanges",
    "UnknownCheckout",
    "UnknownPayout",
    "UnsafeCheckoutUrl",
    "checkout_created",
    "order_abandoned",
    "order_paid",
    "order_pending",
    "payment_held",
    "payment_resolved",
    "payout_completed",
    "payout_failed",
    "payout_sent",
    "payout_unknown",
    "refund_claimed",
]


if not TYPE_CHECKING:  # so that a type checker reports unknown names

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

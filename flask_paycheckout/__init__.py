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

A checkout is one attempt at paying an order. It is `created`, `pending`, `part`, `paid`, `held`, `rejected` or
`abandoned`. Only a fresh read of the deposit changes its state; a webhook merely causes such a read, and reconcile
finds every payment without it. Money is `Decimal`, `int` or `str`, never a float; times are aware UTC, and durations in
the configuration are seconds.

Read on with `python -m pydoc`:

    flask_paycheckout.extension     PayCheckout: start, settle, resolve, explain, URLs, the owner's pages
    flask_paycheckout.config        every PAYCHECKOUT_ setting with its default
    flask_paycheckout.signals       the signals, and the guarantees for their receivers
    flask_paycheckout.checkouts.states  the states of a checkout, and the evidence that changes them
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

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask_paycheckout.books.alarms import Alarm as Alarm
    from flask_paycheckout.books.customers import (
        Described as Described,
        Line as Line,
    )
    from flask_paycheckout.books.erasing import Erased as Erased
    from flask_paycheckout.books.explain import Explanation as Explanation
    from flask_paycheckout.books.figures import Figures as Figures
    from flask_paycheckout.checkouts.checkout_model import CheckoutMixin as CheckoutMixin
    from flask_paycheckout.checkouts.payments import (
        Payment as Payment,
        PaymentFee as PaymentFee,
    )
    from flask_paycheckout.checkouts.requests import RequestMixin as RequestMixin
    from flask_paycheckout.config.accounts import (
        SETTINGS as SETTINGS,
        Account as Account,
    )
    from flask_paycheckout.database.hosts import Host as Host
    from flask_paycheckout.errors import (
        AmountRefused as AmountRefused,
        ConfigurationError as ConfigurationError,
        NothingToRefund as NothingToRefund,
        OrderNotPayable as OrderNotPayable,
        OrderSettled as OrderSettled,
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
    from flask_paycheckout.events.event_model import EventMixin as EventMixin
    from flask_paycheckout.extension import PayCheckout as PayCheckout
    from flask_paycheckout.payouts.destinations import (
        ByHand as ByHand,
        ToBank as ToBank,
        ToRecipient as ToRecipient,
        ToWallet as ToWallet,
    )
    from flask_paycheckout.payouts.payout_model import PayoutMixin as PayoutMixin
    from flask_paycheckout.payouts.results import PayoutReport as PayoutReport
    from flask_paycheckout.rounds.reconcile import ReconcileReport as ReconcileReport
    from flask_paycheckout.security.permission import Person as Person
    from flask_paycheckout.signals import (
        checkout_created as checkout_created,
        claim_wanted as claim_wanted,
        order_abandoned as order_abandoned,
        order_paid as order_paid,
        order_part_paid as order_part_paid,
        order_pending as order_pending,
        payment_held as payment_held,
        payment_reminder as payment_reminder,
        payment_resolved as payment_resolved,
        payment_reversed as payment_reversed,
        payout_cancelled as payout_cancelled,
        payout_completed as payout_completed,
        payout_failed as payout_failed,
        payout_sent as payout_sent,
        payout_unknown as payout_unknown,
        refund_claimed as refund_claimed,
        request_paid as request_paid,
        request_reminder as request_reminder,
    )
    from flask_paycheckout.totals import (
        Amount as Amount,
        Pay as Pay,
        Receive as Receive,
    )
else:
    import lazy_loader

    # Not from a stub: frozen programs, and images made smaller, have none.
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "books.alarms": ["Alarm"],
            "books.customers": ["Described", "Line"],
            "books.erasing": ["Erased"],
            "books.explain": ["Explanation"],
            "books.figures": ["Figures"],
            "checkouts.checkout_model": ["CheckoutMixin"],
            "checkouts.payments": ["Payment", "PaymentFee"],
            "checkouts.requests": ["RequestMixin"],
            "config.accounts": ["SETTINGS", "Account"],
            "database.hosts": ["Host"],
            "errors": [
                "AmountRefused",
                "ConfigurationError",
                "NothingToRefund",
                "OrderNotPayable",
                "OrderSettled",
                "PayCheckoutError",
                "PayoutConflict",
                "ReceiverFailed",
                "RefundTooLarge",
                "StartContended",
                "TooManyAttempts",
                "TransitionRefused",
                "UncommittedChanges",
                "UnknownCheckout",
                "UnknownPayout",
                "UnknownRequest",
                "UnsafeCheckoutUrl",
            ],
            "events.event_model": ["EventMixin"],
            "extension": ["PayCheckout"],
            "payouts.destinations": ["ByHand", "ToBank", "ToRecipient", "ToWallet"],
            "payouts.payout_model": ["PayoutMixin"],
            "payouts.results": ["PayoutReport"],
            "rounds.reconcile": ["ReconcileReport"],
            "security.permission": ["Person"],
            "signals": [
                "checkout_created",
                "claim_wanted",
                "order_abandoned",
                "order_paid",
                "order_part_paid",
                "order_pending",
                "payment_held",
                "payment_reminder",
                "payment_resolved",
                "payment_reversed",
                "payout_cancelled",
                "payout_completed",
                "payout_failed",
                "payout_sent",
                "payout_unknown",
                "request_paid",
                "request_reminder",
                "refund_claimed",
            ],
            "totals": ["Amount", "Pay", "Receive"],
        },
    )

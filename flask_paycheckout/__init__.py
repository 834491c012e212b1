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

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

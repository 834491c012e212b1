"""The extension object. It keeps no app: everything that belongs to an app is in that app's `Runtime`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from flask import Blueprint, Flask, current_app, has_app_context
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.clock import Clock
from flask_paycheckout.config import load_settings
from flask_paycheckout.database.shop_session import watch_sessions
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.events.receivers import mark_atomic
from flask_paycheckout.models import Models, make_models, require_one_database
from flask_paycheckout.operations.payments import PaymentOperations
from flask_paycheckout.operations.payouts import PayoutOperations
from flask_paycheckout.parts import AccountKeys, AccountOf, Callbacks, OrderTotal, OrderUrl
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.runtime import KEY, Runtime, make_parts, runtime
from flask_paycheckout.service.accounts import require_account_name
from flask_paycheckout.service.observations import Observer
from flask_paycheckout.shop_functions import Function, refuse_generator
from flask_paycheckout.signals import note_new_app
from flask_paycheckout.views import add_routes, order_urls
from flask_paycheckout.views.order import paycheckout_button

if TYPE_CHECKING:
    import httpx

__all__ = ["PayCheckout"]

# A decorated function keeps its own type.
PriceOrder = TypeVar("PriceOrder", bound=OrderTotal)
LinkOrder = TypeVar("LinkOrder", bound=OrderUrl)
NameAccount = TypeVar("NameAccount", bound=AccountOf)
GiveKeys = TypeVar("GiveKeys", bound=AccountKeys)


class PayCheckout(PaymentOperations, PayoutOperations):
    """Hosted checkout for a Flask shop.

        paycheckout = PayCheckout()
        paycheckout.init_app(app, db)

        @paycheckout.order_total
        def order_total(order_id: str) -> Pay | Receive | None: ...

    Every method works on the current app, so it needs an application context.
    """

    def __init__(self, app: Flask | None = None, db: SQLAlchemy | None = None) -> None:
        self._callbacks = Callbacks()
        self._databases: weakref.WeakSet[SQLAlchemy] = weakref.WeakSet()
        if app is not None:
            if db is None:
                raise TypeError(
                    "PayCheckout(app, db) needs the shop's flask_sqlalchemy.SQLAlchemy object as db."
                    " Write: db = SQLAlchemy(app); PayCheckout(app, db)"
                )
            self.init_app(app, db)

    def init_app(
        self,
        app: Flask,
        db: SQLAlchemy,
        *,
        transport: httpx.BaseTransport | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Set the extension up on an app: settings, tables, routes, template global, commands.

        :param db: the shop's SQLAlchemy object; the tables appear in its metadata at once.
        :param transport: an httpx transport for the client, such as the test sandbox's.
        :param clock: gives the aware UTC now, the only source of time; a transport that has a `clock` brings its own.
        :raises ConfigurationError: a setting is missing or wrong, or the app already has the extension.
        """
        if not isinstance(db, SQLAlchemy):
            raise TypeError(
                f"db must be the shop's flask_sqlalchemy.SQLAlchemy object, not {type(db).__name__}."
                " Write: db = SQLAlchemy(app); PayCheckout(app, db)"
            )
        if KEY in app.extensions:
            raise ConfigurationError(f"PayCheckout is already set up on {app.name!r}. Call init_app once for each app.")
        settings = load_settings(app.config, relaxed=app.debug or app.testing)
        _require_keys(app)
        models = make_models(db)
        require_one_database(models, app.config, separate=settings.separate_database)
        watch_sessions(db)
        self._databases.add(db)
        clock = clock or getattr(transport, "clock", None)
        parts = make_parts(app, db, settings, models, self._callbacks, transport, clock)
        app.extensions[KEY] = Runtime(parts, _queue_of(app))
        add_routes(app, settings)
        app.jinja_env.globals["paycheckout_button"] = paycheckout_button
        self._add_commands(app)
        note_new_app()

    def order_total(self, callback: PriceOrder) -> PriceOrder:
        """Register the function that says what an order costs now; None means: not payable.

        It is called when a checkout is started, and again when its money arrives, then in the transaction that records
        the payment. Lock the order that you read, so that nothing can change it before that transaction is committed:

            db.session.get(Order, order_id, with_for_update=True)

        Each call runs in an application context of its own and sees what is committed. The function must not commit.
        """
        self._callbacks.order_total = refuse_generator(callback)
        return callback

    def atomic(self, receiver: Function) -> Function:
        """Mark a receiver that only writes through `db.session`: it runs in the transaction that moves the checkout.

            @order_paid.connect
            @paycheckout.atomic
            def close_order(app, *, order_id, **extra):
                db.session.get(Order, order_id).paid = True

        The shop's order and the checkout are then paid in one commit. When the receiver raises, nothing is committed,
        and the payment is settled again later. The receiver must not commit or use the network: in debug and testing, a
        socket that it opens is an error. The decorator stands above or below `connect`.

        :raises TypeError: the receiver is an object that takes no attributes.
        """
        return mark_atomic(receiver)

    def order_url(self, callback: LinkOrder) -> LinkOrder:
        """Register the function that says where the shop's own page of an order is; None: no link back.

            @paycheckout.order_url
            def order_url(order_id):
                return url_for("show_order", order_id=order_id)

        The customer's pages link there. Anybody who has a status link sees the address, so the shop's page must itself
        check who may see it.
        """
        self._callbacks.order_url = refuse_generator(callback)
        return callback

    def account_of(self, callback: NameAccount) -> NameAccount:
        """Register the function that names the merchant account of an order; "" is the one of the settings.

            @paycheckout.account_of
            def account_of(order_id):
                return db.session.get(Order, order_id).seller

        It is called when a checkout is started. The name is stored with the checkout, and every later call of the
        service for it is made with that account's keys, whatever this function says then.
        """
        self._callbacks.account_of = refuse_generator(callback)
        return callback

    def account(self, callback: GiveKeys) -> GiveKeys:
        """Register the function that gives an account's keys, from wherever the shop keeps them; None: no such account.

            @paycheckout.account
            def account(name):
                seller = db.session.get(Seller, name)
                return Account(client_id=seller.client_id, client_secret=seller.secret) if seller else None

        It is called when the account is used, at most every PAYCHECKOUT_ACCOUNT_CACHE seconds in each process, and at
        once after the service has refused the keys. An account that is gone stops no other one.
        """
        self._callbacks.account = refuse_generator(callback)
        return callback

    def observe(self, app: Flask, observer: Observer) -> None:
        """Have a function called with everything measurable that happens in an app, for metrics of the shop's own.

            def count(observed):
                statsd.increment(f"payments.{observed.kind}.{observed.outcome}")

            paycheckout.observe(app, count)

        It is called in the thread in which it happens, so it must be quick. What it raises is logged.

        :param app: an app that `init_app` was called for.
        """
        with app.app_context():
            runtime().observers.add(refuse_generator(observer))

    def pay_url(self, order_id: str) -> str:
        """Absolute URL that a form posts to in order to pay this order; it carries a sealed token."""
        return order_urls.pay_url(order_id)

    def status_url(self, order_id: str) -> str:
        """Absolute URL of the order's status page. It carries a sealed token: anybody who has it can see the page."""
        return order_urls.status_url(order_id)

    def refund_url(self, reference: str) -> str:
        """Absolute URL of the page on which a customer says where a refund goes, to be sent to that customer.

        It carries a sealed token: anybody who has it can say where the money goes until a person approves it, and sees
        how the refund stands. Our other pages do not link there.

        :param reference: `reference` of the payout that `refund` returned.
        :raises UnknownPayout: no such payout is stored; one that `db.session` has not committed yet counts.
        :raises ValueError: it is no refund.
        """
        return order_urls.refund_url(reference)

    def webhook_url(self) -> str:
        """Absolute URL to register in the service's dashboard."""
        return order_urls.webhook_url()

    def owner_view(self, permission: Callable[[], str | None]) -> Blueprint:
        """Pages for the shop's owner: orders with their attempts, their stories, and held payments to decide.

            def owner():
                return session.get("owner")  # the owner's name, for the record; None refuses

            app.register_blueprint(paycheckout.owner_view(owner), url_prefix="/owner/payments")

        :param permission: called in every request. It gives the name of the person, which is recorded with each
            decision; None refuses with 403. It may redirect to a login instead: `abort(redirect(url_for("login")))`.
        :returns: a blueprint, mounted at `/paycheckout/owner` unless `url_prefix` says where. Its pages show no
            secret, token or payment URL, and change nothing but what a person decides about a payment.
        :raises ConfigurationError: `permission` is not a function; without one there are no such pages.
        """
        from flask_paycheckout.views.owner import make_owner_view

        return make_owner_view(permission)

    @property
    def client(self) -> PaymentsClient:
        """The current app's client of the whole service."""
        return runtime().client

    def client_of(self, name: str) -> PaymentsClient:
        """The client of a merchant account, with the keys that the shop gives for it; "" is that of the settings.

        :raises flask_paycheckout.client.TransportFailed: the shop gives no keys for this account.
        """
        return runtime().accounts.client_of(require_account_name(name))

    @property
    def Checkout(self) -> type[CheckoutMixin]:  # noqa: N802 - a class
        """The mapped class of `paycheckout_checkout` on the shop's database."""
        return self._models().Checkout

    @property
    def Event(self) -> type[EventMixin]:  # noqa: N802 - a class
        """The mapped class of `paycheckout_event` on the shop's database."""
        return self._models().Event

    @property
    def Payout(self) -> type[PayoutMixin]:  # noqa: N802 - a class
        """The mapped class of `paycheckout_payout` on the shop's database."""
        return self._models().Payout

    @property
    def _runtime(self) -> Runtime:
        return runtime()

    def _models(self) -> Models:
        if has_app_context() and KEY in current_app.extensions:
            return runtime().models
        if len(self._databases) == 1:
            return make_models(next(iter(self._databases)))
        raise ConfigurationError(
            "paycheckout.Checkout, paycheckout.Event and paycheckout.Payout are made by init_app(app, db)."
            " Call it first; with several databases, use them inside an application context."
        )

    def _add_commands(self, app: Flask) -> None:
        from flask_paycheckout.cli import paycheckout

        app.cli.add_command(paycheckout)


def _require_keys(app: Flask) -> None:
    if not app.secret_key:
        raise ConfigurationError(
            "SECRET_KEY is not set; the links to pay are sealed with it."
            " Make one with: python -c 'import secrets; print(secrets.token_hex(32))'."
        )
    if isinstance(app.config.get("SECRET_KEY_FALLBACKS"), (str, bytes)):
        raise ConfigurationError(
            "SECRET_KEY_FALLBACKS is one string, so each of its letters would be a key, and sessions easily forged."
            " Write a list: ['the key before']."
        )


def _queue_of(app: Flask) -> Callable[[str], None]:
    """A function that queues a deferred webhook in the shop's Celery app; without one, reconcile reads it."""

    def queue(checkout_id: str) -> None:
        if "celery" in app.extensions:
            from flask_paycheckout.tasks import queue_settle

            queue_settle(app.extensions["celery"], checkout_id)

    return queue

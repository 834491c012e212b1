"""The extension object. It keeps no app: everything that belongs to an app is in that app's `Runtime`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from flask import Blueprint, Flask, current_app, has_app_context
from sqlalchemy import MetaData
from sqlalchemy.orm import Session

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.requests import RequestMixin
from flask_paycheckout.checkouts.shop_answers import ShopFailed
from flask_paycheckout.cli import paycheckout
from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.client.hidden import concealed
from flask_paycheckout.clock import Clock
from flask_paycheckout.config import load_settings
from flask_paycheckout.config.checks import IN_QUOTES
from flask_paycheckout.database.hosts import Host, database_of
from flask_paycheckout.database.models import Models
from flask_paycheckout.database.shop_session import ShopSessions
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.events.receivers import mark_atomic
from flask_paycheckout.models import make_models, models_in
from flask_paycheckout.payouts.destinations import ByHand, Destination
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.results import PayoutReport
from flask_paycheckout.runtime import KEY, STATUSES, for_reading, for_writing, make_runtime, runtime
from flask_paycheckout.shop_functions import Function, refuse_generator
from flask_paycheckout.signals import note_new_app
from flask_paycheckout.text import require_account_name
from flask_paycheckout.views import add_routes, order_urls
from flask_paycheckout.views.headers import require_same_site
from flask_paycheckout.views.order import paycheckout_button
from flask_paycheckout.views.pages import qr_code
from flask_paycheckout.wiring import AccountKeys, AccountOf, Callbacks, Observer, OrderTotal, OrderUrl, context_opener
from flask_paycheckout.wiring.host import refuse_unsupported

if TYPE_CHECKING:
    import httpx
    from flask_sqlalchemy import SQLAlchemy
    from flask_sqlalchemy_lite import SQLAlchemy as LiteSQLAlchemy

    from flask_paycheckout.books.alarms import Alarm
    from flask_paycheckout.books.erasing import Erased
    from flask_paycheckout.books.explain import Explanation
    from flask_paycheckout.books.figures import Figures
    from flask_paycheckout.books.ledger import Line
    from flask_paycheckout.checkouts.ruling import Balance
    from flask_paycheckout.rounds.reconcile import ReconcileReport
    from flask_paycheckout.security.permission import Permission
    from flask_paycheckout.totals import Total

# A decorated function keeps its own type.
Registered = TypeVar("Registered", bound=Callable[..., Any])
PriceOrder = TypeVar("PriceOrder", bound=OrderTotal)
LinkOrder = TypeVar("LinkOrder", bound=OrderUrl)
NameAccount = TypeVar("NameAccount", bound=AccountOf)
GiveKeys = TypeVar("GiveKeys", bound=AccountKeys)
TellOwner = TypeVar("TellOwner", bound=Callable[["list[Alarm]", "list[Alarm]"], object])


class PayCheckout:
    """Hosted checkout for a Flask shop.

        paycheckout = PayCheckout()
        paycheckout.init_app(app, db)

        @paycheckout.order_total
        def order_total(order_id: str) -> Pay | Receive | None: ...

    Every method works on the current app, so it needs an application context.
    """

    def __init__(
        self,
        app: Flask | None = None,
        db: SQLAlchemy | LiteSQLAlchemy | Host | None = None,
        *,
        metadata: MetaData | None = None,
    ) -> None:
        self._newest = Callbacks(claim_url=order_urls.url_of_claim)
        self._callbacks = weakref.WeakSet((self._newest,))
        self._metadatas: weakref.WeakSet[MetaData] = weakref.WeakSet()
        if app is not None:
            self.init_app(app, db, metadata=metadata)

    def init_app(
        self,
        app: Flask,
        db: SQLAlchemy | LiteSQLAlchemy | Host | None,
        *,
        metadata: MetaData | None = None,
        transport: httpx.BaseTransport | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Set the extension up on an app: settings, tables, routes, template global, commands.

        :param db: the shop's `flask_sqlalchemy.SQLAlchemy`, its `flask_sqlalchemy_lite.SQLAlchemy`, or a `Host`; the
            payment tables appear in its metadata at once.
        :param metadata: the `metadata` of the shop's models, only for Flask-SQLAlchemy-Lite.
        :param transport: an httpx transport for the client, such as the test sandbox's.
        :param clock: returns the current time as aware UTC, the only source of time; by default the transport's
            `clock`, if it has one, else the machine's.
        :raises ConfigurationError: a setting is missing or wrong, the app already has the extension, or `app` or `db`
            has the wrong type.
        """
        if not isinstance(app, Flask):
            raise ConfigurationError(
                f"app must be a flask.Flask, not {type(app).__module__}.{type(app).__name__}. A Quart app cannot have"
                " this extension; a Flask app can have async def views (pip install 'flask[async]') and be served by"
                " an ASGI server through a2wsgi.WSGIMiddleware, as docs/hosts.md shows."
            )
        database = database_of(db, metadata, context_opener(app))
        if KEY in app.extensions:
            raise ConfigurationError(f"PayCheckout is already set up on {app.name!r}. Call init_app once for each app.")
        settings = load_settings(app.config.get, relaxed=app.debug or app.testing)
        _require_keys(app)
        models = make_models(database)
        self._metadatas.add(database.metadatas[None])
        clock = clock or getattr(transport, "clock", None)
        sessions = ShopSessions(database, models.checkouts)
        refuse_unsupported(app, models, settings, sessions.engine_if_known())
        # Keep the functions that the module registered, or that were registered for an earlier app.
        self._newest = replace(self._newest, registered=set())
        self._callbacks.add(self._newest)
        app.extensions[KEY] = make_runtime(
            app, sessions, settings, models, self._newest, _queue, order_urls.owner_url, transport, clock
        )
        add_routes(app, settings)
        app.jinja_env.globals["paycheckout_button"] = paycheckout_button
        app.cli.add_command(paycheckout)
        note_new_app()

    # Functions that the shop registers

    def _register(self, name: str, function: Registered) -> Registered:
        """Register a function for one app: the newest, which a factory is making, or else the current app.

        The current app gets the function if the newest app already has a function of this name. Apps without such a
        function, and apps that are set up later, get it too.
        """
        refuse_generator(function)
        chosen = self._newest
        if name in chosen.registered and has_app_context():
            current = getattr(current_app.extensions.get(KEY), "callbacks", None)
            chosen = next((each for each in self._callbacks if each is current), chosen)
        chosen.registered.add(name)
        for callbacks in self._callbacks:
            if callbacks is chosen or getattr(callbacks, name) is getattr(Callbacks, name):
                setattr(callbacks, name, function)
        return function

    def order_total(self, callback: PriceOrder) -> PriceOrder:
        """Register the function that returns an order's present total; None means that it is not payable.

        It is called when a checkout is started, and again when its money arrives, in the transaction that records the
        payment. Lock the order that you read, so that nothing can change it before that transaction is committed:

            db.session.get(Order, order_id, with_for_update=True)

        Each call runs in a separate application context, sees committed data, and has no request: webhooks and
        reconcile must get the same total as a visitor who presses the pay button. The function must not commit.
        """
        return self._register("order_total", callback)

    def atomic(self, receiver: Function) -> Function:
        """Mark a receiver that only writes through `db.session`: it runs in the transaction that moves the checkout.

            @order_paid.connect
            @paycheckout.atomic
            def close_order(app, *, order_id, **extra):
                db.session.get(Order, order_id).paid = True

        The shop's order and the checkout are then paid in one commit. If the receiver raises an error, nothing is
        committed, and the payment is settled again later. The receiver must not commit or use the network: in debug and
        testing mode, opening a socket is an error. The decorator may stand above or below `connect`.

        :raises TypeError: the receiver is an object without settable attributes.
        """
        return mark_atomic(receiver)

    def order_url(self, callback: LinkOrder) -> LinkOrder:
        """Register the function that returns the address of the shop's own page of an order; None for no link back.

            @paycheckout.order_url
            def order_url(order_id):
                return url_for("show_order", order_id=order_id)

        The customers' pages link to it. Anybody who has a status link sees the address, so the shop's page must itself
        check who may see it.
        """
        return self._register("order_url", callback)

    def account_of(self, callback: NameAccount) -> NameAccount:
        """Register the function that names the merchant account of an order; "" is the account of the settings.

            @paycheckout.account_of
            def account_of(order_id):
                order = db.session.get(Order, order_id)
                return order.seller if order else ""

        It is called when a checkout is started, and has no request. The name is stored with the checkout; every later
        call to the service for the checkout uses that account's keys, even if this function then returns another name.
        """
        return self._register("account_of", callback)

    def account(self, callback: GiveKeys) -> GiveKeys:
        """Register the function that returns a merchant account's keys, or None if there is no such account.

            @paycheckout.account
            def account(name):
                seller = db.session.get(Seller, name)
                return Account(client_id=seller.client_id, client_secret=seller.secret) if seller else None

        It is called when the account is used, at most every PAYCHECKOUT_ACCOUNT_CACHE seconds in each process, and at
        once after the service has refused the keys. A missing account does not affect other accounts.
        """
        return self._register("account", callback)

    def describe_orders(self, callback: Registered) -> Registered:
        """Register the function that describes orders: the customer, the lines, and the shop's own page of the order.

            @paycheckout.describe_orders
            def describe(order_ids):
                return {
                    order.id: Described(customer=order.name, email=order.email, lines=[Line("Forest honey", "12.50")])
                    for order in Order.query.filter(Order.id.in_(order_ids))
                }

        It returns a dict with a `Described` for each order that the shop knows. The owner's pages and the file for
        bookkeepers call it once for all orders of a page, and customers' receipts call it for the lines of one order.
        `url_for` works in it, and it sees no visitor. Its result is neither stored nor logged. If it fails, or takes
        longer than 300 ms, the page is shown without descriptions.
        """
        return self._register("describe_orders", callback)

    def find_orders(self, callback: Registered) -> Registered:
        """Register the function that finds orders for the owner's search, such as by name or e-mail address.

            @paycheckout.find_orders
            def find(text, limit):
                return [order.id for order in Order.search(text, limit)]

        It returns order ids, best matches first. It is called like the function of `describe_orders`.
        """
        return self._register("find_orders", callback)

    def tell_owner(self, callback: TellOwner) -> TellOwner:
        """Register the function that is called with alarms: the alarms that have begun, and the alarms that are over.

            @paycheckout.tell_owner
            def tell_owner(began, over):
                for alarm in began:
                    send_mail("owner@shop.example", f"{alarm.severity}: {alarm.what}", alarm.remedy)

        Both are lists of `Alarm`; notes are left out. Reconcile passes each alarm once when it begins and once when it
        is over; the first call also has all present alarms. Only one process calls the function; if it raises an error,
        the next round calls it again. Reconcile waits for the function, which should time out after some seconds.
        """
        return self._register("tell_owner", callback)

    def observe(self, app: Flask, observer: Observer) -> None:
        """Call a function with each `Observation` of an app, for the shop's own metrics.

            def count(observed):
                statsd.increment(f"payments.{observed.kind}.{observed.outcome}")

            paycheckout.observe(app, count)

        It is called in the thread of the observed event, so it must be quick. An error that it raises is logged.

        :param app: an app for which `init_app` was called.
        """
        runtime(app).observers.add(refuse_generator(observer))

    # Money in

    def start(self, order_id: str) -> CheckoutMixin:
        """Create a checkout, or return the existing one if it is still usable and the total is unchanged.

        :returns: the checkout; send the customer to its `url`.
        :raises OrderNotPayable: `order_total` returned None.
        :raises OrderSettled: the order is paid, or a payment of it is held.
        :raises AmountRefused: the service refuses this checkout, for example an amount outside its limits.
        :raises StartContended: the order changed, or was locked by another transaction, meanwhile; try again.
        :raises TooManyAttempts: too many payment pages of the order are open.
        :raises UncommittedChanges: `db.session` holds changes that are not committed.
        :raises UnsafeCheckoutUrl: the service's URL is outside PAYCHECKOUT_CHECKOUT_ORIGINS.
        :raises flask_paycheckout.client.PaymentsError: the service refused or could not be reached.
        """
        shop = runtime()
        shop.requests.require_order(order_id)
        shop.sessions.let_clean_go(f"start({order_id!r})")
        try:
            return shop.starter.start(order_id).checkout
        except ShopFailed as failed:
            # The shop's own code gets the shop's own error.
            raise failed.error from failed.error.__cause__

    def settle(self, checkout_id: str) -> CheckoutMixin:
        """Read the deposit now and apply its state. Idempotent; safe to call from anywhere, also concurrently.

        :returns: the checkout in its present state.
        :raises UnknownCheckout: no such checkout is stored.
        :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
        :raises flask_paycheckout.client.PaymentsError: there was no usable answer; nothing changed.
        """
        return for_writing(f"settle({checkout_id!r})").settlement.settle(checkout_id)

    def reconcile(self, limit: int | None = None) -> ReconcileReport:
        """Settle every checkout that is due, deliver every undelivered event, send payouts and follow them.

        Payouts are sent if PAYCHECKOUT_ACCESS_TOKEN is set. Payouts and deposits do not wait for each other; the call
        ends when both are done.

        :param limit: read at most this many checkouts; None for all that are due.
        :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
        :raises ValueError: `limit` is no whole number from 0 on.
        """
        if limit is not None and not _is_count(limit):
            raise ValueError(f"limit must be a whole number from 0 on, or None for all that are due, not {limit!r}")
        return for_writing("reconcile()").reconciler.run(limit)

    def balance(self, order_id: str) -> Balance | None:
        """The paid amount of an order, and the amount that is left of its present total; None without a payment.

        :returns: `paid` and `left`, both in `currency`. Refunds count unless they were cancelled or have failed. While
            `order_total` returns no total, the total of the last checkout counts.
        :raises TypeError: the id is not a string.
        :raises ValueError: the id is empty, too long, or holds control characters.
        """
        return runtime().part_payments.balance(runtime().requests.require_order(order_id))

    def resolve(
        self, checkout_id: str, accept: bool, by: str, why: str, *, as_part: bool = False, refund_excess: bool = False
    ) -> CheckoutMixin:
        """Decide a held payment; the person and the reason are recorded, and `payment_resolved` is sent.

        An accepted payment pays the order, and `order_paid` is sent, unless another payment has already paid it. A
        rejected payment, and an accepted second payment, stays listed until it is refunded, also by hand, or `keep`
        records that the money is kept.

        :param by: who decides; 255 characters at most.
        :param why: the reason; 1,000 characters at most.
        :param as_part: accept it as a part of what is left to pay; the order then takes further parts.
        :param refund_excess: accept it, and refund the excess in one commit; the customer says where it goes.
        :returns: the checkout, now paid, part or rejected.
        :raises UnknownCheckout: no such checkout is stored.
        :raises TransitionRefused: the checkout is not held; or the payment exceeds the balance of an order with parts,
            and `refund_excess` is False; or there is no excess, and `refund_excess` is True.
        :raises ReceiverFailed: an atomic receiver raised an error; nothing was recorded.
        :raises ValueError: `by` or `why` is empty or too long.
        """
        resolutions = for_writing(f"resolve({checkout_id!r})").resolutions
        return resolutions.resolve(checkout_id, accept, by, why, as_part=as_part, refund_excess=refund_excess)

    def keep(self, checkout_id: str, *, by: str, why: str) -> CheckoutMixin:
        """Record that money that paid no order, a part payment, or an excess is kept. This moves no money.

        :param by: who decides; 255 characters at most.
        :param why: the reason; 1,000 characters at most.
        :returns: the checkout, no longer listed.
        :raises UnknownCheckout: no such checkout is stored.
        :raises TransitionRefused: the money paid an order, is not decided yet, is already kept, or is refunded.
        :raises ValueError: `by` or `why` is empty or too long.
        """
        return for_writing(f"keep({checkout_id!r})").paybacks.keep(checkout_id, by, why)

    # Payment requests

    def request(
        self,
        total: Total,
        *,
        title: str,
        note: str | None = None,
        expires: datetime | timedelta | None = None,
        account: str = "",
        by: str | None = None,
    ) -> RequestMixin:
        """Ask for money without an order: add a payment request to `db.session`; it exists if the shop commits.

            request = paycheckout.request(Pay("250.00", "USD"), title="Logo, two drafts", expires=timedelta(days=14))
            db.session.commit()
            send(paycheckout.request_url(request.reference))

        It is paid like an order with the id `request.order_id`, and `request_paid` is sent instead of `order_paid`.
        `order_total` and `account_of` are not called for it.

        :param title: the purpose of the payment, in one line; 255 characters at most.
        :param note: a further sentence, in one line; 1,000 characters at most.
        :param expires: the aware time, or the duration from now, after which it cannot be paid any more.
        :param account: the merchant account that is paid; by default the account of the settings.
        :param by: the person who makes it, for the record; 255 characters at most.
        :raises TypeError: `total` is neither `Pay` nor `Receive`, or another argument has the wrong type.
        :raises ValueError: an argument cannot be used; the message names it.
        """
        return runtime().requests.add(total, title, note, expires, account, by)

    def withdraw_request(self, reference: str, *, by: str, why: str) -> RequestMixin:
        """Withdraw a payment request: it cannot be paid any more, and money that still arrives is held.

        :param by: who withdraws it; 255 characters at most.
        :param why: the reason; 1,000 characters at most.
        :raises UnknownRequest: no such request is stored.
        :raises TransitionRefused: the request is already paid or withdrawn.
        :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
        :raises ValueError: `by` or `why` is blank or too long.
        """
        return for_writing(f"withdraw_request({reference!r})").requests.withdraw(reference, by, why)

    # Orders

    def order_status(self, order_id: str) -> str:
        """The order's status: unpaid, created, pending, part, paid, held or abandoned.

        It takes one indexed query, and reads nothing from the service. Inside a transaction of `db.session` it sees the
        transaction's own writes.

        :raises TypeError: the id is not a string.
        :raises ValueError: the id is empty, too long, or holds control characters.
        """
        return self.order_statuses([order_id])[order_id]

    def order_statuses(self, order_ids: Iterable[str]) -> dict[str, str]:
        """The status of many orders by id, with one query for every 500 orders.

        :raises TypeError: `order_ids` is a single value, or an id is not a string.
        :raises ValueError: an id is empty, too long, or holds control characters.
        """
        if isinstance(order_ids, (str, bytes)) or not isinstance(order_ids, Iterable):
            raise TypeError(
                f"order_ids must be several order ids, not one {type(order_ids).__name__};"
                " for a single order call order_status(order_id)"
            )
        ids = [runtime().requests.require_order(order_id) for order_id in order_ids]
        statuses = runtime().order_statuses(ids)
        web_request = runtime().web_request()
        if web_request is not None:
            # Keep them for the pay buttons of this request, so that a list of orders needs only this query.
            web_request.setdefault(STATUSES, {}).update(statuses)
        return statuses

    def explain(self, order_id: str) -> Explanation:
        """Explain an order: every attempt, webhook, read and comparison, the rule that decided, refunds and payouts.

        :raises TypeError: the id is not a string.
        :raises ValueError: the id is empty, too long, or holds control characters.
        """
        return runtime().explain(order_id)

    def books(
        self,
        start: datetime | date | str | None = None,
        end: datetime | date | str | None = None,
        account: str | None = None,
    ) -> list[Line]:
        """The lines of the books, oldest first, as in `flask paycheckout export`.

        :param start: the first date or time that is included, in PAYCHECKOUT_TIME_ZONE if it has no time zone; None for
            the beginning.
        :param end: the first date or time that is not included; None for now.
        :param account: only this merchant account's lines; "" is the account of the settings, None stands for all.
        :raises TypeError: the account's name is not a string.
        :raises ValueError: a text is no date or time, or `start` is not before `end`.
        """
        from flask_paycheckout.books.periods import asked_period, moment_of

        books = for_reading("books()").books
        since, until = (None if at is None else moment_of(at, books.zone_of(None)) for at in (start, end))
        return list(books.lines(asked_period(since, until, _account_or_all(account))))

    def figures(
        self, start: datetime | date | str, end: datetime | date | str, account: str | None = None
    ) -> list[Figures]:
        """The payments and refunds of a period, and the orders begun and not paid, for each currency.

        :param start: the first date or time that is included, in PAYCHECKOUT_TIME_ZONE if it has no time zone.
        :param end: the first date or time that is not included.
        :param account: only this merchant account's figures, in its time zone; "" is the account of the settings, None
            stands for all.
        :raises TypeError: the account's name is not a string.
        :raises ValueError: a text is no date or time, or `start` is not before `end`.
        """
        from flask_paycheckout.books.figures import figures_of
        from flask_paycheckout.books.periods import asked_period, moment_of

        shop = for_reading("figures()")
        zone = shop.books.zone_of(_account_or_all(account))
        period = asked_period(moment_of(start, zone), moment_of(end, zone), account)
        return figures_of(shop.engine(), shop.models, period, zone)

    # Money out

    def pay_out(
        self,
        reference: str,
        amount: Decimal | int | str,
        currency: str,
        to: Destination | None = None,
        *,
        note: str | None = None,
        order_id: str | None = None,
        account: str = "",
        approve: bool | None = None,
        by: str | None = None,
        expires: datetime | timedelta | None = None,
    ) -> PayoutMixin:
        """Add a payout to `db.session`; it exists if the shop commits, and nothing is sent before.

        The call is idempotent: the same reference with the same content returns the stored payout.

        :param reference: the shop's own reference, one for each payment; 255 characters at most.
        :param amount: Decimal, int or str; never a float.
        :param currency: an ISO 4217 code, or a token id of the service, which is paid to a wallet.
        :param to: the destination; by default the receiver says it on the page of `claim_url(reference)`, and a person
            approves it.
        :param note: a text for the recipient; 255 characters at most.
        :param order_id: the order that it belongs to, whose explanation then includes the payout.
        :param account: the merchant account that pays; by default the account of the settings.
        :param approve: whether it waits for a person's approval; None: PAYCHECKOUT_APPROVE_OVER decides.
        :param by: who requests it; 255 characters at most. With PAYCHECKOUT_APPROVE_BY_ANOTHER, another person must
            approve it.
        :param expires: without `to`, the aware time, or the duration from now, after which it is cancelled if its
            receiver has not said where the money goes.
        :raises PayoutConflict: the reference belongs to a payout with another amount, currency, destination or account.
        :raises TypeError: the amount is a float, or another argument has the wrong type.
        :raises ValueError: an argument cannot be used; the message names it.
        """
        if order_id is not None:
            runtime().requests.require_order(order_id)
        return runtime().payout_requests.pay_out(
            reference, amount, currency, to, note, order_id, account, approve, by, expires
        )

    def refund(
        self,
        checkout_id: str,
        amount: Decimal | int | str | None = None,
        *,
        by: str,
        why: str,
        to: Destination | ByHand | None = None,
        send: tuple[Decimal | int | str, str] | None = None,
        reference: str | None = None,
        replaces: str | None = None,
    ) -> PayoutMixin:
        """Pay a customer's money back, in the currency that was paid; added to `db.session` like `pay_out`.

        A refund of a held payment also rejects the payment. Without `to`, send the customer
        `claim_url(refund.reference)`.

        :param amount: Decimal, int or str; by default the rest of the payment.
        :param by: who decides; 255 characters at most.
        :param why: the reason; 1,000 characters at most.
        :param to: the destination; by default the customer says it. `ByHand()` records that the money was given back
            outside of the service: the refund is completed at once.
        :param send: the amount and currency that are paid out instead of the payment's currency, such as
            `("12.40", "usdc-polygon")`; `amount` is then the part of the payment that this pays back.
        :param reference: the shop's own reference, one for each refund, which makes the call idempotent: the same
            reference with the same content returns the stored refund. 255 characters at most; by default a new one.
        :param replaces: the reference of a failed refund of this payment that the new refund replaces.
        :raises UnknownCheckout: no such checkout is stored.
        :raises NothingToRefund: no money of it arrived.
        :raises RefundTooLarge: together with the other refunds, it would exceed the payment.
        :raises PayoutConflict: the reference belongs to a refund with other content, or to another payment or payout.
        :raises TypeError: the amount is a float, or another argument has the wrong type.
        :raises ValueError: an argument cannot be used; the message names it.
        """
        return runtime().refunds.refund(checkout_id, amount, by, why, to, send, reference, replaces)

    def approve_payout(
        self, reference: str, *, by: str, why: str | None = None, seen: int | None = None, over_limit: bool = False
    ) -> PayoutMixin:
        """Release a payout that waits for a person.

        :param seen: the `revision` of the payout that the person saw; any other revision is refused.
        :param over_limit: let it exceed PAYCHECKOUT_DAILY_LIMIT; it still counts towards the limit.
        :raises UnknownPayout: no such payout is stored.
        :raises TransitionRefused: the payout does not wait, its destination changed since the person saw it, or, with
            PAYCHECKOUT_APPROVE_BY_ANOTHER, the person requested it.
        :raises ValueError: `by` or `why` is blank or too long.
        """
        decisions = for_writing(f"approve_payout({reference!r})").payout_decisions
        return decisions.approve(reference, by, why, seen, over_limit=over_limit)

    def cancel_payout(self, reference: str, *, by: str, why: str) -> PayoutMixin:
        """Cancel a payout that was not sent.

        :raises UnknownPayout: no such payout is stored.
        :raises TransitionRefused: the payout is being sent, or was sent.
        :raises ValueError: `by` or `why` is blank or too long.
        """
        return for_writing(f"cancel_payout({reference!r})").payout_decisions.cancel(reference, by, why)

    def retry_payout(self, reference: str, *, by: str, why: str) -> PayoutMixin:
        """Send a failed payout again, after the service has reported the result of its earlier attempts.

        :raises UnknownPayout: no such payout is stored.
        :raises TransitionRefused: the payout has not failed, or its account number was erased.
        :raises RefundTooLarge: the payout is a refund, and other refunds have used up the payment meanwhile.
        :raises ValueError: `by` or `why` is blank or too long.
        """
        return for_writing(f"retry_payout({reference!r})").payout_decisions.retry(reference, by, why)

    def resolve_payout(self, reference: str, sent: bool, *, by: str, why: str) -> PayoutMixin:
        """Record whether a payout was sent, after a person has checked at the service or on the chain.

        :param sent: False sends an unknown payout (again), so check first; a sent or completed payout becomes failed,
            because its money came back. True also completes a payout that the service reports with another amount or
            another spelling of the destination.
        :raises UnknownPayout: no such payout is stored.
        :raises TransitionRefused: the payout's state does not allow this.
        :raises RefundTooLarge: the payout is a refund, and the amount that the service reports is too large.
        :raises ValueError: `by` or `why` is blank or too long.
        """
        return for_writing(f"resolve_payout({reference!r})").payout_decisions.resolve(reference, sent, by, why)

    def send_payouts(self, access_token: str | Callable[[], str] | None = None) -> PayoutReport:
        """Send ready payouts, look up payouts whose answer was lost, and read the status of sent payouts.

        Any number of processes may call this at once. A later call retries a call without an answer.

        :param access_token: the service's access token, or a function that returns it; by default
            PAYCHECKOUT_ACCESS_TOKEN. Without a token, nothing is sent.
        :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
        :raises TypeError: the access token is neither a string nor a function.
        :raises ValueError: the access token contains characters that a header must not contain.
        """
        access_token = concealed(access_token)
        return for_writing("send_payouts()").payout_sender.run(access_token)[0]

    # Data about persons

    def erase(self, order_id: str | None = None, *, reference: str | None = None, by: str, why: str) -> Erased:
        """Erase the personal data of an order or a payout; amounts, times, states and books stay.

        Names, masked destinations, notes and reasons are erased from every table. Recipients that were created with a
        customer's data are deleted at the service. Payouts that have not ended keep their data; call it again later.

        :param reference: the reference of a payout or refund, instead of an order's id.
        :param by: who erases; 255 characters at most.
        :param why: the reason, which the deed keeps; 1,000 characters at most.
        :returns: the result; `kept` names the data that must stay for now, with the reason, and `found` is False if
            nothing is stored about the order or payout.
        :raises TypeError: both an order's id and a payout's reference are given, or neither.
        :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
        :raises ValueError: an argument cannot be used; the message names it.
        """
        return for_writing("erase()").erasing.erase(order_id, reference, by, why)

    def stored_about(self, order_id: str) -> dict[str, Any]:
        """Everything that is stored about an order: rows of checkouts, payouts, bookings, events and deeds.

        For a payment request, its own row is included.

        :returns: lists of dictionaries with JSON values, by table name.
        :raises ValueError: the id is empty, too long, or holds control characters.
        """
        return for_reading(f"stored_about({order_id!r})").erasing.stored_about(order_id)

    # Addresses and pages

    pay_url = staticmethod(order_urls.pay_url)
    status_url = staticmethod(order_urls.status_url)
    refund_url = claim_url = staticmethod(order_urls.claim_url)
    request_url = staticmethod(order_urls.request_url)
    webhook_url = staticmethod(order_urls.webhook_url)
    qr = staticmethod(qr_code)
    require_same_site = staticmethod(require_same_site)

    def owner_view(self, permission: Permission, *, home: str | None = None, logout: str | None = None) -> Blueprint:
        """Pages for the shop's owner: orders with their checkouts and stories, and held payments to decide.

            def owner():
                return session.get("owner")  # the owner's name, for the record; None refuses

            app.register_blueprint(paycheckout.owner_view(owner), url_prefix="/owner/payments")

        :param permission: called in every request. It returns the name of the person, which is recorded with each
            decision, or a `Person` with limited abilities; None refuses with 403. It may redirect to a login instead:
            `abort(redirect(url_for("login")))`.
        :param home: the endpoint or address of the shop's own admin page, to which each page links.
        :param logout: the endpoint or address that logs the person out, for a link.
        :returns: a blueprint, mounted at `/paycheckout/owner` unless `url_prefix` is given. Its pages show no secret,
            token or payment URL, and change only what a person decides.
        :raises ConfigurationError: `permission` is not a function.
        """
        from flask_paycheckout.views.owner import make_owner_view

        return make_owner_view(permission, home, logout)

    # The service, and the tables

    @property
    def session(self) -> Session:
        """The shop's session in the running application context: `db.session`, if the shop has a `db`.

        Receivers, `order_total`, `pay_out` and `refund` use it.

        :raises ConfigurationError: the shop's `Host` does not provide a session for each context.
        """
        return runtime().sessions.of_context()

    @property
    def client(self) -> PaymentsClient:
        """The current app's client of the whole service."""
        return runtime().client

    def client_of(self, name: str) -> PaymentsClient:
        """The client of a merchant account, with the keys that the shop returns for it; "" is the settings' account.

        :raises flask_paycheckout.client.TransportFailed: the shop returned no usable keys for this account.
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
    def Request(self) -> type[RequestMixin]:  # noqa: N802 - a class
        """The mapped class of `paycheckout_request` on the shop's database."""
        return self._models().Request

    def _models(self) -> Models:
        if has_app_context() and KEY in current_app.extensions:
            return runtime().models
        if len(self._metadatas) == 1:
            return models_in(next(iter(self._metadatas)))
        raise ConfigurationError(
            "paycheckout.Checkout, paycheckout.Event and paycheckout.Payout are made by init_app(app, db)."
            " Call it first; with several databases, use them inside an application context."
        )


def _account_or_all(name: str | None) -> str | None:
    return None if name is None else require_account_name(name)


def _is_count(limit: object) -> bool:
    return type(limit) is int and limit >= 0


def _require_keys(app: Flask) -> None:
    if not app.secret_key:
        raise ConfigurationError(
            "SECRET_KEY is not set; the links to pay are sealed with it."
            " Make one with: python -c 'import secrets; print(secrets.token_hex(32))'."
        )
    fallbacks = app.config.get("SECRET_KEY_FALLBACKS") or []
    if isinstance(fallbacks, (str, bytes)):
        raise ConfigurationError(
            "SECRET_KEY_FALLBACKS is one string, so each of its letters would be a key, and sessions easily forged."
            " Write a list: ['the key before']."
        )
    for key in filter(None, [app.secret_key, *fallbacks]):
        if not isinstance(key, (str, bytes)):
            raise ConfigurationError(
                f"SECRET_KEY, or one of SECRET_KEY_FALLBACKS, must be a string, not {type(key).__name__}. {IN_QUOTES}"
            )


def _queue(checkout_id: str) -> None:
    """Queue a deferred webhook in the shop's Celery app; without one, reconcile reads it."""
    if "celery" in current_app.extensions:
        from flask_paycheckout.tasks import queue_settle

        queue_settle(current_app.extensions["celery"], checkout_id)

"""One shop with its payments service, customer and clock, for a process that may die."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from flask import Flask
from sqlalchemy import Column, String, Table, event, text
from werkzeug.test import TestResponse

from flask_paycheckout import (
    Pay,
    PayCheckout,
    ToBank,
    ToRecipient,
    ToWallet,
    TransitionRefused,
    checkout_created,
    claim_wanted,
    order_abandoned,
    order_paid,
    order_part_paid,
    order_pending,
    payment_held,
    payment_reminder,
    payment_resolved,
    payout_cancelled,
    payout_completed,
    payout_failed,
    payout_sent,
    payout_unknown,
    request_paid,
    request_reminder,
)
from tests.crash.record import Record, Service
from tests.hosts import HOSTS, arguments_of, database_on
from tests.payouts.shop import ADA, TOKEN, committing
from tests.scripted import SAME_SITE, Clock, Shop, make_app

SOLD_FOR_OTHERS, IN_PARTS = "m-1", "p-1"
REQUEST = "r-1"
REQUESTED = f"request:{REQUEST}"
"""The reference of the payment request, and its order id."""

REMINDED_AFTER = timedelta(days=7)
ORDERS = ("o-1", "o-2", "o-3", "o-4", SOLD_FOR_OTHERS, IN_PARTS)
OUTSIDE = "outside"
"""The receiver that notifies another system. Two others, "stock" and "books", write to the shop's database.

For a payment and a completed payout, "stock" runs in the transaction that records it.
"""

_SIGNALS = (
    checkout_created,
    order_pending,
    order_part_paid,
    order_paid,
    order_abandoned,
    payment_held,
    payment_reminder,
    payment_resolved,
    claim_wanted,
    payout_cancelled,
    payout_sent,
    payout_completed,
    payout_failed,
    payout_unknown,
    request_paid,
    request_reminder,
)
_EARNED = {"stock": "rec_maker", "books": "0x" + "a" * 40}
"""The payee of a part of an order that is sold for others, by the receiver that makes the payout."""


class World(Shop):
    """A shop whose orders cost 12.50 USD each, priced from its own database.

    Its table `fulfilment` has no unique column, so that repeated effects show. Its table `owed` has a row for each
    payout that it requests, written in the same transaction; no two have the same payee.

    :param address: the address of the database, as in a shop's settings.
    :param record: the file that outlives this process.
    :param host: one of `HOSTS`, on which the shop is built.
    """

    service: Service

    def __init__(self, address: str, record: Path, host: str = HOSTS[0]) -> None:
        self.record = Record(record)
        clock = Clock()
        service = Service(self.record, clock)
        app = make_app(
            SQLALCHEMY_DATABASE_URI=address,
            PAYCHECKOUT_RECONCILE_READERS=1,
            PAYCHECKOUT_ACCESS_TOKEN="crash-token",
            PAYCHECKOUT_REMIND_AFTER=[REMINDED_AFTER],
        )
        super().__init__(app, database_on(host, app), PayCheckout(), service, clock)
        self.receivers_fail = False
        self._add_tables()
        transport = httpx.MockTransport(service)
        self.paycheckout.init_app(app, **arguments_of(self.db), transport=transport, clock=lambda: clock())
        self.paycheckout.order_total(self._price)
        for signal in _SIGNALS:
            for who in ("stock", OUTSIDE, "books"):
                signal.connect(self._receiver(who, signal.name), sender=app, weak=False)

    def opens(self) -> None:
        if self.engine.dialect.name == "sqlite":
            # Only processes die here, never the machine, so commits need not wait for the disk.
            event.listen(self.engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous = OFF"))
        with committing(self):
            self.db.create_all()
            for order_id in ORDERS:
                self._execute("INSERT INTO shop_order VALUES (:order_id, '12.50')", order_id=order_id)

    # Acts of people and machines

    def presses_pay(self, order_id: str = "o-1") -> TestResponse:
        """Press the button as the customer, and follow a redirect to the payment page."""
        url = self.calls.pay_url(order_id)
        answer = self.browser.post(url, headers=SAME_SITE)
        if answer.status_code == 303 and not answer.location.startswith("/"):
            self.record.add("location", url=answer.location)
        return answer

    def pays(self, checkout_id: str, amount: str = "12.50") -> None:
        self.deposit(checkout_id, "completed", amount)

    def deposit(self, checkout_id: str, status: str, amount: str = "12.50") -> None:
        self.record.add("deposit", id=checkout_id, status=status, amount=amount)

    def webhook(self, checkout_id: str) -> TestResponse:
        answer = self.browser.post("/paycheckout/webhook", json={"orderId": checkout_id})
        self.record.add("hinted", id=checkout_id, status=answer.status_code)
        return answer

    def looks_at_status(self, order_id: str = "o-1") -> TestResponse:
        url = self.calls.status_url(order_id)
        return self.browser.get(url)

    def costs_now(self, total: str, order_id: str) -> None:
        """Change the price of an order."""
        with committing(self):
            self._execute(
                "UPDATE shop_order SET total = :total WHERE order_id = :order_id", total=total, order_id=order_id
            )

    def gives_excess_back(self, checkout_id: str) -> None:
        """Accept a held payment as a person, and refund the excess, once."""
        with self.app.app_context(), suppress(TransitionRefused):
            self.paycheckout.resolve(checkout_id, True, "Ada", "a slip", refund_excess=True)

    def asks(self, expires: timedelta | None = None) -> None:
        """Send the form of a payment request as the owner, perhaps again."""
        with self.app.app_context():
            end = None if expires is None else self.clock() + expires
            self.runtime.requests.make(Pay("12.50", "USD"), "Logo", None, end, "", "Ada", REQUEST)

    def withdraws(self) -> None:
        with self.app.app_context(), suppress(TransitionRefused):
            self.paycheckout.withdraw_request(REQUEST, by="Ada", why="paid in cash")

    def pays_out(self, *payees: str) -> None:
        """Owe each of these payees 8.00 in the payee's currency, and commit."""
        with committing(self):
            for payee in payees:
                self._owes(payee)

    def refunds(self, checkout_id: str, payee: str) -> None:
        """Refund 8.00 USD, or 8.00 of the token to a wallet."""
        to, send = (ToWallet(payee), ("8.00", TOKEN)) if payee.startswith("0x") else (ToRecipient(payee), None)
        with committing(self) as paycheckout:
            self._notes_debt(payee, send[1] if send else "USD")
            paycheckout.refund(checkout_id, "8.00", **ADA, to=to, send=send)

    # The shop's own code

    def _owes(self, payee: str) -> None:
        currency = TOKEN if payee.startswith("0x") else "USD"
        self._notes_debt(payee, currency)
        to: Any = ToWallet(payee) if currency == TOKEN else ToRecipient(payee)
        if payee.isdigit():
            to = ToBank("Bo", payee, "b1", "Bank")
        self.paycheckout.pay_out(f"for-{payee}", "8.00", currency, to)

    def _notes_debt(self, payee: str, currency: str) -> None:
        owed = "INSERT INTO owed VALUES (:payee, '8.00', :currency)"
        self._execute(owed, payee=payee, currency=currency)

    def _add_tables(self) -> None:
        text_columns = {
            "shop_order": {"order_id": 20, "total": 20},
            "fulfilment": {"receiver": 20, "name": 40, "order_id": 20, "event_id": 40},
            "owed": {"payee": 60, "amount": 20, "currency": 20},
        }
        for table, columns in text_columns.items():
            keys = [
                Column(name, String(size), primary_key=table == "shop_order" and name == "order_id")
                for name, size in columns.items()
            ]
            Table(table, self.db.metadata, *keys)

    def _price(self, order_id: str) -> Pay | None:
        lock = " FOR UPDATE" if self.db.engine.dialect.name == "postgresql" else ""
        statement = f"SELECT total FROM shop_order WHERE order_id = :order_id{lock}"  # noqa: S608 - no words of others
        total = self._execute(statement, order_id=order_id).scalar()
        return None if total is None else Pay(total, "USD", parts=order_id == IN_PARTS)

    def _receiver(self, who: str, name: str) -> Callable[..., None]:
        is_atomic = who == "stock" and name in ("order_paid", "request_paid", "payout_completed")

        def receive(app: Flask, *, event_id: str, order_id: str | None = None, **facts: Any) -> None:
            if "request" in facts:
                order_id = facts["request"].order_id
            if self.receivers_fail and not is_atomic:
                raise RuntimeError("nobody answers")
            row = {"receiver": who, "name": name, "order_id": order_id or "", "event_id": event_id}
            if who == OUTSIDE:
                self.record.add("told", **row)
                return
            self._execute("INSERT INTO fulfilment VALUES (:receiver, :name, :order_id, :event_id)", **row)
            if name == "order_paid" and order_id == SOLD_FOR_OTHERS:
                self._owes(_EARNED[who])

        receive.__qualname__ = who
        return self.paycheckout.atomic(receive) if is_atomic else receive

    def _execute(self, statement: str, **values: str) -> Any:
        return self.db.session.execute(text(statement), values)

"""A shop that pays out at the sandbox, with helpers for its tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx

from flask_paycheckout import PayoutReport, ToBank, ToRecipient, ToWallet
from flask_paycheckout.client import FiatItem
from flask_paycheckout.payouts.destinations import Destination
from flask_paycheckout.testing import RequestedPayout, Sandbox
from tests.payouts.shop import payout, pays_out, sends, stands, statuses
from tests.scripted import Shop

# A recipient of the sandbox's start state, with an account in USD.
ADA = ToRecipient("5a6d00000000000000000101")
NUMBER = "40001234-777 31"
BANK = ToBank("Bo Baker", NUMBER, "us_first_sandbox", "First Sandbox Bank", email="bo@example.com")
WALLET = ToWallet("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
FIAT, CRYPTO = "POST /v2/disbursement/fiat", "POST /v1/disbursement/crypto"
LIST, READ = "GET /v1/disbursement/fiat", "GET /v1/disbursement/fiat/{id}"


@dataclass
class Payer:
    """A shop with its sandbox."""

    shop: Shop
    sandbox: Sandbox

    def owes(self, reference: str = "p-1", amount: str = "80.00", to: Destination = ADA, **more: Any) -> str:
        """Commit a payout like `pays_out`, by default of the settings' account; returns its reference."""
        pays_out(self.shop, reference, amount, **{"to": to, "account": ""} | more)
        return reference

    def is_paid(self, amount: str | None = None) -> str:
        """Let an order be paid, or held if the amount is not its total; returns the checkout's id."""
        checkout_id = self.shop.starts()
        self.sandbox.pay(checkout_id, amount)
        self.shop.settles(checkout_id)
        return checkout_id

    def sends(self, access_token: Any = None, *, minutes: float = 0) -> PayoutReport:
        """Advance the clock by these minutes, and run a round of `send_payouts`."""
        if minutes:
            self.sandbox.advance(minutes=minutes)
        return sends(self.shop, access_token)

    def ends(self, reference: str = "p-1", status: Any = "completed", *, minutes: float = 2) -> None:
        """Let the bank complete or fail a payout, and a later round read that."""
        self.sandbox.finish(self.payout(reference), status)
        self.sends(minutes=minutes)

    def payout(self, reference: str = "p-1") -> Any:
        return payout(self.shop, reference)

    def status(self, reference: str = "p-1") -> str:
        return str(self.payout(reference).status)

    @property
    def statuses(self) -> dict[str, int]:
        return statuses(self.shop)

    @property
    def at_service(self) -> list[RequestedPayout]:
        return self.sandbox.payouts

    def stands(self, reference: str = "p-1", **columns: Any) -> None:
        """Change columns of a payout behind the extension's back."""
        stands(self.shop, reference, **columns)

    def decides(self, decision: str, *arguments: Any, reference: str = "p-1") -> None:
        with self.shop.app.app_context():
            getattr(self.shop.paycheckout, decision)(reference, *arguments, by="Ada", why="looked")

    @property
    def booked(self) -> list[tuple[str, str]]:
        """The kind and the gross of each line of the books, oldest first."""
        table = self.shop.runtime.models.bookings
        with self.shop.runtime.engine().connect() as connection:
            return [(row.kind, row.gross) for row in connection.execute(table.select().order_by(table.c.id))]

    # The service

    def meanwhile(self, operation: str, act: Callable[[], object]) -> None:
        """Call `act` before each call of an operation reaches the service."""

        def before(called: str) -> None:
            if called == operation:
                act()

        self._before_each_call(before)

    def counts_calls(self) -> Counter[str]:
        """Count the calls of each operation from now on."""
        calls: Counter[str] = Counter()
        self._before_each_call(lambda called: calls.update([called]))
        return calls

    def disconnect(self) -> None:
        def refuse(called: str) -> None:
            raise httpx.ConnectError("connection refused")

        self._before_each_call(refuse)

    def carried_out_unseen(self, reference: str, *, doubtful: bool = False, amount: str = "") -> None:
        """Let the service have a payout with this reference whose answer was not stored."""
        owed = self.payout(reference)
        names = {"recipient_id": ADA.recipient_id, "reference": owed.service_reference}
        item = FiatItem(amount=amount or owed.amount, **names)
        self.shop.runtime.client.fiat_disbursements.create("USD", [item])
        if doubtful:
            now = self.sandbox.now
            self.stands(reference, status="sending", taken_at=now, due_at=now + timedelta(seconds=60))

    def _before_each_call(self, act: Callable[[str], object]) -> None:
        """Call `act` with the operation before each call reaches the service."""
        http = self.shop.runtime.client._caller.waiting.http
        assert isinstance(http, httpx.Client)
        http.event_hooks["request"].append(lambda request: act(f"{request.method} {request.url.path}"))

"""A shop with its sandbox, and differences between the two that are planted on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from flask_paycheckout import Pay
from flask_paycheckout.checkouts.payments import PAYMENT_COLUMNS
from flask_paycheckout.client import FiatItem
from flask_paycheckout.sandbox.deposits.tables import Deposit
from flask_paycheckout.sandbox.disbursements.tables import BankTransfer, Disbursement
from flask_paycheckout.sandbox.world.database import transaction
from tests.payouts.paying import ADA, BANK, WALLET, Payer

Expected = dict[tuple[str, str], str]
"""The verdict by the kind and id of each deposit and disbursement."""

DIFFERS, LOST, STRANGE = "differs", "missing at the service", "missing here"


class Books:
    """A shop with its sandbox, and the differences that somebody made on both sides."""

    def __init__(self, payer: Payer) -> None:
        self.payer = payer
        self.shop, self.sandbox = payer.shop, payer.sandbox
        self.planted: Expected = {}

    # The healthy shop

    def starts(self, kind: str, count: int) -> list[str]:
        orders = [f"{kind}-{number}" for number in range(count)]
        self.shop.totals |= {order: Pay("12.50", "USD") for order in orders}
        return [self.shop.starts(order) for order in orders]

    def reconciles(self) -> None:
        with self.shop.app.app_context():
            self.sandbox.reconcile(self.shop.paycheckout)

    def pays_out(self, kind: str, count: int) -> list[str]:
        return [self.payer.owes(f"{kind}-{number}", f"{10 + number}.50") for number in range(count)]

    def refunds(self, checkout_ids: Sequence[str]) -> list[str]:
        with self.shop.app.app_context():
            made = [
                self.shop.paycheckout.refund(one, "2.50", by="Ada", why="broken", to=ADA).reference
                for one in checkout_ids
            ]
            self.shop.db.session.commit()
        return made

    # The plants, each on the next ones of a list

    def row(self, checkouts: Iterator[str], count: int, **values: Any) -> None:
        table = self.shop.runtime.models.checkouts
        for checkout_id in self._taken(checkouts, count, "deposit", DIFFERS):
            self.here(table.update().where(table.c.checkout_id == checkout_id).values(values))

    def deposit(self, checkouts: Iterator[str], count: int, **values: Any) -> None:
        for checkout_id in self._taken(checkouts, count, "deposit", DIFFERS):
            self._there(sa.update(Deposit).where(Deposit.id == checkout_id).values(values))

    def deposit_gone(self, checkouts: Iterator[str], count: int) -> None:
        for checkout_id in self._taken(checkouts, count, "deposit", LOST):
            self._there(sa.delete(Deposit).where(Deposit.id == checkout_id))

    def paid_unseen(self, checkouts: Iterator[str], count: int) -> None:
        for checkout_id in self._taken(checkouts, count, "deposit", DIFFERS):
            self.sandbox.pay(checkout_id)

    def payout_row(self, payouts: Iterator[str], count: int, **values: Any) -> None:
        for disbursement_id in self._disbursements(payouts, count, DIFFERS):
            table = self.shop.runtime.models.payouts
            self.here(table.update().where(table.c.disbursement_id == disbursement_id).values(values))

    def payout_row_gone(self, payouts: Iterator[str], count: int) -> None:
        for disbursement_id in self._disbursements(payouts, count, STRANGE):
            table = self.shop.runtime.models.payouts
            self.here(table.delete().where(table.c.disbursement_id == disbursement_id))

    def disbursement(self, payouts: Iterator[str], count: int, **values: Any) -> None:
        for disbursement_id in self._disbursements(payouts, count, DIFFERS):
            self.stands_there(disbursement_id, **values)

    def renamed(self, payouts: Iterator[str], count: int) -> None:
        for disbursement_id in self._disbursements(payouts, count, DIFFERS):
            self.stands_there(disbursement_id, reference=f"other-{disbursement_id}")

    def elsewhere(self, payouts: Iterator[str], count: int, **values: Any) -> None:
        for disbursement_id in self._disbursements(payouts, count, DIFFERS):
            self._there(sa.update(BankTransfer).where(BankTransfer.disbursement_id == disbursement_id).values(values))

    def disbursement_gone(self, payouts: Iterator[str], count: int) -> None:
        for disbursement_id in self._disbursements(payouts, count, LOST):
            for of, column in (
                (BankTransfer, BankTransfer.disbursement_id),
                (Disbursement, Disbursement.id),
            ):
                self._there(sa.delete(of).where(column == disbursement_id))

    def finished_unseen(self, payouts: Iterator[str], count: int, status: Any) -> None:
        for disbursement_id in self._disbursements(payouts, count, DIFFERS):
            self.sandbox.control("POST", f"disbursements/{disbursement_id}/finish", status=status)

    def strangers(self, count: int) -> None:
        items = [
            FiatItem(amount="1", recipient_id=ADA.recipient_id, reference=f"by-hand-{number}" if number else None)
            for number in range(count)
        ]
        made = self.shop.runtime.client.fiat_disbursements.create("USD", items)
        self.planted |= {("disbursement", one.disbursement_id): STRANGE for one in made.disburse_data}

    def stands_there(self, disbursement_id: str, **values: Any) -> None:
        self._there(sa.update(Disbursement).where(Disbursement.id == disbursement_id).values(values))

    def _taken(self, things: Iterator[str], count: int, kind: str, verdict: str) -> list[str]:
        taken = [next(things) for _ in range(count)]
        self.planted |= {(kind, one): verdict for one in taken}
        return taken

    def _disbursements(self, payouts: Iterator[str], count: int, verdict: str) -> list[str]:
        found = iter([self.payer.payout(next(payouts)).disbursement_id for _ in range(count)])
        return self._taken(found, count, "disbursement", verdict)

    def here(self, statement: Any) -> None:
        with self.shop.runtime.engine().begin() as connection:
            # PostgreSQL's driver does not count what an INSERT takes from a SELECT.
            assert connection.execute(statement).rowcount in (1, -1)

    def _there(self, statement: Any) -> None:
        with self.sandbox.app.app_context(), transaction() as session:
            result: Any = session.execute(statement)
            assert result.rowcount > 0


def healthy(books: Books) -> dict[str, list[str]]:
    """Some hundreds of orders, payouts and refunds about which both sides agree; their ids and references by kind."""
    sandbox, payer = books.sandbox, books.payer
    kinds = {"left": books.starts("left", 12)}
    for minutes in (17, 1):
        sandbox.advance(minutes=minutes)
        books.reconciles()
    kinds |= {kind: books.starts(kind, count) for kind, count in COUNTS.items()}
    for checkout_id in (*kinds["paid"], *kinds["refunded"], *kinds["stalled"]):
        sandbox.pick(checkout_id)
    for checkout_id in (*kinds["paid"], *kinds["refunded"]):
        sandbox.pay(checkout_id)
    for checkout_id in kinds["held"]:
        sandbox.pay(checkout_id, "1.00")
    for checkout_id in kinds["pending"]:
        sandbox.pick(checkout_id)
    books.reconciles()
    for checkout_id in kinds["held"][:5]:
        books.shop.resolves(checkout_id, accept=False)
    for checkout_id in kinds["held"][5:8]:
        books.shop.resolves(checkout_id, accept=True)
    kinds |= {kind: books.pays_out(kind, count) for kind, count in PAYOUTS.items()}
    kinds["bank"] = [payer.owes(f"bank-{number}", to=BANK) for number in range(6)]
    for number in range(4):
        payer.owes(f"token-{number}", "5", to=WALLET)
    payer.owes("waits", approve=True)
    kinds["refund"] = books.refunds(kinds["refunded"])
    payer.sends()
    for reference in (*kinds["completed"], *kinds["bank"][:3]):
        sandbox.finish(payer.payout(reference), "completed")
    for reference in (*kinds["failed"], *kinds["retried"]):
        sandbox.finish(payer.payout(reference), "failed")
    sandbox.advance(minutes=2)
    payer.sends()
    kinds["first tries"] = [str(payer.payout(reference).disbursement_id) for reference in kinds["retried"]]
    for reference in kinds["retried"]:
        payer.decides("retry_payout", reference=reference)
    payer.sends()
    books.reconciles()
    return kinds


COUNTS = {"paid": 100, "refunded": 12, "held": 12, "pending": 16, "stalled": 14, "created": 10}
PAYOUTS = {"sent": 62, "completed": 20, "failed": 4, "retried": 5}


def plant(books: Books, kinds: dict[str, list[str]]) -> None:
    """Plant 200 differences."""
    things: dict[str, Iterator[str]] = {kind: iter(ids) for kind, ids in kinds.items()}
    paid, sent, completed = things["paid"], things["sent"], things["completed"]
    nothing = dict.fromkeys(PAYMENT_COLUMNS)
    books.deposit(paid, 8, status="failed")
    books.deposit_gone(paid, 8)
    books.deposit(paid, 8, input_amount=Decimal("12.51"))
    books.deposit(paid, 8, output_amount=Decimal("1"))
    books.deposit(paid, 8, input_currency="EUR")
    books.deposit(paid, 8, fee_amount=Decimal("0.61"))
    books.deposit(paid, 6, method="us_qr")
    books.row(paid, 8, status="pending", **nothing)
    books.row(paid, 8, payment_paid_amount="12.49")
    books.row(paid, 6, payment_fee_currency="EUR")
    books.row(paid, 6, payment_completed_at=None)
    books.row(paid, 6, total_amount="12.51")
    books.row(things["stalled"], 10, status="abandoned", next_read_at=None)
    for checkout_id in kinds["stalled"][:10]:
        books.sandbox.pay(checkout_id)
    books.paid_unseen(things["pending"], 6)
    books.deposit_gone(things["pending"], 4)
    books.paid_unseen(things["created"], 5)
    books.finished_unseen(sent, 8, "failed")
    books.finished_unseen(sent, 8, "completed")
    books.disbursement(sent, 6, amount=Decimal("1.00"))
    books.elsewhere(sent, 4, recipient_id="5a6d00000000000000000199")
    books.elsewhere(things["bank"], 1, account_number="999999999")
    books.disbursement_gone(sent, 6)
    books.payout_row_gone(sent, 8)
    books.payout_row(sent, 6, amount="1.00")
    books.payout_row(sent, 4, status="cancelled")
    books.payout_row(sent, 4, status="unknown")
    books.disbursement(sent, 4, currency="EUR")
    books.disbursement(completed, 6, status="failed")
    books.payout_row(completed, 4, status="failed")
    books.renamed(completed, 4)
    books.disbursement_gone(things["refund"], 6)
    books.strangers(5)
    for disbursement_id in kinds["first tries"][:3]:
        books.stands_there(disbursement_id, status="completed")
        books.planted["disbursement", disbursement_id] = DIFFERS

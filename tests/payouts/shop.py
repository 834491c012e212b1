"""Helpers with which tests of payouts use a shop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask_paycheckout import PayoutReport, ToRecipient, ToWallet, TransitionRefused
from tests.payouts.books import Books
from tests.scripted import Shop

ADA: dict[str, Any] = {"by": "Ada", "why": "one jar broke"}
MAKER = ToRecipient("rec_1")
WALLET = ToWallet("0x" + "a" * 40)
TOKEN = "usdc-polygon"
#: States that a payout does not leave by itself.
ENDS = ("completed", "failed", "cancelled", "claimable", "waiting")
MOST_ROUNDS = 40


@contextmanager
def committing(shop: Shop) -> Iterator[Any]:
    """The shop's own transaction, committed at the end."""
    with shop.app.app_context():
        yield shop.paycheckout
        shop.db.session.commit()


def pays_out(shop: Shop, reference: str = "maker-1", amount: Any = "80.00", **keywords: Any) -> Any:
    """Commit a payout, by default in its destination's currency; returns the stored payout."""
    currency = TOKEN if isinstance(keywords.get("to"), ToWallet) else "USD"
    arguments = {"currency": currency, "to": MAKER, "account": shop.account_of(reference)} | keywords
    with committing(shop) as paycheckout:
        paycheckout.pay_out(reference, amount, **arguments)
    return payout(shop, reference)


def refunds(shop: Shop, checkout_id: str, amount: Any = None, **keywords: Any) -> Any:
    """Refund a checkout and commit; returns the stored payout."""
    with committing(shop) as paycheckout:
        reference = paycheckout.refund(checkout_id, amount, **ADA | keywords).reference
    return payout(shop, reference)


def payout(shop: Shop, reference: str = "maker-1") -> Any:
    """The stored payout."""
    row = shop.runtime.payouts.find(reference)
    assert row is not None
    return row


def payouts(shop: Shop) -> list[Any]:
    """Every stored payout, oldest first."""
    table = shop.runtime.models.payouts
    with shop.app.app_context(), shop.db.engine.connect() as connection:
        rows = connection.execute(table.select().order_by(table.c.id)).mappings().all()
    return [shop.runtime.payouts.made(row) for row in rows]


def statuses(shop: Shop) -> dict[str, int]:
    """The number of payouts in each state."""
    return dict(Counter(payout.status for payout in payouts(shop)))


def stands(shop: Shop, reference: str, **columns: Any) -> None:
    """Put a payout into a state that only the sender reaches."""
    table = shop.runtime.models.payouts
    if "status" in columns:
        columns = {"state": columns["status"]} | columns
    shop.executes(table.update().where(table.c.reference == reference).values(columns))


def sends(shop: Shop, access_token: Any = None, **passed: float) -> PayoutReport:
    """Advance the clock, and run a round of `send_payouts`; returns its report."""
    shop.waits(**passed)
    return shop.calls.send_payouts(access_token)


def decides(shop: Shop, decision: str, reference: str, *arguments: Any, **keywords: Any) -> bool:
    """Make a person's decision, such as "approve"; returns whether it was accepted."""
    with shop.app.app_context():
        try:
            getattr(shop.paycheckout, f"{decision}_payout")(reference, *arguments, **ADA | keywords)
        except TransitionRefused:
            return False
    return True


def comes_to_rest(shop: Shop, books: Books) -> None:
    """Advance time until nothing waits: the bank completes its transfers, and a person decides unknown payouts."""
    for _ in range(MOST_ROUNDS):
        waiting = [
            payout
            for payout in payouts(shop)
            if payout.status not in ENDS and not (payout.is_token and payout.status == "sent")
        ]
        if not waiting:
            return
        books.finish()
        for row in waiting:
            if row.status == "unknown":
                decides(shop, "resolve", row.reference, books.has(row.service_reference))
        sends(shop)
        shop.waits(minutes=6)
    raise AssertionError(f"these still wait: {[(row.reference, row.status, row.problem) for row in waiting]}")

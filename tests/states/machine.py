"""A shop, its customers, a service that fails, and time, in any order that Hypothesis draws.

After every step, invariants are checked on the shop's checkouts and the service's deposits in their databases.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from flask_paycheckout import Pay, Receive
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.errors import TransitionRefused
from tests.states.model import LEGAL
from tests.states.world import ORDERS, Row, World

READ, CREATE = "GET /v1/deposit/{reference}", "POST /v1/checkout"
# A checkout is read for seven days; the promise does not cover money that arrives later.
MOST_MINUTES = 6 * 24 * 60

orders = st.sampled_from(ORDERS)
totals = st.sampled_from(
    [Pay("12.50", "USD"), Pay("12.51", "USD"), Pay("99.00", "USD"), Receive("12.50", "USD", pay_in="USD"), None]
)
choice = st.integers(0, 30)
minutes = st.sampled_from([0.1, 0.2, 1, 5, 15, 16.1, 60, 25 * 60])
faults = st.one_of(
    st.tuples(st.sampled_from([READ, CREATE]), st.sampled_from(["error", "drop", "lose_response", "garbage"])),
    st.tuples(st.just("webhook"), st.sampled_from(["drop", "duplicate", "delay", "reorder", "before_response"])),
)


class Machine(RuleBasedStateMachine):
    """One run. The test gives `world`, which is reset at the beginning.

    Every rule may run at any time, because the run begins with a payment page: a precondition on the service's answers
    would make Hypothesis draw differently when the same run is repeated on a slower machine.
    """

    world: World

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.stack.enter_context(self.world.listening())
        self.locations: dict[str, str] = {}
        self.judged = 0
        self.paid_orders: set[str] = set()
        self.decided: set[str] = set()
        self.minutes = 0.0

    @initialize(
        after_expiry=st.sampled_from(["pending", "expired", "failed"]),
        payload=st.sampled_from(["minimal", "full"]),
        late=st.sampled_from(["completes", "refused"]),
        retries=st.sampled_from(["on", "off"]),
        status=st.sampled_from(["mirror", "always_200"]),
        hears=st.booleans(),
    )
    def begin(self, after_expiry: str, payload: str, late: str, retries: str, status: str, hears: bool) -> None:
        self.world.begins(
            deposit_after_expiry=after_expiry,
            webhook_payload=payload,
            late_payment=late,
            webhook_retries=retries,
            http_status=status,
            # This service never takes back a completed deposit.
            forced_update_of_completed="refused",
        )
        if not hears:
            self.stop_webhooks()
        # Most events need a payment page.
        self.press_pay("o-1")
        assert self.locations

    # The shop

    @rule(order_id=orders)
    def press_pay(self, order_id: str) -> None:
        there = self.world.presses_pay(order_id)
        if there is not None:
            self.locations[there.path.rsplit("/", 1)[1]] = str(there)

    @rule(order_id=orders, total=totals, presses=st.booleans())
    def change_total(self, order_id: str, total: Pay | Receive | None, presses: bool) -> None:
        self.world.totals[order_id] = total
        if presses:
            self.press_pay(order_id)

    @rule()
    def reconcile(self) -> None:
        self.world.reconciles()

    @rule(order_id=orders)
    def open_status(self, order_id: str) -> None:
        self.world.opens_status(order_id)

    @rule(number=choice)
    def settle(self, number: int) -> None:
        with suppress(PaymentsError):
            self.world.settles(self.one_of_all(number))

    @rule(number=choice, accept=st.booleans())
    def resolve(self, number: int, accept: bool) -> None:
        held_ids = [name for name, row in self.world.stored().items() if row["status"] == "held"]
        checkout_id = held_ids[number % len(held_ids)] if held_ids else self.one_of_all(number)
        try:
            self.world.resolves(checkout_id, accept)
        except TransitionRefused:
            assert not held_ids
            return
        self.decided.add(checkout_id)

    @rule(times=st.integers(1, 2))
    def break_receiver(self, times: int) -> None:
        self.world.receiver_failures = times

    # The customers

    @rule(number=choice)
    def pick(self, number: int) -> None:
        self.world.control(f"checkouts/{self.one_of_all(number)}/pick")

    @rule(number=choice, amount=st.sampled_from([None, None, None, 0.01, 12.49, 12.51]))
    def pay(self, number: int, amount: float | None) -> None:
        """Pay the exact amount, or another amount, on any payment page of the run."""
        self.world.control(f"checkouts/{self.one_of_all(number)}/pay", amount=amount)

    @rule()
    def pay_every_page(self) -> None:
        """Pay every open page, as a customer who fears that the first payment was lost."""
        for checkout_id in self.locations:
            self.world.control(f"checkouts/{checkout_id}/pay")

    @rule(number=choice, pays=st.booleans())
    def dawdle(self, number: int, pays: bool) -> None:
        """Pick a method, wait until the shop gives up, and then perhaps pay."""
        self.pick(number)
        for minutes_later in (1, 25 * 60):
            self.advance(minutes_later)
            self.reconcile()
        if pays:
            self.world.control(f"checkouts/{self.one_of_all(number)}/pay")

    # The service, strangers, and time

    @rule(number=choice, status=st.sampled_from(["failed", "expired", "processing", "pending"]))
    def move_deposit(self, number: int, status: str) -> None:
        with self.world.app.app_context(), suppress(PaymentsError):
            self.world.paycheckout.client.deposits.sandbox_update(self.one_of_all(number), status)

    @rule(fault=faults, times=st.integers(1, 6), code=st.sampled_from([500, 503, 404, 401, 429]))
    def arm(self, fault: tuple[str, str], times: int, code: int) -> None:
        operation, kind = fault
        details: dict[str, Any] = {"statusCode": code} if kind == "error" else {}
        if (operation, kind) == ("webhook", "delay"):
            details["seconds"] = 600
        self.world.sandbox.fault(operation, kind, times, **details)

    @rule()
    def repair(self) -> None:
        self.world.sandbox.control("DELETE", "faults")

    @rule(number=choice, known=st.booleans())
    def post_stray_webhook(self, number: int, known: bool) -> None:
        checkout_id = self.one_of_all(number) if known else f"unknown-{number}"
        assert self.world.hears_of(checkout_id) == 200

    @rule(by=minutes)
    def advance(self, by: float) -> None:
        if self.minutes + by < MOST_MINUTES:
            self.minutes += by
            self.world.sandbox.advance(minutes=by)

    def stop_webhooks(self) -> None:
        self.world.sandbox.control("PUT", "webhook-endpoint", url=None)

    def one_of_all(self, number: int) -> str:
        return list(self.locations)[number % len(self.locations)]

    # Invariants after every step

    @invariant()
    def all_is_well(self) -> None:
        self.moves_are_legal_and_money_is_right()
        self.an_order_is_paid_once()
        self.every_page_handed_out_is_known()

    def moves_are_legal_and_money_is_right(self) -> None:
        moves = self.world.moves()
        if len(moves) == self.judged:
            return
        stored, deposits = self.world.stored(), self.world.deposits()
        for checkout_id, before, after in moves[self.judged :]:
            assert (before, after) in LEGAL, (checkout_id, before, after)
            if after in ("paid", "held") and before != "held":
                self.judge(stored[checkout_id], deposits[checkout_id], after)
            elif before == "held":
                assert checkout_id in self.decided
            if after == "paid":
                self.paid_orders.add(stored[checkout_id]["order_id"])
        self.judged = len(moves)

    def judge(self, checkout: Row, deposit: Row, verdict: str) -> None:
        """Check the state for a completed deposit: paid if everything agrees, else held for the first reason."""
        assert deposit["status"] == "completed"
        side = {"pay": "input", "receive": "output"}[checkout["total_kind"]]
        total = self.world.totals[checkout["order_id"]]
        requested = Decimal(checkout["total_amount"]), checkout["total_currency"]
        if (Decimal(deposit[f"{side}_amount"]), deposit[f"{side}_currency"]) != requested:
            expected: tuple[str, str | None] = ("held", "amount_mismatch")
        elif checkout["order_id"] in self.paid_orders:
            expected = ("held", "duplicate")
        elif total is None:
            expected = ("held", "order_not_payable")
        elif (isinstance(total, Pay), total.amount, total.currency) != (side == "input", *requested):
            expected = ("held", "order_changed")
        else:
            expected = ("paid", None)
        if checkout["checkout_id"] not in self.decided:
            assert checkout["reason"] == expected[1], checkout
        assert verdict == expected[0], checkout

    def an_order_is_paid_once(self) -> None:
        events = self.world.paid_events()
        assert len(dict(events)) == len(events), events
        assert {order_id for order_id, _ in events} == self.paid_orders
        assert set(self.world.told) <= set(events)

    def every_page_handed_out_is_known(self) -> None:
        stored = {checkout_id: row["url"] for checkout_id, row in self.world.stored().items()}
        assert self.locations.items() <= stored.items()

    def teardown(self) -> None:
        """End all failures: payments are found without webhooks, and all receivers run."""
        try:
            if hasattr(self.world, "sandbox"):
                self.clear_up()
        finally:
            self.stack.close()

    def clear_up(self) -> None:
        self.world.sandbox.control("DELETE", "faults")
        self.stop_webhooks()
        self.world.receiver_failures = 0
        for _ in range(2):
            self.world.sandbox.advance(minutes=13 * 60)
            self.world.reconciles()
        self.all_is_well()
        stored = self.world.stored()
        completed = [
            checkout_id for checkout_id, deposit in self.world.deposits().items() if deposit["status"] == "completed"
        ]
        unseen = [
            checkout_id
            for checkout_id in completed
            if checkout_id in stored and stored[checkout_id]["status"] not in SEEN
        ]
        assert unseen == []
        assert self.world.undelivered() == 0
        assert set(self.world.paid_events()) == set(self.world.told)


SEEN = ("paid", "held", "rejected")

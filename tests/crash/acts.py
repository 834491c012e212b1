"""The acts during which a process dies, with their preparation and the required last state of every order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout import ReceiverFailed
from flask_paycheckout.client import PaymentsError
from tests.crash.world import IN_PARTS, REMINDED_AFTER, REQUESTED, SOLD_FOR_OTHERS, World
from tests.payouts.books import NO_ANSWER
from tests.payouts.shop import decides, sends


@dataclass(frozen=True)
class Act:
    """One action of a process of the shop.

    :ivar before: prepares the world for the act, without any failure.
    :ivar does: the act itself.
    :ivar after: the customer's action when the shop is up again.
    :ivar ends: each checkout's last state, or its allowed last states.
    """

    before: Callable[[World], None]
    does: Callable[[World], object]
    ends: dict[str, str]
    after: Callable[[World], None] = lambda world: None


def perform(act: Act, world: World) -> None:
    """Do the act, and record its answer or error."""
    try:
        answer: Any = act.does(world)
    except (SQLAlchemyError, PaymentsError, ReceiverFailed) as error:
        world.record.add("raised", error=type(error).__name__)
    else:
        world.record.add("answered", status=getattr(answer, "status_code", None))


# Start


def nothing(world: World) -> None:
    """Prepare nothing beyond the orders."""


def returns(world: World, order_id: str = "o-1", amount: str = "12.50") -> None:
    """Let the customer pay on every page that was opened; without one, press the button first."""
    if not world.record.given_out:
        world.presses_pay(order_id)
    for checkout_id, url in world.record.urls.items():
        if url in world.record.given_out:
            world.pays(checkout_id, amount)


def an_expired_page(world: World) -> None:
    world.presses_pay()
    world.clock.advance(minutes=14)
    world.deposit("chk-1", "pending")
    world.clock.advance(minutes=3)


def loses_an_answer(world: World) -> object:
    world.service.lost_answers = 1
    return world.presses_pay()


# One payment, and everybody who may find it


def a_payment(world: World) -> None:
    world.starts()
    world.clock.advance(seconds=40)
    world.pays("chk-1")


def a_payment_in_the_cool_down(world: World) -> None:
    world.starts()
    world.deposit("chk-1", "pending")
    world.webhook("chk-1")
    world.clock.advance(seconds=1)
    world.pays("chk-1")


def webhook(world: World) -> object:
    return world.webhook("chk-1")


def settle(world: World) -> object:
    return world.settles("chk-1")


PAID = {"o-1": "paid"}

# Other things that a read may find


def the_wrong_amount(world: World) -> None:
    a_payment(world)
    world.pays("chk-1", "12.49")


def a_second_payment(world: World) -> None:
    an_expired_page(world)
    world.starts()
    world.pays("chk-1")
    world.settles("chk-1")
    world.pays("chk-2")


def a_page_never_picked(world: World) -> None:
    world.starts()
    world.reconciles()
    world.clock.advance(minutes=17)


def a_deposit_that_failed(world: World) -> None:
    world.starts()
    world.deposit("chk-1", "failed")


# Parts, and what came too much


def a_part(world: World) -> None:
    world.starts(IN_PARTS)
    world.pays("chk-1", "7.50")


def a_settled_part(world: World) -> None:
    a_part(world)
    world.settles("chk-1")


def returns_for_the_rest(world: World) -> None:
    returns(world, IN_PARTS, "5.00")


def the_rest(world: World) -> None:
    a_settled_part(world)
    world.starts(IN_PARTS)
    world.pays("chk-2", "5.00")


def a_part_of_a_cheaper_order(world: World) -> None:
    a_settled_part(world)
    world.costs_now("7.50", IN_PARTS)


def too_much(world: World) -> None:
    world.starts()
    world.pays("chk-1", "13.00")
    world.settles("chk-1")


def gives_excess_back(world: World) -> None:
    world.gives_excess_back("chk-1")


# Requests and reminders


def a_request(world: World) -> None:
    world.asks()
    world.starts(REQUESTED)


def is_paid(world: World) -> None:
    a_request(world)
    world.pays("chk-1")


def is_withdrawn_and_paid(world: World) -> None:
    world.withdraws()
    world.pays("chk-1")


def an_expired_request(world: World) -> None:
    world.asks(timedelta(minutes=1))
    world.starts(REQUESTED)
    world.clock.advance(minutes=2)
    world.pays("chk-1")


def a_page_of_last_week(world: World) -> None:
    world.starts()
    world.clock.now += REMINDED_AFTER


# Deliver, and reconcile


def an_undelivered_payment(world: World) -> None:
    a_payment(world)
    world.receivers_fail = True
    world.settles("chk-1")
    world.receivers_fail = False


def a_busy_shop(world: World) -> None:
    an_undelivered_payment(world)
    world.settles(world.starts("o-3"))
    world.clock.advance(minutes=17)
    world.starts("o-2")
    world.pays("chk-3")
    world.starts("o-4")
    world.deposit("chk-4", "pending")


# Money out

_MAKER, _BANK, _WALLET, _CLOSED = "rec_maker", "400012341234", "0x" + "a" * 40, "rec_closed"


def a_sale_for_others(world: World) -> None:
    world.starts(SOLD_FOR_OTHERS)
    world.pays("chk-1")


def a_paid_order(world: World) -> None:
    a_payment(world)
    world.settles("chk-1")


def debts(world: World) -> None:
    world.pays_out(_MAKER, _BANK, _WALLET)


def answers_that_were_lost(world: World) -> None:
    debts(world)
    loses_both_answers(world)
    world.clock.advance(minutes=6)


def a_request_that_was_dropped(world: World) -> None:
    debts(world)
    world.service.books.instead = [NO_ANSWER] * 2
    sends(world)
    sends(world, minutes=6)
    world.clock.advance(minutes=6)


def what_the_bank_finished(world: World) -> None:
    debts(world)
    sends(world)
    world.service.books.finish()
    world.clock.advance(hours=1)


def what_the_bank_gave_back(world: World) -> None:
    world.pays_out(_MAKER)
    sends(world)
    world.service.books.finish("failed")
    sends(world, hours=1)


def a_refund(world: World) -> None:
    a_paid_order(world)
    world.refunds("chk-1", _WALLET)


def loses_both_answers(world: World) -> object:
    world.service.books.lost = 2
    return sends(world)


def has_a_batch_refused(world: World) -> object:
    world.service.books.refused = {f"for-{_CLOSED}"[:9]}
    return sends(world)


_OF_MONEY_IN = {
    "start": Act(nothing, World.presses_pay, {"o-1": "paid"}, returns),
    "start beside an older page": Act(an_expired_page, World.presses_pay, {"o-1": "paid"}, returns),
    "start whose first answer is lost": Act(nothing, loses_an_answer, {"o-1": "paid"}, returns),
    "webhook": Act(a_payment, webhook, PAID),
    "webhook in the cool-down": Act(a_payment_in_the_cool_down, webhook, PAID),
    "webhook of a stranger": Act(a_payment, lambda world: world.webhook("chk-404"), PAID),
    "status page": Act(a_payment, World.looks_at_status, PAID),
    "settle": Act(a_payment, settle, PAID),
    "settle: wrong amount": Act(the_wrong_amount, settle, {"o-1": "held"}),
    "settle: second payment": Act(a_second_payment, lambda world: world.settles("chk-2"), PAID),
    "settle: nobody picked": Act(a_page_never_picked, settle, {"o-1": "abandoned"}),
    "settle: deposit failed": Act(a_deposit_that_failed, settle, {"o-1": "abandoned"}),
    "settle: a part": Act(a_part, settle, {IN_PARTS: "part"}),
    "start of the rest": Act(
        a_settled_part, lambda world: world.presses_pay(IN_PARTS), {IN_PARTS: "paid"}, returns_for_the_rest
    ),
    "settle: the last part": Act(the_rest, lambda world: world.settles("chk-2"), {IN_PARTS: "paid"}),
    "settle: the total came down": Act(a_part_of_a_cheaper_order, settle, {IN_PARTS: "paid"}),
    "resolve, and give the excess back": Act(too_much, gives_excess_back, PAID, gives_excess_back),
    "request": Act(nothing, World.asks, {REQUESTED: "paid"}, is_paid),
    "withdraw": Act(a_request, World.withdraws, {REQUESTED: "held"}, is_withdrawn_and_paid),
    "settle: an expired request": Act(an_expired_request, settle, {REQUESTED: "held"}),
    "remind": Act(a_page_of_last_week, lambda world: world.reconciles(limit=0), {"o-1": "abandoned"}),
    "deliver": Act(an_undelivered_payment, lambda world: world.reconciles(limit=0), PAID),
    "reconcile": Act(
        a_busy_shop, World.reconciles, {"o-1": "paid", "o-2": "paid", "o-3": "abandoned", "o-4": "pending"}
    ),
}
_OF_MONEY_OUT = {
    "earn": Act(a_sale_for_others, settle, {SOLD_FOR_OTHERS: "paid"}),
    "refund": Act(a_paid_order, lambda world: world.refunds("chk-1", "rec_customer"), PAID),
    "send a refund in a token": Act(a_refund, sends, PAID),
    "send": Act(debts, sends, {}),
    "send, and lose the answers": Act(debts, loses_both_answers, {}),
    "send a batch that is refused": Act(lambda world: world.pays_out(_MAKER, _CLOSED, _BANK), has_a_batch_refused, {}),
    "look up what was sent": Act(answers_that_were_lost, sends, {}),
    "look up what was not sent": Act(a_request_that_was_dropped, sends, {}),
    "follow": Act(what_the_bank_finished, sends, {}),
    "retry": Act(what_the_bank_gave_back, lambda world: decides(world, "retry", f"for-{_MAKER}"), {}),
}
ACTS = _OF_MONEY_IN | _OF_MONEY_OUT
MONEY_IN, MONEY_OUT = list(_OF_MONEY_IN), list(_OF_MONEY_OUT)

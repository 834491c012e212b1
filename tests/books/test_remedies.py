"""Printed remedies work: each is run in the state for which it is printed, and resolves its problem."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import pytest

from flask_paycheckout import order_paid
from flask_paycheckout.books.audit.comparing import compare_disbursement
from flask_paycheckout.client import FiatDisbursement
from flask_paycheckout.payouts.payout_states import PayoutState
from flask_paycheckout.payouts.payout_table import Try, tries_text
from tests.alarming import alarms_of, urgent
from tests.books.test_alarms import breaks, orders
from tests.checkouts.test_reversals import takes_back
from tests.conftest import OpenShop
from tests.payouts.shop import ADA, MAKER, payout, payouts, pays_out, refunds, stands
from tests.scripted import Shop, number
from tests.views.owner import opens_view, payout_page, sends


def exceeds(shop: Shop, *parts: str, total: str) -> str:
    """Let parts of an order of 100.00 arrive, and reduce its total; returns the id of the newest part."""
    shop.costs("100.00", parts=True)
    checkout_id = str([shop.settles(shop.has_arrived(part)).checkout_id for part in parts][-1])
    shop.costs(total, parts=True)
    shop.settles(checkout_id)
    assert "excess-payments" in alarms_of(shop)
    return checkout_id


def printed_by(shop: Shop, order_id: str = "o-1", command: str = "refund") -> list[list[str]]:
    """The words of each such command that `show` prints, with a name and a reason."""
    commands = re.findall(rf"flask paycheckout ({command} .*)", shop.runs("show", order_id).output)
    return [words.replace("YOU", "Ada").replace("REASON", "told").split() for words in commands]


def given_back(shop: Shop) -> Decimal:
    return sum((Decimal(payout.exact_counts) for payout in payouts(shop) if payout.status != "cancelled"), Decimal(0))


@pytest.mark.parametrize(
    ("parts", "total", "excess"), [(("40.00", "30.00"), "60.00", "10.00"), (("40.00", "5.00"), "20.00", "25.00")]
)
def test_the_refunds_that_show_prints_give_back_an_excess(
    shop: Shop, parts: tuple[str, ...], total: str, excess: str
) -> None:
    exceeds(shop, *parts, total=total)
    for words in printed_by(shop):
        assert shop.runs(*words).exit_code == 0
    assert given_back(shop) == Decimal(excess)
    assert alarms_of(shop).keys() == {"unclaimed-refunds"}
    assert printed_by(shop) == []


@pytest.mark.parametrize("then", ["retry", "cancel", "another destination"])
def test_an_excess_whose_refund_failed_is_given_back_once(shop: Shop, then: str) -> None:
    """Each way resolves the failed refund; `show` prints the excess again only after a cancellation."""
    checkout_id = exceeds(shop, "40.00", "30.00", total="60.00")
    failed = refunds(shop, checkout_id, "10.00", to=MAKER).reference
    stands(shop, failed, status="sent")
    shop.calls.resolve_payout(failed, False, **ADA)
    (anew,) = printed_by(shop)
    assert anew[-6:-4] == ["--replaces", failed]
    ran = anew if then == "another destination" else ["payouts", then, failed, "--by", "Ada", "--why", "told"]
    assert shop.runs(*ran).exit_code == 0
    left = [words[words.index("--amount") + 1] for words in printed_by(shop)]
    assert left == (["10.00"] if then == "cancel" else [])


def test_an_excess_whose_refund_was_cancelled_is_given_back_once(shop: Shop) -> None:
    checkout_id = shop.has_arrived("20.00")
    shop.settles(checkout_id)
    shop.resolves(checkout_id, True, refund_excess=True)
    shop.calls.cancel_payout(payouts(shop)[0].reference, **ADA)
    (words,) = printed_by(shop)
    assert shop.runs(*words).exit_code == 0
    assert given_back(shop) == Decimal("7.50")


def test_the_form_offers_what_exceeds_the_total_and_says_so(shop: Shop) -> None:
    shop.app.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada"), url_prefix="/owner")
    checkout_id = exceeds(shop, "40.00", "30.00", total="60.00")
    page = html.unescape(shop.browser.get("/owner/order?order_id=o-1").text)
    assert "$10.00 more arrived than the order costs" in page
    assert "agrees with the order" not in page
    links = set(re.findall(rf'href="([^"]*/refund\?checkout={checkout_id}[^"]*)"', page))
    assert len(links) == 2
    for link in links:
        form = shop.browser.get(urlsplit(link)._replace(scheme="", netloc="").geturl()).text
        assert 'name="amount"' in form
        assert re.findall(r'name="amount"[^>]*value="([^"]*)"', form) == ["10.00"]
        assert "$10.00 of this payment" in form


# Payments


def is_reversed(shop: Shop) -> None:
    takes_back(shop, shop.has_paid())


def is_rejected(shop: Shop) -> None:
    shop.has_rejected()


def part_is_old(shop: Shop) -> None:
    shop.costs("100.00", parts=True)
    shop.settles(shop.has_arrived("40.00"))
    shop.waits(days=8)


def receiver_was_repaired(shop: Shop) -> None:
    order_paid.connect(breaks, sender=shop.app)
    shop.has_paid()
    order_paid.disconnect(breaks, sender=shop.app)


TROUBLES: dict[str, tuple[Callable[[Shop], object], dict[str, str]]] = {
    "held-payments": (lambda shop: shop.has_held(), {"resolve --accept": "0", "resolve --reject": "0"}),
    "money-to-pay-back": (is_rejected, {"refund": "1", "keep": "0"}),
    "excess-payments": (
        lambda shop: exceeds(shop, "40.00", "30.00", total="60.00"),
        {"refund --amount": "10.00", "keep": "0"},
    ),
    "unfinished-parts": (part_is_old, {"refund": "40.00", "keep": "0"}),
    "reversed-payments": (is_reversed, {"keep": "0"}),
    "undelivered-events": (receiver_was_repaired, {"deliver --now": "0"}),
}


@pytest.mark.parametrize("key", TROUBLES)
def test_each_command_of_an_alarm_about_payments_ends_it(open_shop: OpenShop, key: str) -> None:
    """Each command runs in a new shop; if an alarm refers to `show`, the commands that `show` prints are included."""
    begin, expected = TROUBLES[key]
    settings = {}
    for position in range(len(expected)):
        begin(shop := open_shop(f"shop-{position}"))
        words = ways_out(shop, key)[position]
        ran = shop.runs(*words)
        assert ran.exit_code == 0, (words, ran.output)
        assert key not in alarms_of(shop), words
        settings[named(words)] = f"{given_back(shop)}"
    assert settings == expected


def ways_out(shop: Shop, key: str) -> list[list[str]]:
    """The words of each command by which a person can end an alarm about order o-1."""
    commands = commands_of(shop, key)
    output = shop.runs("show", "o-1").output
    if ["show", "ORDER_ID"] in commands:
        decide = re.findall(r"flask paycheckout (resolve .*) and one of", output)
        options = re.findall(r"^    (--[a-z]+): ", output, re.MULTILINE)
        decisions = [filled(f"{each} {option}") for each in decide for option in options]
        commands = decisions or [*printed_by(shop), *(each for each in commands if each[0] == "keep")]
    newest = shop.attempts()[-1].checkout_id
    return [[newest if word == "CHECKOUT_ID" else word for word in words] for words in commands]


# Payouts


def filled(words: str) -> list[str]:
    return words.replace("YOU", "Bo").replace("REASON", "told").split()


def named(words: list[str]) -> str:
    """A command's name, and the options that choose its action."""
    options = {"--by", "--why", "--seen", "--replaces"}
    name = words[: 1 + (words[0] == "payouts")]
    return " ".join([*name, *(word for word in words if word.startswith("--") and word not in options)])


def commands_of(shop: Shop, key: str) -> list[list[str]]:
    """The words of each command that an alarm prints, with a name and a reason; none without the alarm."""
    remedies = alarms[key].remedies if key in (alarms := alarms_of(shop)) else ()
    printed = [remedy.partition("flask paycheckout ")[2] for remedy in remedies]
    return [filled(words) for words in printed if words]


HOUR_AGO, MONTH_AGO = (datetime(2026, 1, 1, 11, tzinfo=UTC) - timedelta(days=days) for days in (0, 31))
POSTPONED = {"status": "waiting", "state": "postponed"}
OLD_TRANSFER = {"status": "sent", "due_at": MONTH_AGO + timedelta(days=32), "moved_at": MONTH_AGO}
DIFFERENT = {"status": "sent", "reported_amount": "0.99", "problem": "x", "problem_since": MONTH_AGO}
REPORTED_OTHERWISE = DIFFERENT | {"due_at": HOUR_AGO}
SENT_AGAIN = DIFFERENT | {"reported_amount": "", "due_at": None}
RETRIED = REPORTED_OTHERWISE | {"earlier": tries_text((Try("first", disbursement_id="d-1"),))}
REPLACED = SENT_AGAIN | {"status": "failed", "state": "replaced"}
GIVEN_UP = SENT_AGAIN | {"status": "cancelled"}


@pytest.mark.parametrize(
    ("key", "columns", "commands"),
    [
        ("payouts-to-approve", {"status": "waiting"}, {"payouts approve", "payouts cancel"}),
        ("payouts-to-approve", POSTPONED, {"payouts approve --over-limit", "payouts cancel"}),
        ("unknown-payouts", {"status": "unknown"}, {"payouts resolve --sent", "payouts resolve --not-sent"}),
        ("failed-payouts", {"status": "failed"}, {"payouts retry", "payouts cancel", "refund --amount"}),
        ("unclaimed-refunds", {"status": "claimable"}, {"payouts cancel"}),
        ("slow-transfers", OLD_TRANSFER, {"payouts resolve --not-sent"}),
        ("payouts-not-followed", REPORTED_OTHERWISE, {"payouts resolve --sent", "payouts resolve --not-sent"}),
        ("repeated-transfers", SENT_AGAIN, {"payouts resolve --sent", "payouts resolve --not-sent"}),
        ("repeated-transfers", RETRIED, {"payouts resolve --sent", "payouts resolve --not-sent"}),
        ("repeated-transfers", REPLACED, {"payouts resolve --sent", "payouts resolve --not-sent"}),
        ("repeated-transfers", GIVEN_UP, {"payouts resolve --sent", "payouts resolve --not-sent"}),
        ("unsent-payouts", {"status": "ready", "due_at": HOUR_AGO}, {"payouts cancel"}),
    ],
)
def test_each_command_of_an_alarm_about_payouts_ends_it(
    open_shop: OpenShop, key: str, columns: dict[str, Any], commands: set[str]
) -> None:
    """Each runs in the state for which it is printed, for refunds and other payouts, and none pays too much."""
    shop, done = open_shop(PAYCHECKOUT_ACCESS_TOKEN="unit-token"), set()
    for position, is_refund in [(position, kind) for position in range(3) for kind in (True, False)]:
        checkout_id = shop.has_paid(*orders(shop)) if is_refund else None
        row = refunds(shop, checkout_id, "1.00") if checkout_id else pays_out(shop, f"p-{position}")
        stands(shop, row.reference, **columns)
        printed = [words for words in commands_of(shop, key) if words[0] != "reconcile"]
        if position < len(printed):
            ran = shop.runs(*printed[position])
            assert ran.exit_code == 0, (printed[position], ran.output)
            assert key not in alarms_of(shop), printed[position]
            done.add(named(printed[position]))
        # The next commands stand alone.
        for each in payouts(shop):
            stands(shop, each.reference, status="cancelled", reported_amount=None)
    assert done == commands


@pytest.mark.parametrize(
    "columns",
    [
        *({"status": status} for status in ("claimable", "waiting", "ready", "failed")),
        POSTPONED,
        {"status": "ready", "doubt": "lost"},
    ],
)
def test_a_refund_of_money_that_was_taken_back_can_only_be_cancelled(shop: Shop, columns: dict[str, str]) -> None:
    row = refunds(shop, checkout_id := shop.has_paid(), "1.00")
    takes_back(shop, checkout_id)
    stands(shop, row.reference, **columns)
    (words,) = commands_of(shop, "stopped-refunds")
    ran = shop.runs(*words)
    assert (named(words), ran.exit_code) == ("payouts cancel", 0), ran.output
    assert urgent(shop) == {"reversed-payments"}


def test_a_refund_that_was_cancelled_while_its_payment_was_gone_leaves_the_whole_excess(shop: Shop) -> None:
    checkout_id = exceeds(shop, "40.00", "30.00", total="60.00")
    refunds(shop, checkout_id, "10.00")
    takes_back(shop, checkout_id)
    assert shop.runs(*commands_of(shop, "stopped-refunds")[0]).exit_code == 0
    assert "excess-payments" not in alarms_of(shop)
    shop.waits(days=3)
    shop.service.says(checkout_id, "completed", inputAmount=number("30.00"))
    shop.hears_of(checkout_id)
    assert printed_by(shop)[0][1:4] == [checkout_id, "--amount", "10.00"]


@pytest.mark.parametrize(
    ("status", "there", "command", "then"),
    [
        ("sent", None, "payouts resolve --not-sent", "failed"),
        ("completed", None, "payouts resolve --not-sent", "failed"),
        ("completed", "failed", "payouts resolve --not-sent", "failed"),
        ("failed", None, None, "failed"),
        ("failed", "pending", None, "failed"),
        ("unknown", None, "payouts resolve --not-sent", "ready"),
        ("unknown", "pending", "payouts resolve --sent", "sent"),
    ],
)
def test_the_command_that_an_audit_prints_about_a_payout_is_possible(
    shop: Shop, status: str, there: str | None, command: str | None, then: str
) -> None:
    pays_out(shop)
    stands(shop, "maker-1", status=status, disbursement_id="dis-1")
    row = payout(shop)
    record = FiatDisbursement("dis-1", there or "", amount=row.amount, currency="USD", reference=row.service_reference)
    finding = compare_disbursement(row, None, record if there else None, shop.clock.now)
    words = filled((finding.remedy or "").partition("flask paycheckout ")[2])
    assert (named(words) if words else None) == command
    if words:
        assert shop.runs(*words).exit_code == 0
    assert payout(shop).status == then


def stored_row(shop: Shop, reference: str) -> dict[str, Any]:
    return dict(shop.runtime.models.row_of(payout(shop, reference)))


STANDS: list[tuple[PayoutState, dict[str, Any]]] = [
    *((state, {}) for state in PayoutState),
    (PayoutState.READY, {"doubt": "lost"}),
    (PayoutState.SENT, {"reported_amount": "0.99"}),
    (PayoutState.FAILED, {"to_details": None}),
]


@pytest.mark.parametrize("gone", [False, True], ids=["here", "taken back"])
def test_each_choice_and_link_that_the_page_of_a_refund_offers_is_taken(shop: Shop, gone: bool) -> None:
    """Each state is tested, also after the payment was reversed."""
    opens_view(shop, lambda: "Bo")
    reference = refunds(shop, checkout_id := shop.has_paid(), "1.00", to=MAKER).reference
    if gone:
        takes_back(shop, checkout_id)
    kept = {"id", "changes", "reference"}
    as_stored = {name: value for name, value in stored_row(shop, reference).items() if name not in kept}
    taken = set()
    for state, more in STANDS:
        now = {"state": state.value, "status": state.status.value} | more
        tried: set[str] = set()
        while True:
            # Each event needs its own time.
            shop.waits(seconds=1)
            stands(shop, reference, **as_stored | now | {"moved_at": shop.clock()})
            counts = None if now["status"] in ("failed", "cancelled") else "1.00"
            shop.changes(checkout_id, refunded_amount=counts, payback=None)
            page = payout_page(shop, reference)
            for link in re.findall(r'href="(/owner/refund[^"]*replaces[^"]*)"', page.text):
                assert 'name="amount"' in shop.browser.get(html.unescape(link)).text
            offered = set(re.findall(r'name="decision" value="(\w+)"', page.text)) - tried
            if not offered:
                break
            tried.add(choice := min(offered))
            answer = sends(shop, page, decision=choice, why="told")
            assert answer.status_code == 303, (now, choice)
        taken |= tried
    assert {"cancel", "give_up", "returned", "amended"} <= taken
    assert ({"approve", "over_limit", "retry"} <= taken) is not gone

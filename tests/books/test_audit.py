"""The audit: every difference is found, nothing else is named, nothing is changed, and a stop loses nothing."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from threading import Event
from typing import Any
from unittest.mock import ANY

import httpx
import pytest
import sqlalchemy as sa

from flask_paycheckout import SETTINGS, ByHand, Pay
from flask_paycheckout.books.audit import reading, rechecks
from flask_paycheckout.client import FiatItem, PaymentsError, RateLimited, TransportFailed
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.world.database import transaction
from tests.accounts.conftest import Sellers, SigningService, market as market, service as service
from tests.books.conftest import contents
from tests.books.test_alarms import orders as new_orders, runs
from tests.payouts import books as payout_books
from tests.payouts.paying import ADA, BANK, LIST, WALLET, Payer
from tests.payouts.shop import TOKEN, pays_out, refunds, sends
from tests.scripted import Shop, number, refusal

DEPOSIT = "GET /v1/deposit/{id}"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses pass at once."""
    monkeypatch.setattr(rechecks, "_CALM", 0.0)
    monkeypatch.setattr(reading, "_FIRST_PAUSE", 0.005)
    monkeypatch.setattr(reading, "_PATIENCE", 0.05)


def audits(shop: Shop, *arguments: str) -> tuple[int, Any]:
    """The exit code and the findings."""
    return runs(shop, "audit", *arguments)


def at_service(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The findings about deposits and disbursements, without those about the books."""
    return [one for one in findings if one["kind"] != "booking"]


def named(findings: list[dict[str, Any]]) -> dict[str, str]:
    """The verdicts of all that does not agree at the service, by the id of the checkout or disbursement."""
    found = {one["checkout_id"] or one["disbursement_id"]: one["verdict"] for one in at_service(findings)}
    return {name: verdict for name, verdict in found.items() if verdict != "agreed"}


def orders(shop: Shop, count: int) -> list[str]:
    """Starts so many orders, and gives the ids of their checkouts."""
    return [shop.starts(order_id) for order_id in new_orders(shop, count)]


def paid(shop: Shop, count: int) -> list[str]:
    checkouts = orders(shop, count)
    for checkout_id in checkouts:
        assert shop.settles(checkout_id, says="completed").status == "paid"
    return checkouts


# Verdicts on deposits


def test_money_that_arrived_and_pays_nothing_here_is_named_with_the_way_to_find_it(shop: Shop) -> None:
    missed = shop.starts()
    shop.settles(missed)
    shop.service.says(missed, "completed")
    ran = shop.runs("audit")
    assert ran.exit_code == 1
    assert f"differs: deposit {missed} of order o-1\n    status: here created, there completed\n" in ran.stdout
    assert "    paid_amount: here nothing, there 12.50\n" in ran.stdout
    assert "in flask shell. To see what keeps it: flask paycheckout show o-1" in ran.stdout
    assert "compared 1: agreed 0, differs 1, unreadable 0, missing at the service 0, missing here 0" in ran.stdout
    shop.clock.advance(seconds=20)
    shop.reconciles()
    assert audits(shop)[0] == 0


SAID: dict[str, tuple[dict[str, Any], list[str]]] = {
    "paid": ({"inputAmount": number("12.51")}, ["paid_amount", "asked"]),
    "received": ({"outputAmount": number("12.14")}, ["received_amount"]),
    "fee": ({"fee": {"amount": number("0.38"), "percentage": number("2.9"), "currency": "USD"}}, ["fee_amount"]),
    "method": ({"paymentFiat": {"bankCode": "015"}}, ["method"]),
    "status": ({"status": "failed"}, ["status"]),
    "no method any more": ({"paymentFiat": None}, []),
    "written otherwise": ({"inputAmount": number("12.5"), "outputAmount": number("12.130")}, []),
}


@pytest.mark.parametrize("name", SAID)
def test_each_value_of_a_payment_is_compared(shop: Shop, name: str) -> None:
    said, differences = SAID[name]
    fee = {"amount": number("0.37"), "percentage": number("2.9"), "currency": "USD"}
    stored: dict[str, Any] = {
        "fee": fee,
        "paymentFiat": {"bankCode": "014"},
        "exchangeInfo": {"exchangeRate": number("1")},
    }
    checkout_id = shop.starts()
    shop.settles(checkout_id, says="completed", **stored)
    shop.service.says(checkout_id, **{"status": "completed"} | stored | said)
    code, (finding,) = audits(shop)
    assert (finding["differences"], code) == (differences, int(bool(differences)))
    assert ("the service" in str(finding["remedy"])) == bool(differences)


def test_a_method_that_only_the_service_knows_differs(shop: Shop) -> None:
    (checkout_id,) = paid(shop, 1)
    shop.service.says(checkout_id, "completed", paymentFiat={"bankCode": "014"})
    _, (finding,) = audits(shop)
    assert finding["differences"] == ["method"]


def test_states_before_any_money_are_no_differences(shop: Shop) -> None:
    """The service's own come and go: what was picked, has failed, or nobody has ever picked."""
    picked, left, failed = orders(shop, 3)
    shop.service.says(picked, "pending")
    shop.service.says(failed, "pending")
    shop.reconciles()
    shop.service.says(failed, "failed")
    shop.service.says(left, "pending")
    code, findings = audits(shop)
    assert (code, [one["verdict"] for one in findings]) == (0, ["agreed"] * 3)


def test_a_deposit_that_is_gone_is_missing_at_the_service(shop: Shop) -> None:
    (settled, pending, _) = (paid(shop, 1)[0], shop.has_deposit("pending", "o-1"), shop.starts("o-2"))
    shop.settles(pending)
    shop.service.deposits.clear()
    code, findings = audits(shop)
    assert code == 1
    assert named(findings) == dict.fromkeys([settled, pending], "missing at the service")
    assert "BASE_URL and the keys" in shop.runs("audit").stdout


def test_what_is_no_answer_proves_nothing(shop: Shop) -> None:
    other, gateway, broken = paid(shop, 3)
    shop.service.says(other, "completed", depositId="chk-404")
    shop.service.fails(gateway, refusal(404, "Cannot GET /v1/deposit"))
    shop.service.fails(broken, httpx.ReadTimeout("no answer"))
    code, findings = audits(shop)
    assert (code, {one["verdict"] for one in findings}) == (1, {"unreadable"})
    assert [one["there"] for one in findings] == [None] * 3
    assert all("It could not be read" in one["remedy"] or "another deposit" in one["remedy"] for one in findings)


@pytest.mark.parametrize("status_code", ["404", "400"])
def test_a_transfer_that_the_service_never_had_is_missing_there(payer: Payer, status_code: str) -> None:
    """Which code says so is not shown."""
    payer.sandbox.change_unknowns(disbursement_not_found=status_code)
    payer.owes()
    payer.sends()
    payer.stands(service_reference="never-sent", disbursement_id="5a6d0000000000000000ffff")
    assert "missing at the service: disbursement" in payer.shop.runs("audit").stdout


# The books

Plant = Callable[[Payer, dict[str, str]], object]


def stands_there(payer: Payer, reference: str = "p-1", /, **values: Any) -> None:
    """Changes the disbursement of a payout at the service."""
    of = Disbursement.id == payer.payout(reference).disbursement_id
    with payer.sandbox.app.app_context(), transaction() as session:
        session.execute(sa.update(Disbursement).where(of).values(values))


def strangers(payer: Payer, count: int) -> None:
    """Disbursements that the shop did not ask for, the first one without a reference."""
    items = [
        FiatItem(amount="1", recipient_id=ADA.recipient_id, reference=f"x-{n}" if n else None) for n in range(count)
    ]
    payer.shop.runtime.client.fiat_disbursements.create("USD", items)


def row(table: str, column: str, which: str, /, **values: Any) -> Plant:
    """Changes rows, or deletes them."""

    def plant(payer: Payer, ids: dict[str, str]) -> None:
        rows = getattr(payer.shop.runtime.models, table)
        change = rows.update().values(values) if values else rows.delete()
        payer.shop.executes(change.where(rows.c[column] == ids.get(which, which)))

    return plant


books_row = partial(row, "bookings", "kind")


def there(**values: Any) -> Plant:
    return lambda payer, ids: stands_there(payer, **values)


LAST_MONTH = datetime(2025, 12, 31, 23, 59, tzinfo=UTC)

PLANTS: dict[str, Plant] = {
    "a payment's booking changed by a cent": books_row("payment", gross="12.49", net="12.12"),
    "a payout's booking changed by a cent": books_row("payout", gross="-80.01", net="-80.01"),
    "a booking's fee changed": books_row("payment", fee="0.36", net="12.14"),
    "a held payment's booking deleted": row("bookings", "checkout_id", "held checkout"),
    "a refund's booking deleted": books_row("refund"),
    "a payout's booking with another account": books_row("payout", account="north"),
    "a booking in another month": books_row("payment", booked_at=LAST_MONTH),
    "a payout's booking in another month": books_row("payout", booked_at=LAST_MONTH),
    "a payout's row with another account": row("payouts", "reference", "owed payout", account="north"),
    "a paid checkout deleted": row("checkouts", "checkout_id", "paid checkout"),
    "held money booked as a payment": books_row("held", kind="payment"),
    "a booking whose amount is no number": books_row("payout", gross="8o"),
    "a refund's booking counted otherwise": books_row("refund", received="-1.01"),
    "a refund's booking counted in another currency": books_row("refund", received_currency="EUR"),
    "a payment that counts its refunds otherwise": row(
        "checkouts", "checkout_id", "paid checkout", refunded_amount="3.49"
    ),
    "a disbursement of another amount": there(amount=Decimal("80.01")),
    "a disbursement with another fee": there(fee_amount=Decimal("9.99")),
    "a disbursement to somebody else": there(recipient_id="5a6d00000000000000000199"),
}


@pytest.mark.on_each_database
@pytest.mark.parametrize("kind", PLANTS)
def test_each_kind_of_difference_is_found_when_it_is_planted_alone(payer: Payer, kind: str) -> None:
    shop, paid, held = payer.shop, payer.is_paid(), payer.shop.starts("o-2")
    payer.sandbox.pay(held, "1.00")
    shop.settles(held)
    refunds(shop, paid, "2.50", to=ADA)
    refunds(shop, paid, "1.00", to=WALLET, send=("1.02", TOKEN))
    ids = {"owed payout": payer.owes(), "paid checkout": paid, "held checkout": held}
    payer.sends()
    assert audits(shop) == (0, ANY)
    PLANTS[kind](payer, ids)
    code, findings = audits(shop)
    assert code == 1
    about = "disbursement" if kind.startswith("a disbursement") else "booking"
    assert about in {one["kind"] for one in findings if one["verdict"] != "agreed"}


def test_what_people_corrected_hours_later_is_borne_out(payer: Payer) -> None:
    for reference in ("p-1", "p-2"):
        payer.owes(reference)
    payer.sends()
    stands_there(payer, amount=Decimal("80.01"))
    for reference in ("p-2", "p-1"):
        payer.sandbox.finish(payer.payout(reference), "completed")
        payer.sandbox.advance(minutes=120)
        payer.sends()
    assert "payouts resolve p-1 --sent" in payer.shop.runs("audit").stdout
    payer.decides("resolve_payout", True)
    payer.decides("resolve_payout", False, reference="p-2")
    assert payer.shop.runs("audit").stdout.startswith("compared 2: agreed 2,")
    payer.decides("retry_payout", reference="p-2")
    for _ in range(2):
        payer.sends()
        payer.sandbox.advance(minutes=2)
    assert (payer.status("p-2"), len(payer.at_service)) == ("completed", 2)
    assert payer.shop.runs("audit").stdout.startswith("compared 2: agreed 2,")


def test_a_refund_in_another_currency_has_both_sums_also_after_a_correction(payer: Payer) -> None:
    payer.shop.totals["o-1"] = Pay("12.5", TOKEN)
    checkout_id = payer.is_paid()
    reference = refunds(payer.shop, checkout_id, "5", to=ADA, send=("4.90", "USD")).reference
    payer.sends()
    stands_there(payer, reference, amount=Decimal("4.80"))
    payer.sandbox.finish(payer.payout(reference), "completed")
    payer.sandbox.advance(minutes=120)
    payer.sends()
    payer.decides("resolve_payout", True, reference=reference)
    with payer.shop.app.app_context():
        lines = [line for line in payer.shop.paycheckout.books() if line.reference]
    assert [
        (line.kind, f"{line.gross} {line.currency}", f"{line.received} {line.received_currency}") for line in lines
    ] == [
        ("refund", "-4.90 USD", "-5 usdc-polygon"),
        ("refund_returned", "4.90 USD", "5 usdc-polygon"),
        ("refund", "-4.80 USD", "-5 usdc-polygon"),
    ]
    assert audits(payer.shop) == (0, ANY)


# Verdicts on payouts


def test_payouts_about_which_both_agree(payer: Payer) -> None:
    payer.owes("sent")
    payer.owes("completed", to=BANK)
    payer.owes("failed")
    payer.sends()
    payer.sandbox.finish(payer.payout("completed"), "completed")
    payer.sandbox.finish(payer.payout("failed"), "failed")
    payer.sandbox.advance(minutes=2)
    payer.sends()
    payer.owes("waits", approve=True)
    payer.owes("ready")
    code, findings = audits(payer.shop)
    assert (code, {one["reference"]: one["verdict"] for one in findings}) == (
        0,
        dict.fromkeys(["sent", "completed", "failed"], "agreed"),
    )
    assert BANK.account_number not in json.dumps(findings)


def test_payouts_in_tokens_are_left_out_and_counted(payer: Payer) -> None:
    payer.owes("p-1", "5", to=WALLET)
    payer.sends()
    ran = payer.shop.runs("audit", "--json")
    assert (ran.exit_code, ran.stdout) == (0, "[]\n")
    assert ran.stderr.startswith("Left out of payouts in tokens, which the service does not show again: 1.")


def test_a_token_payout_that_was_sent_twice_cannot_be_proved(payer: Payer) -> None:
    payer.owes("p-1", "5", to=WALLET)
    payer.sends()
    payer.decides("resolve_payout", False)
    assert audits(payer.shop)[0] == 0
    payer.decides("retry_payout")
    payer.sends()
    code, (finding,) = audits(payer.shop)
    assert (code, finding["verdict"], finding["reference"]) == (1, "unreadable", "p-1")
    assert "Compare it with the chain" in finding["remedy"]


def test_the_first_try_of_a_payout_that_was_tried_again_must_have_failed(payer: Payer) -> None:
    payer.owes("p-1")
    payer.sends()
    first = payer.payout()
    payer.sandbox.finish(first, "failed")
    payer.sandbox.advance(minutes=2)
    payer.sends()
    payer.decides("retry_payout")
    payer.sends()
    code, findings = audits(payer.shop)
    assert (code, len(findings), {one["reference"] for one in findings}) == (0, 2, {"p-1"})
    with payer.sandbox.app.app_context(), transaction() as session:
        session.execute(
            sa.update(Disbursement).where(Disbursement.id == first.disbursement_id).values(status="completed")
        )
    ran = payer.shop.runs("audit")
    assert ran.exit_code == 1
    assert f"differs: disbursement {first.disbursement_id} with the reference p-1" in ran.stdout
    assert "It may be paid twice" in ran.stdout


def test_what_failed_and_was_given_up_agrees_until_the_service_pays_it(payer: Payer) -> None:
    payer.owes("p-1")
    payer.sends()
    payer.sandbox.finish(payer.payout(), "failed")
    payer.sends(minutes=2)
    payer.decides("cancel_payout")
    assert (payer.status(), audits(payer.shop)[0]) == ("cancelled", 0)
    with payer.sandbox.app.app_context(), transaction() as session:
        session.execute(sa.update(Disbursement).values(status="completed"))
    assert "The service pays it, or has paid it." in payer.shop.runs("audit").stdout


@pytest.mark.parametrize("then", ["nothing", "cancelled", "replaced", "erased", "retried", "retried, cancelled"])
def test_what_a_person_found_to_have_come_back_agrees_whatever_becomes_of_it(payer: Payer, then: str) -> None:
    refund = refunds(payer.shop, payer.is_paid(), to=ADA).reference
    payer.sends()
    payer.sandbox.finish(payer.payout(refund), "completed")
    payer.sends(minutes=2)
    payer.decides("resolve_payout", False, reference=refund)
    with payer.shop.app.app_context():
        if "retried" in then:
            payer.shop.paycheckout.retry_payout(refund, by="Ada", why="asked for it again")
        if "cancelled" in then:
            payer.shop.paycheckout.cancel_payout(refund, by="Ada", why="given in cash")
        if then == "replaced":
            refunds(payer.shop, payer.payout(refund).refund_of, to=ByHand())
        if then == "erased":
            payer.shop.paycheckout.erase(reference=refund, by="Ada", why="asked for it")
    assert audits(payer.shop) == (0, ANY)


def test_a_persons_word_is_about_one_try_that_the_service_has_not_ended_since(payer: Payer) -> None:
    payer.owes("p-1")
    payer.stands("p-1", status="unknown")
    payer.decides("resolve_payout", False)
    payer.sends()
    payer.sandbox.finish(payer.payout(), "failed")
    payer.sends(minutes=2)
    assert (payer.status(), audits(payer.shop)[0]) == ("failed", 0)
    stands_there(payer, status="completed")
    assert "The service pays it, or has paid it." in payer.shop.runs("audit").stdout


def test_what_was_paid_past_the_shop_is_missing_here(payer: Payer) -> None:
    strangers(payer, 3)
    ran = payer.shop.runs("audit")
    assert ran.stdout.count("missing here: disbursement ") == 3
    assert "    amount: here nothing, there 1" in ran.stdout


def test_a_payout_that_is_being_sent_meanwhile_is_no_difference(payer: Payer) -> None:
    payer.owes()
    payer.sends()
    payer.stands(status="sending", disbursement_id=None, due_at=payer.sandbox.now + timedelta(seconds=30))
    assert named(audits(payer.shop)[1]) == {}
    payer.sandbox.advance(minutes=1)
    assert named(audits(payer.shop)[1]) != {}, "whoever sent it has died"


def test_a_list_that_cannot_be_read_says_that_nobody_knows_what_is_missing(payer: Payer) -> None:
    payer.owes()
    payer.sends()
    payer.sandbox.fault(LIST, "error", times=50, statusCode=500)
    code, findings = audits(payer.shop)
    assert code == 1
    assert [(one["verdict"], one["reference"]) for one in findings] == [("unreadable", None), ("agreed", "p-1")]
    assert "nobody knows what is missing here" in findings[0]["remedy"]
    ran = payer.shop.runs("audit")
    assert "unreadable: the list of disbursements" in ran.stdout


# The period and the account


def test_the_period_is_that_of_the_money_and_without_money_as_long_as_some_could_come(shop: Shop) -> None:
    early, late = paid(shop, 2)
    open_ = shop.has_deposit("completed", "o-1")
    for number_, checkout_id in enumerate((early, late)):
        shop.changes(checkout_id, payment_completed_at=shop.clock.now - timedelta(days=30 * (1 - number_)))
        shop.service.fails(checkout_id)

    def found(*period: str) -> set[str]:
        return {one["checkout_id"] for one in at_service(audits(shop, *period)[1])}

    assert found() == {early, late, open_}
    assert found("--from", "2025-12-02", "--to", "2025-12-03") == {early}
    assert found("--from", "2025-12-02T12:00:01", "--to", "2026-01-01") == set()
    assert found("--from", "2026-01-01") == {late, open_}
    shop.clock.advance(days=60)
    assert found("--from", "2026-01-09", "--to", "2026-02-01") == {open_}, "PENDING_FOR and WATCH_FOR before"
    assert found("--from", "2026-01-10") == set()


def test_payouts_belong_to_the_period_in_which_they_were_sent(payer: Payer) -> None:
    payer.owes("p-1")
    payer.sends()
    before = payer.sandbox.now + timedelta(hours=12)
    payer.sandbox.advance(minutes=24 * 60)
    payer.owes("p-2")
    payer.sends()
    strangers(payer, 1)

    def found(*period: str) -> list[str]:
        return sorted(str(one["reference"]) for one in audits(payer.shop, *period)[1])

    assert found() == ["None", "p-1", "p-2"]
    assert found("--to", before.isoformat()) == ["p-1"]
    assert found("--from", before.isoformat()) == ["None", "p-2"]


def test_each_account_is_read_with_its_own_keys(market: Sellers, service: SigningService) -> None:
    shop = market.shop
    ada, bo = shop.has_paid("o-1"), shop.has_paid("o-2")
    for name in ("ada", "bo"):
        pays_out(shop, f"of-{name}", account=name)
    sends(shop)
    service.signed.clear()
    code, findings = audits(shop, "--account", "ada")
    assert (code, {client for client, _ in service.signed}) == (1, {"id-ada"})
    assert {one["account"] for one in findings} == {"ada"}
    code, findings = audits(shop)
    assert {one["checkout_id"] for one in findings if one["kind"] == "deposit"} == {ada, bo}
    assert {client for client, _ in service.signed} == {"id-ada", "id-bo", "shop-1"}


def test_a_payout_that_the_service_shows_without_its_time_and_payee_is_in_every_period(
    market: Sellers, monkeypatch: pytest.MonkeyPatch
) -> None:
    market.shop.has_paid("o-1")
    pays_out(market.shop, "of-ada", account="ada")
    sends(market.shop)
    market.shop.executes(market.shop.runtime.models.payouts.delete())
    shown = payout_books._shown
    monkeypatch.setattr(payout_books, "_shown", lambda one: shown(one) | {"createdAt": None, "recipient": None})
    market.shop.clock.advance(hours=48)
    code, findings = audits(market.shop, "--from", market.shop.clock().date().isoformat())
    assert (code, list(named(findings).values())) == (1, ["missing here"])


def test_an_account_that_is_gone_or_refused_stops_no_other(market: Sellers, service: SigningService) -> None:
    shop = market.shop
    for one in range(30):
        market.add(("ada", "bo", "cy")[one % 3], f"n-{one}")
        shop.has_paid(f"n-{one}")
    del market.client_ids["ada"]
    service.refused.add("id-bo")
    shop.clock.advance(seconds=61)
    service.signed.clear()
    ran = shop.runs("audit", "--json")
    found = {(one["account"], one["verdict"]) for one in json.loads(ran.stdout)}
    assert (ran.exit_code, found) == (1, {("ada", "unreadable"), ("bo", "unreadable"), ("cy", "agreed")})
    assert sum(client == "id-bo" for client, _ in service.signed) < 5, "refused keys are not tried for each"
    assert "canary" not in ran.output


# A shop that runs meanwhile


def test_a_row_that_moves_between_the_two_reads_is_read_again_before_it_is_named(
    shop: Shop, service: SigningService
) -> None:
    """The money comes, and reconcile finds it, when the audit has read the row and not yet the deposit."""
    missed, taken_back = shop.starts("o-1"), paid(shop, 1)[0]

    def moves(client_id: str) -> None:
        service.before = lambda client_id: None
        assert shop.settles(missed, says="completed").status == "paid"
        service.fails(taken_back, refusal(404, "Deposit not found"))
        shop.changes(taken_back, status="abandoned", payment_completed_at=None)

    service.before = moves
    findings = at_service(audits(shop)[1])
    assert named(findings) == {}
    assert {one["here"]["status"] for one in findings} == {"paid", "abandoned"}


def test_what_differs_is_looked_at_again_some_moments_later(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A customer has paid, and the webhook arrives some moments later."""
    missed = shop.has_deposit("completed")
    monkeypatch.setattr(rechecks, "_CALM", 2.0)
    waited: list[float] = []

    def pause(self: reading.Reads, seconds: float) -> None:
        waited.append(seconds)
        shop.runtime.webhooks.receive(missed)

    monkeypatch.setattr(reading.Reads, "pause", pause)
    assert (audits(shop)[0], waited) == (0, [2.0])


def test_nothing_is_changed_anywhere(payer: Payer) -> None:
    shop, sandbox = payer.shop, payer.sandbox
    checkouts = orders(shop, 4)
    for checkout_id in checkouts[:2]:
        sandbox.pay(checkout_id)
    payer.owes("p-1")
    payer.owes("p-2", to=BANK)
    payer.sends()
    sandbox.finish(payer.payout(), "failed")
    before = contents(shop)
    asked = len(sandbox.control("GET", "requests"))
    assert audits(shop)[0] == 1
    assert contents(shop) == before
    requests = sandbox.control("GET", "requests")
    assert {one["method"] for one in requests[: len(requests) - asked]} == {"GET"}


# The service's limits


def test_a_service_that_is_away_is_asked_a_few_times_and_all_is_named(shop: Shop) -> None:
    for checkout_id in paid(shop, 50):
        shop.service.fails(checkout_id)
    shop.service.reads.clear()
    ran = shop.runs("audit")
    assert ran.exit_code == 1
    assert len(shop.service.reads) < 30
    assert "unreadable 50" in ran.stdout
    assert ran.stdout.count("unreadable: ") == 50


# Stops


def test_a_stopped_audit_says_that_something_is_left(shop: Shop) -> None:
    paid(shop, 3)
    shop.service.meets_once(lambda: signal.raise_signal(signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    ran = shop.runs("audit", "--json")
    assert (ran.exit_code, json.loads(ran.stdout)) == (1, [])
    assert "It was stopped before everything was compared." in ran.stderr
    assert signal.getsignal(signal.SIGTERM) is before


def test_payouts_that_were_sent_with_the_token_of_the_settings_are_read_with_its_keys(
    market: Sellers, service: SigningService
) -> None:
    market.tokens["ada"] = SETTINGS
    pays_out(market.shop, "of-ada", account="ada")
    with market.shop.app.app_context():
        market.shop.paycheckout.send_payouts("token-of-the-platform")
    for account in ((), ("--account", "ada")):
        (finding,) = audits(market.shop, *account)[1]
        assert (finding["reference"], finding["there"]["disbursement_id"]) == ("of-ada", finding["disbursement_id"])
    service.refused = {"shop-1"}
    (finding,) = audits(market.shop, "--account", "ada")[1]
    assert "Correct the keys, then repeat the audit." in finding["remedy"]


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of an audit, which pass at once."""
    pauses: list[float] = []
    monkeypatch.setattr(reading.Reads, "pause", lambda self, seconds: pauses.append(seconds))
    monkeypatch.setattr(reading, "_FIRST_PAUSE", 1.0)
    monkeypatch.setattr(reading, "_PATIENCE", 60.0)
    return pauses


def test_lists_of_many_accounts_are_not_all_waited_for(
    market: Sellers, waited: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pause for each of a thousand accounts would take hours."""
    for one in range(3):
        market.add(f"seller-{one}", f"n-{one}")
        market.shop.has_paid(f"n-{one}")
    monkeypatch.setattr(reading, "_PATIENCE", 7.0)
    read, fails = SigningService._read, httpx.Response(502, content=b"<html>")
    monkeypatch.setattr(
        SigningService,
        "_read",
        lambda self, request: fails if request.url.path.endswith("/fiat") else read(self, request),
    )
    code, findings = audits(market.shop)
    assert (code, len(named(findings))) == (1, 1), "all lists have one name"
    assert sum(one["verdict"] == "unreadable" for one in findings) == 4
    assert waited == [1.0, 2.0]


def reads_of(account: str, *failures: PaymentsError, lasts: bool = False) -> reading.Job:
    """A read that fails in these ways, one after the other or for ever, and then gives the account."""
    left = list(failures)

    def read() -> str:
        if left:
            raise left[0] if lasts else left.pop(0)
        return account

    return reading.Job(account, lambda: read)


def test_an_account_that_alone_fails_is_given_up_soon_and_one_that_is_limited_is_waited_for(
    waited: list[float],
) -> None:
    broken, limited = TransportFailed(DEPOSIT, "no route"), RateLimited(DEPOSIT, 429, None, "slower")
    reads = reading.Reads(4, Event())
    jobs = [reads_of("fine"), reads_of("broken", broken, lasts=True), reads_of("limited", *[limited] * 5)]
    assert reads.run(jobs) == ["fine", broken, "limited"]
    assert waited == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert reads.run(jobs[1:]) == [broken, "limited"]
    assert len(waited) == 5, "it is not waited for again"


def test_an_outage_is_waited_for_also_by_accounts_that_were_answered_before(waited: list[float]) -> None:
    reads, outage = reading.Reads(4, Event()), [TransportFailed(DEPOSIT, "no route")] * 4
    answers = iter(["fine"])

    def fine() -> str:
        """Answered once; the probe of the audit fails as long as the outage lasts."""
        for answer in answers:
            return answer
        raise outage[0]

    assert reads.run([reading.Job("fine", lambda: fine)]) == ["fine"]
    assert reads.run([reads_of("other", *outage)]) == ["other"]
    assert waited == [1.0, 2.0, 4.0, 8.0]


# Output


def test_what_a_person_gave_back_by_hand_is_not_looked_for_at_the_service(shop: Shop) -> None:
    (checkout_id,) = paid(shop, 1)
    refunds(shop, checkout_id, "2.50", to=ByHand())
    code, findings = audits(shop)
    assert (code, [finding["kind"] for finding in findings if finding["verdict"] != "agreed"]) == (0, [])

"""The audit of payments and of the books: every difference is found, and nothing else is reported."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from unittest.mock import ANY

import httpx
import pytest

from tests.accounts.conftest import service as service
from tests.books.auditing import at_service, audits, named, orders, paid, quick as quick, stands_there
from tests.payouts.paying import ADA, WALLET, Payer
from tests.payouts.shop import TOKEN, refunds
from tests.scripted import Shop, number, refusal

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
    shop.reconciles(seconds=20)
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
    fields, differences = SAID[name]
    fee = {"amount": number("0.37"), "percentage": number("2.9"), "currency": "USD"}
    stored: dict[str, Any] = {
        "fee": fee,
        "paymentFiat": {"bankCode": "014"},
        "exchangeInfo": {"exchangeRate": number("1")},
    }
    checkout_id = shop.starts()
    shop.settles(checkout_id, says="completed", **stored)
    shop.service.says(checkout_id, **{"status": "completed"} | stored | fields)
    code, (finding,) = audits(shop)
    assert (finding["differences"], code) == (differences, int(bool(differences)))
    assert ("the service" in str(finding["remedy"])) == bool(differences)


def test_a_method_that_only_the_service_knows_differs(shop: Shop) -> None:
    (checkout_id,) = paid(shop, 1)
    shop.service.says(checkout_id, "completed", paymentFiat={"bankCode": "014"})
    _, (finding,) = audits(shop)
    assert finding["differences"] == ["method"]


def test_states_before_any_money_are_no_differences(shop: Shop) -> None:
    """Such states change at the service without money: picked, failed, or never picked."""
    picked, left, failed = orders(shop, 3)
    shop.service.says(picked, "pending")
    shop.service.says(failed, "pending")
    shop.reconciles()
    shop.service.says(failed, "failed")
    shop.service.says(left, "pending")
    code, findings = audits(shop)
    assert (code, [finding["verdict"] for finding in findings]) == (0, ["agreed"] * 3)


def test_a_deposit_that_is_gone_is_missing_at_the_service(shop: Shop) -> None:
    (settled, pending, _) = (paid(shop, 1)[0], shop.has_deposit("pending", "o-1"), shop.starts("o-2"))
    shop.settles(pending)
    shop.service.deposits.clear()
    code, findings = audits(shop)
    assert code == 1
    assert named(findings) == dict.fromkeys([settled, pending], "missing at the service")
    assert "BASE_URL and the keys" in shop.runs("audit").stdout


def test_an_unreadable_answer_proves_nothing(shop: Shop) -> None:
    other, gateway, broken = paid(shop, 3)
    shop.service.says(other, "completed", depositId="chk-404")
    shop.service.fails(gateway, refusal(404, "Cannot GET /v1/deposit"))
    shop.service.fails(broken, httpx.ReadTimeout("no answer"))
    code, findings = audits(shop)
    assert (code, {finding["verdict"] for finding in findings}) == (1, {"unreadable"})
    assert [finding["there"] for finding in findings] == [None] * 3
    assert all(
        "It could not be read" in finding["remedy"] or "another deposit" in finding["remedy"] for finding in findings
    )


# The books

Plant = Callable[[Payer, dict[str, str]], object]


def row(table: str, column: str, which: str, /, **values: Any) -> Plant:
    """Change rows, or delete them."""

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


@pytest.mark.parametrize("kind", PLANTS)
def test_each_kind_of_difference_is_found_when_it_is_planted_alone(payer: Payer, kind: str) -> None:
    shop, paid, other = payer.shop, payer.is_paid(), payer.shop.starts("o-2")
    payer.sandbox.pay(other, "1.00")
    shop.settles(other)
    refunds(shop, paid, "2.50", to=ADA)
    refunds(shop, paid, "1.00", to=WALLET, send=("1.02", TOKEN))
    ids = {"owed payout": payer.owes(), "paid checkout": paid, "held checkout": other}
    payer.sends()
    assert audits(shop) == (0, ANY)
    PLANTS[kind](payer, ids)
    code, findings = audits(shop)
    assert code == 1
    about = "disbursement" if kind.startswith("a disbursement") else "booking"
    assert about in {finding["kind"] for finding in findings if finding["verdict"] != "agreed"}


def test_the_period_is_that_of_the_money_and_without_money_as_long_as_some_could_come(shop: Shop) -> None:
    early, late = paid(shop, 2)
    open_ = shop.has_deposit("completed", "o-1")
    for number_, checkout_id in enumerate((early, late)):
        shop.changes(checkout_id, payment_completed_at=shop.clock.now - timedelta(days=30 * (1 - number_)))
        shop.service.fails(checkout_id)

    def found(*period: str) -> set[str]:
        return {finding["checkout_id"] for finding in at_service(audits(shop, *period)[1])}

    assert found() == {early, late, open_}
    assert found("--from", "2025-12-02", "--to", "2025-12-03") == {early}
    assert found("--from", "2025-12-02T12:00:01", "--to", "2026-01-01") == set()
    assert found("--from", "2026-01-01") == {late, open_}
    shop.waits(days=60)
    assert found("--from", "2026-01-09", "--to", "2026-02-01") == {open_}, "PENDING_FOR and WATCH_FOR before"
    assert found("--from", "2026-01-10") == set()

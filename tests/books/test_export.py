"""The export: every movement of money once, oldest first, with reproducible bytes, and nothing left out silently."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from flask.cli import ScriptInfo
from sqlalchemy import select, update

from flask_paycheckout import order_paid
from flask_paycheckout.books import export
from flask_paycheckout.books.periods import month_period, months_until
from tests.conftest import OpenShop
from tests.payouts.paying import Payer
from tests.plans import plans
from tests.scripted import Shop, number
from tests.test_cli import runs

FEE: dict[str, Any] = {"fee": {"amount": number("0.37"), "currency": "USD"}}
HEADER = (
    "booked_at,kind,order_id,checkout_id,reference,disbursement_id,account,currency,gross,fee,net,method,"
    "received,received_currency"
)


def exported(shop: Shop, *arguments: str, code: int = 0) -> list[dict[str, str]]:
    """The lines of the CSV."""
    ran = runs(shop, "export", *arguments)
    assert ran.exit_code == code, ran.output
    return list(csv.DictReader(io.StringIO(ran.stdout)))


def moneys(lines: list[dict[str, str]]) -> list[str]:
    return [" ".join([line["kind"], line["gross"], line["fee"], line["net"], line["currency"]]) for line in lines]


@pytest.mark.parametrize(("stream", "code"), [("stdout", 1), ("stderr", 0)])
def test_a_closed_stream_is_told_or_done_without(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], stream: str, code: int
) -> None:
    shop.has_paid()
    group, script = shop.app.cli.commands["paycheckout"], ScriptInfo(create_app=lambda: shop.app)
    monkeypatch.setattr(sys, stream, None)
    with pytest.raises(SystemExit) as ended:
        group.main(["export"], obj=script)
    written = capfd.readouterr()
    assert ended.value.code == code
    assert "standard output is closed" in written.err if code else "payment,o-1" in written.out


def books(shop: Shop, count: int, amount: str = "-1", **columns: Any) -> None:
    """Store bookings with these columns."""
    row: dict[str, Any] = {
        "kind": "payout",
        "reference": "p",
        "account": "",
        "gross": amount,
        "fee": "0",
        "net": amount,
    }
    row |= {"currency": "USD", "change": 1, "booked_at": shop.clock.now} | columns
    table = shop.runtime.models.bookings
    shop.executes(table.insert(), [row | {"subject": f"{row['reference']}-{n}"} for n in range(count)])


@pytest.mark.on_each_database
def test_payments_of_every_end_are_exported_as_they_were_stored(shop: Shop) -> None:
    paid = shop.has_deposit("completed", "o-1", **FEE, paymentFiat={"bankCode": "014"})
    assert shop.settles(paid).status == "paid"
    shop.waits(minutes=1)
    held_id = shop.has_held("o-2")
    shop.waits(minutes=10)
    shop.resolves(held_id, accept=False)
    shop.has_deposit("pending", "o-2")
    ran = runs(shop, "export", "--to", "2026-01-01T12:05")
    assert (ran.exit_code, ran.stdout.splitlines()) == (
        0,
        [
            HEADER,
            "2026-01-01T12:00:00.000000+00:00,payment,o-1,chk-1,,,,USD,12.50,0.37,12.13,014,12.13,USD",
            "2026-01-01T12:01:00.000000+00:00,held,o-2,chk-2,,,,USD,1,0,1,,12.13,USD",
        ],
    )
    assert ran.stdout_bytes.count(b"\r\n") == 3
    assert [" ".join(line.split()) for line in ran.stderr.splitlines()] == [
        "2 lines from the beginning to 2026-01-01 12:05:00Z",
        "account currency payments held fees refunds payouts net received",
        "(settings) USD 12.50 1 0.37 0 0 13.13 24.26",
    ]


@pytest.mark.on_each_database
def test_a_payout_that_fails_and_is_sent_again_has_a_line_for_each_way(payer: Payer) -> None:
    payer.owes(order_id="o-9")
    payer.sends()
    payer.ends(status="failed", minutes=10)
    payer.decides("retry_payout")
    payer.sends()
    lines = exported(payer.shop)
    assert moneys(lines) == [
        "payout -80.00 0.58 -80.58 USD",
        "payout_returned 80.00 0 80.00 USD",
        "payout -80.00 0.58 -80.58 USD",
    ]
    assert [(line["reference"], line["order_id"], line["received"]) for line in lines] == [("p-1", "o-9", "")] * 3
    first, back, again = (line["disbursement_id"] for line in lines)
    assert first == back != again


@pytest.mark.on_each_database
def test_a_closed_period_exports_byte_for_byte_the_same_again(shop: Shop) -> None:
    """The move of the money fails for a while, and the service then reports other amounts."""
    checkout_id = shop.has_deposit("completed", **FEE)
    with shop.refusing(order_paid):
        shop.settles(checkout_id)
    month = ("export", "--from", "2026-01-01", "--to", "2026-01-02")
    shop.waits(days=2)
    before = runs(shop, *month)
    assert before.stdout.count("held") == 1, "it arrived, and has paid nothing yet"
    shop.service.says(checkout_id, "completed", fee={"amount": number("9.99"), "currency": "EUR"})
    assert shop.settles(checkout_id).status == "paid"
    assert runs(shop, *month).stdout_bytes == before.stdout_bytes
    assert [line["fee"] for line in exported(shop)] == ["0.37", "-0.37", "0.37"], "what was stored first is booked"
    assert "NOT CLOSED" not in before.stderr


@pytest.mark.on_each_database
def test_pages_lose_and_double_nothing_where_times_are_equal(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.has_paid("o-1")
    books(shop, 7)
    books(shop, 2, booked_at=shop.clock.now + timedelta(microseconds=1), reference="later", kind="refund")
    shop.has_paid("o-2")
    monkeypatch.setattr(export, "PAGE", 3)
    shop.waits(hours=1)
    lines = exported(shop)
    assert [line["kind"] for line in lines] == ["payment"] + ["payout"] * 7 + ["payment"] + ["refund"] * 2
    assert len(exported(shop, "--from", "2026-01-01T12:00:00.000001")) == 2, "the first moment is included"
    assert len(exported(shop, "--to", "2026-01-01T12:00:00.000001")) == 9, "the last moment is not"


def test_accounts_are_exported_by_name_and_totals_are_told_for_each(shop: Shop) -> None:
    shop.has_paid()
    books(shop, 2, account="north", kind="refund", amount="-5.25", currency="usdc-polygon")
    both = runs(shop, "export")
    assert [line.split()[:2] for line in both.stderr.splitlines()[2:4]] == [
        ["(settings)", "USD"],
        ["north", "usdc-polygon"],
    ]
    shop.has_paid("o-2")
    settings = exported(shop, "--account", "")
    assert [line["order_id"] for line in settings] == ["o-1", "o-2"]


def test_json_lines(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed", fee={"amount": number("0.37"), "currency": "EUR"})
    shop.settles(checkout_id)
    ran = runs(shop, "export", "--format", "jsonl")
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    payment, fee = lines
    assert moneys(lines) == ["payment 12.50 0 12.50 USD", "fee 0 0.37 -0.37 EUR"]
    assert (payment["received"], fee["received"]) == ("12.13", None)
    assert ",".join(payment) == HEADER


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "yesterday"], "'yesterday' is no date or time; write it like 2026-01-31"),
        (["--from", "2026-02-01", "--to", "2026-02-01"], "--from must be before --to"),
        (["--account", "nobody"], "account 'nobody' is unknown"),
    ],
)
def test_wrong_arguments_of_an_export_are_refused_in_words(shop: Shop, arguments: list[str], words: str) -> None:
    refused = runs(shop, "export", *arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert words in " ".join(refused.stderr.split())


def test_a_period_that_is_not_over_is_told(shop: Shop) -> None:
    for end, closed in (("2026-01-01T11:54:59", True), ("2026-01-01T11:56", False), ("2026-01-02", False)):
        assert ("NOT CLOSED" in runs(shop, "export", "--to", end).stderr) is not closed
    assert "NOT CLOSED" in runs(shop, "export").stderr


def test_a_transaction_that_is_still_open_keeps_a_period_from_being_closed(
    open_shop: OpenShop, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = open_shop(SQLALCHEMY_DATABASE_URI=postgres_database)
    checkout_id = shop.has_paid()
    closed = ("export", "--to", "2026-01-01T11:54:59")
    checkouts, engine = shop.runtime.models.checkouts, shop.engine
    monkeypatch.setattr("flask_paycheckout.books.export._OPEN_FOR", timedelta(0))
    monkeypatch.setattr("flask_paycheckout.books.export._COMMITS_WITHIN", timedelta(minutes=6))
    assert "NOT CLOSED" not in runs(shop, *closed).stderr
    with engine.begin() as connection:
        connection.execute(select(checkouts)).all()
        assert "NOT CLOSED" not in runs(shop, *closed).stderr, "a transaction that only reads books nothing"
        connection.execute(update(checkouts).where(checkouts.c.checkout_id == checkout_id).values(webhooks=1))
        assert "NOT CLOSED" in runs(shop, *closed).stderr


def test_amounts_that_the_service_left_out_are_told(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed", fee={"amount": number("0.37")})
    shop.settles(checkout_id)
    ran = runs(shop, "export")
    assert ran.exit_code == 0
    assert "INCOMPLETE: 1 of the lines lack an amount, fee or currency" in ran.stderr
    assert ",USD,12.50,,,," in ran.stdout


def test_a_booking_that_cannot_be_read_is_named_and_stops_no_other(shop: Shop) -> None:
    books(shop, 3)
    table = shop.runtime.models.bookings
    shop.executes(update(table).where(table.c.subject == "p-1").values(kind="of another program"))
    assert len(exported(shop, code=1)) == 2
    assert "1 bookings cannot be read, by id: 2" in runs(shop, "export").stderr
    month = shop.runtime.books.month(f"{shop.clock():%Y-%m}")
    assert (month.sums.lines, month.sums.incomplete) == (3, 1)


@pytest.mark.parametrize("account", [None, ""])
def test_each_page_begins_in_the_index_where_the_one_before_ended(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, account: str | None
) -> None:
    """With two lower bounds SQLite would read each page from the beginning of the period."""
    for order_id in ("o-1", "o-2"):
        shop.has_paid(order_id)
    books(shop, 2)
    monkeypatch.setattr(export, "PAGE", 1)
    shop_books = shop.runtime.books
    period = replace(month_period("2026-01"), account=account)
    with plans(shop.engine) as seen:
        assert len(list(shop_books.lines(period))) == 4
    of_account = "time" if account is None else "account"
    assert len(seen) == 5
    for statement, plan in seen:
        assert f"INDEX ix_paycheckout_booking_{of_account}" in plan, plan
        assert "TEMP B-TREE" not in plan
        assert statement.count(">") == 1, statement


def test_months() -> None:
    assert month_period("2026-12").end == datetime(2027, 1, 1, tzinfo=UTC)
    for text in ("2026-13", "9999-12", "2026-01-01"):
        with pytest.raises(ValueError, match="is no month"):
            month_period(text)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert months_until(now, datetime(2025, 11, 30, tzinfo=UTC)) == ["2026-01", "2025-12", "2025-11"]


def test_days_and_months_follow_the_time_zone_of_the_shop(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_TIME_ZONE="America/New_York")
    shop.clock.now = datetime(2026, 2, 1, 4, 59, 59, tzinfo=UTC)
    shop.has_paid("o-1")
    shop.waits(seconds=1)
    shop.has_paid("o-2")
    shop.waits(days=58)
    books = shop.runtime.books
    assert books.months() == ["2026-03", "2026-02", "2026-01"]
    february = books.month("2026-02", "")
    assert (february.sums.lines, february.closed) == (1, True)
    assert not books.month("2026-03").closed
    [(key, totals)] = february.sums.totals.items()
    assert (key, totals["payments"], totals["received"]) == (("", "USD"), Decimal("12.50"), Decimal("12.13"))
    [line] = exported(shop, "--from", "2026-02-01")
    assert line["booked_at"] == "2026-02-01T05:00:00.000000+00:00", "the file stays in UTC"
    assert exported(shop, "--from", "2026-02-01T06:00+01:00") == [line], "a time may name its own offset"
    assert [line.order_id for line in shop.calls.books(end="2026-02-01")] == ["o-1"]


def test_bookkeepers_get_local_dates_codes_and_a_mark(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_TIME_ZONE="Asia/Tokyo", PAYCHECKOUT_ACCOUNT_CODES={"payment": "8400"})
    shop.clock.now = datetime(2026, 1, 31, 20, 0, tzinfo=UTC)
    shop.settles(shop.has_deposit("completed", "o-1", **FEE))
    books(shop, 1, order_id="=cmd;x", reference="=1")
    ran = runs(shop, "export", "--format", "accounting", "--from", "2026-02-01")
    assert ran.exit_code == 0
    assert ran.stdout_bytes.decode() == (
        "\ufeffdate;kind;text;order;reference;currency;amount;fee;net;code\r\n"
        "2026-02-01;payment;Order o-1;o-1;chk-1;USD;12.50;0.37;12.13;8400\r\n"
        """2026-02-01;payout;"Order =cmd;x";"'=cmd;x";'=1;USD;-1;0;-1;\r\n"""
    )
    ran = runs(shop, "export", "--format", "accounting", "--delimiter", ",")
    assert "2026-02-01,payment,Order o-1,o-1,chk-1,USD,12.50,0.37,12.13,8400\r\n" in ran.stdout_bytes.decode()


@pytest.mark.parametrize(
    "words",
    [
        ["--delimiter", ";"],
        *(["--format", "accounting", "--delimiter", mark] for mark in (".", "\x1f", "\udcff")),
    ],
    ids=["other format", "point", "control character", "half of a character"],
)
def test_a_delimiter_that_cannot_be_used_is_refused(shop: Shop, words: list[str]) -> None:
    ran = runs(shop, "export", *words)
    assert (ran.exit_code, "--delimiter" in ran.stderr, ran.stdout) == (2, True, "")

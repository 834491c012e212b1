"""The commands: thin, with exit codes for scripts and JSON for programs."""

from __future__ import annotations

import errno
import json
import signal
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError

from flask_paycheckout import Pay, order_paid
from tests.conftest import OpenShop
from tests.payouts.shop import pays_out
from tests.scripted import Shop

AT = "2026-01-01 12:00:00Z"


runs = Shop.runs


def test_reconcile_says_what_it_did_and_exits_with_1_when_something_failed(shop: Shop) -> None:
    shop.has_deposit("completed")
    ran = runs(shop, "reconcile")
    assert (ran.exit_code, ran.output) == (0, "checked 1, changed 1, delivered 1, failed 0\n")
    for order_id in ("o-2", "o-3"):
        shop.costs("12.50", order_id)
        shop.service.fails(shop.starts(order_id))
    ran = runs(shop, "reconcile", "--limit", "1", "--json")
    report = json.loads(ran.stdout)
    nothing = {"sent": 0, "completed": 0, "failed": 0, "unknown": 0, "left": 0, "failed_calls": 0}
    assert (ran.exit_code, report.pop("payouts")) == (1, nothing)
    assert report == {"checked": 1, "changed": 0, "delivered": 0, "failed": 1}


def test_watching_goes_on_until_stopped_and_finishes_its_round(shop: Shop) -> None:
    """The signal arrives during a read."""
    shop.has_deposit("completed")
    shop.service.meanwhile = lambda: signal.raise_signal(signal.SIGTERM)
    before = signal.getsignal(signal.SIGTERM)
    ran = runs(shop, "reconcile", "--watch", "--interval", "600")
    assert (ran.exit_code, ran.stdout) == (0, f"{AT} checked 1, changed 1, delivered 1, failed 0\n")
    assert ran.stderr == "Watching: a round every 600 s. Ctrl+C finishes the round and ends it.\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_watching_survives_a_round_that_breaks(shop: Shop) -> None:
    """The tables are missing in the first round, and exist in the second."""
    shop.has_deposit("completed")
    shop.service.meanwhile = lambda: signal.raise_signal(signal.SIGINT)
    reads: list[str] = []

    def look(connection: object, cursor: object, statement: str, *rest: object) -> None:
        # A round with failing payouts still settles the deposits.
        if "paycheckout_checkout" in statement:
            reads.append(statement)
            if len(reads) > 1:
                return
            raise OperationalError(statement, None, Exception("server closed the connection"))

    event.listen(shop.engine, "before_cursor_execute", look)
    ran = runs(shop, "reconcile", "--watch", "--interval", "0.1")
    assert ran.exit_code == 0
    assert f"{AT} round failed, trying again in 0.1 s: OperationalError" in ran.output
    assert ran.output.endswith(f"{AT} checked 1, changed 1, delivered 1, failed 0\n")


def test_an_output_for_which_the_disk_has_no_space_is_told_in_a_sentence(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("flask_paycheckout.cli.commands.report_lines", fail)
    ran = runs(shop, "report")
    assert (ran.exit_code, ran.stderr) == (
        1,
        "Error: the output could not be written to its end: No space left on device\n",
    )


@pytest.mark.parametrize("interval", ["0", "nan", "inf", "1e12"])
def test_an_interval_that_nobody_can_wait_for_is_refused_before_the_first_round(shop: Shop, interval: str) -> None:
    ran = runs(shop, "reconcile", "--watch", "--interval", interval)
    assert (ran.exit_code, "--interval" in ran.stderr, ran.stdout) == (2, True, "")


def breaks(app: Flask, **facts: Any) -> None:
    raise RuntimeError("the warehouse is closed")


def hears(app: Flask, **facts: Any) -> None:
    """A receiver without effect."""


def test_show_says_why_an_event_waits_and_deliver_tries_it_at_once(shop: Shop) -> None:
    with order_paid.connected_to(hears, sender=shop.app), order_paid.connected_to(breaks, sender=shop.app):
        shop.has_paid()
        shop.reconciles(seconds=1)
        output = runs(shop, "show", "o-1").output
        assert "tried 2 times; RuntimeError: the warehouse is closed (receiver tests.test_cli.breaks);" in output
        assert "tests.test_cli.hears; tried next after 2026-01-01 12:00:11Z" in output
        ran = runs(shop, "deliver")
        assert (ran.exit_code, ran.output.splitlines()[0]) == (1, "delivered 0, failed 0, still waiting 1")
        ran = runs(shop, "deliver", "--order", "o-1", "--now", "--json")
        assert (ran.exit_code, json.loads(ran.stdout)) == (1, {"delivered": 0, "failed": 1, "waiting": 1})
    with order_paid.connected_to(hears, sender=shop.app):
        assert runs(shop, "deliver", "--order", "o-2", "--now").output == "delivered 0, failed 0, still waiting 0\n"
        assert runs(shop, "deliver", "--order", "", "--now").exit_code == 2, "a variable that is empty means no order"
        ran = runs(shop, "deliver", "--now")
    assert (ran.exit_code, ran.output) == (0, "delivered 1, failed 0, still waiting 0\n")
    assert "not delivered" not in runs(shop, "show", "o-1").output


def test_show_tells_the_story_to_people_and_programs(shop: Shop) -> None:
    shop.service.fails(shop.starts("o-2"))
    shop.reconciles()
    assert "NOT SETTLED since 2026-01-01 12:00:00Z: GET /v1/deposit/{id}: 500" in runs(shop, "show", "o-2").output
    shop.has_held()
    ran = runs(shop, "show", "o-1")
    assert ran.exit_code == 0
    assert ran.output.startswith("Order o-1: held. Money arrived that needs your decision.")
    read: dict[str, Any] = shop.tells("show", "o-1")
    assert (read["order_id"], read["status"], len(read["attempts"])) == ("o-1", "held", 1)
    ran = runs(shop, "show", "o-404")
    assert (ran.exit_code, ran.output) == (
        1,
        "Order o-404: unpaid. Nobody has started to pay this order. (Abandoned attempts may have been pruned.)\n",
    )


@pytest.mark.parametrize(("flag", "status"), [("--accept", "paid"), ("--reject", "rejected")])
def test_resolve_decides_and_tells_what_came_of_it(shop: Shop, flag: str, status: str) -> None:
    shop.has_held("o-1")
    ran = runs(shop, "resolve", "chk-1", flag, "--by", "Ada", "--why", "the customer called")
    assert (ran.exit_code, ran.output) == (0, f"checkout chk-1 of order o-1 is {status}\n")


def test_resolve_gives_the_link_of_a_refunded_excess(shop: Shop) -> None:
    """The link is needed to give the refund's destination, and no other command prints it."""
    shop.settles(shop.has_arrived("13.00"))
    ran = runs(shop, "resolve", "chk-1", "--accept", "--refund-excess", "--by", "Ada", "--why", "paid too much")
    refused = runs(shop, "resolve", "chk-1", "--reject", "--refund-excess", "--by", "Ada", "--why", "paid too much")
    assert "Invalid value for '--accept': accept must be True" in refused.stderr
    decided, link = ran.output.splitlines()
    assert decided == "checkout chk-1 of order o-1 is paid"
    page = shop.app.test_client().get(link.split()[-1])
    assert (page.status_code, "0.50" in page.text) == (200, True)


def test_bytes_that_are_no_text_are_the_id_of_no_money_to_keep(shop: Shop) -> None:
    ran = runs(shop, "keep", "\udcff", "--by", "Ada", "--why", "typed in another encoding")
    assert (ran.exit_code, "no checkout '\\udcff' is stored" in ran.stderr) == (1, True)


def test_money_that_paid_no_order_is_kept_or_given_back_by_hand(shop: Shop) -> None:
    options = ["--by", "Ada", "--why", "transfer 17"]
    for order_id in ("o-1", "o-2"):
        shop.has_rejected(order_id)
    assert runs(shop, "report").exit_code == 1
    ran = runs(shop, "keep", "chk-1", *options)
    assert (ran.exit_code, ran.output) == (0, "the money of checkout chk-1 of order o-1 is kept\n")
    assert runs(shop, "keep", "chk-1", *options).exit_code == 1
    ran = runs(shop, "refund", "chk-2", "--by-hand", *options)
    assert (ran.exit_code, "is completed" in ran.output, "http" in ran.output) == (0, True, False)
    assert "Nothing needs a person." in runs(shop, "report").output


def test_report_exits_with_1_when_something_needs_a_person(shop: Shop) -> None:
    shop.has_paid()
    ran = runs(shop, "report")
    assert (ran.exit_code, ran.output.splitlines()[-1]) == (0, "Nothing needs a person.")
    shop.has_held("o-2")
    assert runs(shop, "report").exit_code == 1
    ran = runs(shop, "report", "--json")
    assert (ran.exit_code, json.loads(ran.stdout)["checkouts"]["held"]) == (1, 1)
    ran = runs(shop, "report", "--json", "--at-least", "now")
    assert (ran.exit_code, json.loads(ran.stdout)["alarms"]) == (0, [])
    ran = runs(shop, "report", "--at-least", "now")
    assert (ran.exit_code, ran.output.splitlines()[-1]) == (0, "Nothing needs a person at once.")


def test_report_names_the_webhooks_address_and_not_its_secret(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_WEBHOOK_SECRET="canary-of-the-webhook")
    report = shop.tells("report")
    assert report["webhook_url"] == "https://<the shop's address>/paycheckout/webhook/***"


@pytest.mark.parametrize("command", ["report", "doctor"])
def test_a_database_that_cannot_be_read_is_never_told_as_well(shop: Shop, command: str) -> None:
    shop.executes(text("ALTER TABLE paycheckout_checkout DROP COLUMN webhooks"))
    ran = runs(shop, command)
    assert ran.exit_code == 1
    assert "webhooks" in ran.output
    assert "flask paycheckout doctor" in ran.output or "flask db migrate" in ran.output
    assert "Nothing needs a person" not in ran.output


@pytest.mark.parametrize(
    ("option", "text"), [("--help", "python -m flask_paycheckout.sandbox"), ("--list-unknowns", "http_status")]
)
def test_sandbox_hands_its_options_through(
    shop: Shop, capsys: pytest.CaptureFixture[str], option: str, text: str
) -> None:
    ran = runs(shop, "sandbox", option)
    assert ran.exit_code == 0
    assert text in ran.output + capsys.readouterr().out


@pytest.mark.parametrize("command", ["report", "payouts", "deeds", "show", "requests"])
def test_a_terminal_without_these_letters_gets_their_escapes(shop: Shop, command: str) -> None:
    pays_out(shop, "p-\u03a9", note="\u03a9", order_id="o-\u03a9", approve=True)
    with shop.app.app_context():
        shop.paycheckout.request(Pay("5.00", "USD"), title="\u03a9", by="Ada")
        shop.db.session.commit()
        shop.paycheckout.cancel_payout("p-\u03a9", by="\u03a9", why="\u03a9") if command == "deeds" else None
    words = [command, "o-\u03a9"] if command == "show" else [command]
    ran = shop.app.test_cli_runner(charset="cp1252").invoke(args=["paycheckout", *words])
    assert (ran.exception is None or isinstance(ran.exception, SystemExit), "\\u03a9" in ran.output) == (True, True)

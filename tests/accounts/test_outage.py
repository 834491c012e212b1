"""An outage of the service for an hour: the log stays short and counts left-out lines, and the report is complete."""

from __future__ import annotations

import json
import logging

import pytest

from tests.accounts.conftest import Sellers, SigningService
from tests.payouts.shop import pays_out
from tests.scripted import Shop

SELLERS = [f"s-{number:02}" for number in range(20)]
CHECKOUTS = 50
#: Kinds of log lines: failed reads of deposits, failed sends of payouts, and the count of left-out lines.
KINDS = 3


def stores_many(shop: Shop, seller: str, checkout_id: str) -> None:
    """Store due checkouts of a seller, copied from a checkout that was started through the shop."""
    own = {"account": seller, "next_read_at": shop.clock.now}
    ids = [f"{seller}-{number}" for number in range(CHECKOUTS)]
    shop.stores_like(
        checkout_id, [own | {"checkout_id": f"chk-{id_}", "order_id": id_, "current_order_id": id_} for id_ in ids]
    )


def left_out(records: list[logging.LogRecord]) -> int:
    return sum(vars(record)["left_out"] or 0 for record in records)


@pytest.mark.usefixtures("no_retries")
def test_an_outage_of_an_hour_is_a_line_a_minute_for_each_account(
    market: Sellers, service: SigningService, caplog: pytest.LogCaptureFixture
) -> None:
    shop = market.shop
    market.add("s-00", "o-1")
    first_id = shop.starts("o-1")
    for seller in SELLERS:
        market.add(seller, f"{seller}-o")
        stores_many(shop, seller, first_id)
        pays_out(shop, f"of-{seller}", account=seller)
    market.client_ids.pop("s-19")
    service.refused = {*market.client_ids.values(), *market.tokens.values()} | {f"token-{seller}" for seller in SELLERS}
    caplog.set_level(logging.INFO, "flask_paycheckout")
    failed = 0
    for _ in range(5):
        report = shop.reconciles()
        failed += report.failed
        shop.waits(seconds=15)
    first = list(caplog.records)
    for _ in range(4):
        shop.reconciles(minutes=15)
    per_minute = len(SELLERS) * KINDS
    assert len(first) <= 2 * per_minute
    assert len(caplog.records) <= 6 * per_minute
    reads = [record for record in first if "could not be read" in record.message]
    for seller in SELLERS:
        assert any(vars(record)["account"] == seller for record in reads), "each account has a line of its own"
    assert len(reads) + left_out(caplog.records) >= failed, "and what has none is counted"
    gone = [record for record in first if "are not sent" in record.message and vars(record)["account"] == "s-19"]
    assert 1 <= len(gone) <= 2, "an account that is gone is no line in each round"
    alarm = shop.runs("report", "--json")
    assert alarm.exit_code == 2
    [unread] = [one for one in json.loads(alarm.stdout)["alarms"] if one["kind"] == "unread-payments"]
    assert (unread["key"], unread["account"]) == ("unread-payments", None), "an outage is one alarm for all accounts"
    assert all(any(f"(account {seller})" in example["text"] for example in unread["examples"]) for seller in SELLERS)

"""However much has happened, a page stays small, and the rest is a link away."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from tests.sandbox.actors import Tester
from tests.sandbox.crowds import FEW, id_of
from tests.sandbox.inspector.developer import Developer

pytestmark = pytest.mark.slow("tables of thousands of rows")

#: Bytes that no page exceeds.
MOST_BYTES = 160_000


@pytest.mark.parametrize(
    "path",
    [
        *("", "inspector/unknowns", "inspector/reset", "inspector/control"),
        *("inspector/requests", "inspector/mails", "inspector/webhooks"),
        "inspector/accounts",
        *(f"inspector/{kind}/{id_of(1)}" for kind in ("checkouts", "disbursements", "payments")),
        *(f"inspector/webhooks?order={id_of(1)}", f"inspector/requests/{FEW}"),
    ],
)
def test_a_page_stays_below_a_bound(crowded: Flask, path: str) -> None:
    assert len(Developer(crowded).opens(f"/{path}").encode()) < MOST_BYTES


@pytest.mark.parametrize(
    ("page", "words", "row", "count"),
    [
        ("/", "Older checkouts", r'href="/inspector/checkouts/(\w+)"', 25),
        ("/", "Older disbursements", r'href="/inspector/disbursements/(\w+)"', 25),
        ("/", "Older payments", r'href="/inspector/payments/(\w+)"', 25),
        ("/inspector/requests", "Older requests", r'href="/inspector/requests/(\d+)"', 50),
        ("/inspector/mails", "Older mails", r"(p\d+@example.com)</a>", 25),
        ("/inspector/webhooks", "Older webhooks", r'action="/inspector/webhooks/(\w+)"', 50),
    ],
)
def test_a_page_shows_its_newest_rows_and_older_ones_are_a_link_away(
    crowded: Flask, page: str, words: str, row: str, count: int
) -> None:
    developer = Developer(crowded)
    first = developer.opens(page)
    link = re.findall(rf'href="([^"]+)">{words}', first)[0].replace("&amp;", "&")
    newest, older = re.findall(row, first), re.findall(row, developer.opens(link))
    assert len(newest) == len(older) == count
    assert not set(older) & set(newest)


def test_the_newest_webhooks_are_listed(crowded: Flask) -> None:
    assert Developer(crowded).opens("/inspector/webhooks").count("Send again") == 50


def test_faults_beyond_the_listed_ones_are_counted(tester: Tester, developer: Developer) -> None:
    for _ in range(53):
        tester.orders_fault("POST /v1/checkout", "drop")
    assert "And 3 more." in developer.reads("/inspector/control")

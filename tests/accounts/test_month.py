"""A virtual month of a shop with two sellers: an outage and wrong keys make one mail each, daily work makes none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from flask_paycheckout.client import PaymentsError
from tests.accounts.conftest import Sellers, SigningService
from tests.alarming import told
from tests.conftest import OpenShop
from tests.docs.pages import all_scenes
from tests.scripted import number, refusal

DAY, NIGHT = 24, 8


class Month:
    """The hours of a month; each tells of alarms by the recipe's own code."""

    def __init__(self, market: Sellers) -> None:
        self.market, self.shop = market, market.shop
        [recipe] = [scene for scene in all_scenes() if scene.scenario == "alarm_mails"]
        self._recipe: dict[str, Any] = {"__name__": "alarm_mails"}
        exec(recipe["alarm_mails.py"], self._recipe)  # noqa: S102 - the page's own code
        self._told: dict[str, str] = {}
        self.mails: list[str] = []

    def hours(self, count: int) -> Iterator[int]:
        for hour in range(count):
            yield hour
            self.passes(minutes=60)

    def passes(self, minutes: int) -> None:
        self.shop.clock.advance(minutes=minutes)
        self.shop.reconciles()
        report = told(self.shop).as_dict()
        self.mails += [subject for subject, _ in self._recipe["news"](report, self._told)]

    def sells(self, seller: str, **said: object) -> str:
        order_id = f"{seller}-{len(self.market.of)}"
        self.market.add(seller, order_id)
        checkout_id = self.shop.has_deposit("completed", order_id, **said)
        self.shop.runtime.webhooks.receive(checkout_id)
        return checkout_id

    def works(self, days: int) -> None:
        """Daily work: sales, a failure that heals, a lost webhook, and held payments that staff decides in a while."""
        for hour in self.hours(days * DAY):
            if hour % DAY < NIGHT:
                continue
            held = self.sells("ada", inputAmount=number("1")) if hour % DAY == 10 else None
            self.sells("bo")
            if hour % DAY == 12:
                self.shop.service.instead_of_created.append(refusal(503, "a moment"))
                self.tries_in_vain("ada")
                self.sells("ada")
            if held is not None:
                self.passes(minutes=180)
                self.shop.resolves(held, accept=True)

    def tries_in_vain(self, seller: str) -> None:
        order_id = f"{seller}-{len(self.market.of)}"
        self.market.add(seller, order_id)
        with suppress(PaymentsError):
            self.shop.starts(order_id)
            pytest.fail("it can be started")


@pytest.fixture
def month(open_shop: OpenShop) -> Month:
    return Month(Sellers(open_shop(PAYCHECKOUT_UNHEARD=["order_paid", "payment_held", "payment_resolved"])))


@pytest.mark.slow("a virtual month")
def test_a_month_has_a_mail_for_each_trouble_and_one_when_it_is_over(month: Month, service: SigningService) -> None:
    month.works(days=9)
    assert month.mails == []

    # The service refuses everybody for three hours, and customers try in vain.
    month.market.add("ada", "waits")
    month.shop.starts("waits")
    service.refused = {"id-ada", "id-bo"}
    for _ in range(18):
        month.tries_in_vain("ada")
        month.passes(minutes=10)
    service.refused = set()
    month.passes(minutes=10)
    began = [mail for mail in month.mails if not mail.startswith("Over")]
    assert [mail.split(":")[0] for mail in began] == [
        "Nobody can start a payment with account ada",
        "1 payment (account ada) could not be read or settled",
    ]
    assert sorted(month.mails[2:]) == sorted(f"Over: {mail}" for mail in began)
    month.works(days=10)
    assert len(month.mails) == 4

    # The keys of one seller are wrong for a day, and at night nobody tries.
    month.mails.clear()
    service.refused = {"id-bo"}
    for hour in month.hours(DAY):
        if hour < DAY - NIGHT:
            month.tries_in_vain("bo")
            month.passes(minutes=5)
            month.sells("ada")
    assert [mail.split(":")[0] for mail in month.mails] == ["Nobody can start a payment with account bo"]
    service.refused = set()
    month.works(days=9)
    assert month.mails[1:] == [f"Over: {month.mails[0]}"]

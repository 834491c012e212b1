"""Two virtual weeks of a shop with two sellers: an outage and wrong keys each cause one mail, and daily work none."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import httpx
import pytest

from flask_paycheckout.client import PaymentsError
from tests.accounts.conftest import Sellers, SigningService
from tests.alarming import told, urgent
from tests.docs.pages import all_scenes
from tests.payouts.shop import pays_out
from tests.scripted import number, refusal

DAY, NIGHT = 24, 8
UNREACHABLE = httpx.ConnectError("[Errno 111] Connection refused")


class Weeks:
    """The hours of two weeks; after each, the code of the documentation's recipe mails alarms."""

    def __init__(self, market: Sellers) -> None:
        self.market, self.shop = market, market.shop
        [recipe] = [scene for scene in all_scenes() if scene.scenario == "alarm_mails"]
        self._recipe: dict[str, Any] = {"__name__": "alarm_mails"}
        exec(recipe["alarm_mails.py"], self._recipe)  # noqa: S102 - the page's own code
        self._told: dict[str, str] = {}
        self.mails: list[str] = []

    def passes(self, minutes: int) -> None:
        self.shop.reconciles(minutes=minutes)
        report = told(self.shop).as_dict()
        self.mails += [subject for subject, _ in self._recipe["news"](report, self._told)]

    def sells(self, seller: str, order_id: str | None = None, **fields: object) -> str:
        if order_id is None:
            order_id = f"{seller}-{len(self.market.of)}"
            self.market.add(seller, order_id)
        checkout_id = self.shop.has_deposit("completed", order_id, **fields)
        self.shop.runtime.webhooks.receive(checkout_id)
        return checkout_id

    def works(self, days: int) -> None:
        """Daily work: sales, a failure that passes, a lost webhook, and held payments that staff decides later."""
        for hour in range(days * DAY):
            if hour % DAY >= NIGHT:
                self.works_for_an_hour(hour % DAY)
            self.passes(minutes=60)

    def works_for_an_hour(self, hour: int) -> None:
        held_id = self.sells("ada", inputAmount=number("1")) if hour == 10 else None
        self.sells("bo")
        if hour == 12:
            self.shop.service.instead_of_created.append(refusal(503, "a moment"))
            order_id = self.tries_in_vain("ada")
            self.shop.waits(seconds=1)
            self.sells("ada", order_id)
        if held_id is not None:
            self.passes(minutes=180)
            self.shop.resolves(held_id, accept=True)

    def waits(self, *sellers: str) -> None:
        """Each of these sellers has a payment to be read and a payout to be sent."""
        for seller in sellers:
            order_id = f"{seller}-{len(self.market.of)}"
            self.market.add(seller, order_id)
            self.shop.starts(order_id)
            pays_out(self.shop, f"of-{order_id}", account=seller)

    def fails(self, hours: int, *sellers: str) -> None:
        """Customers of these sellers try to pay in vain for some hours, except at night."""
        for hour in range(hours):
            for _ in range(6):
                if hour % DAY < DAY - NIGHT:
                    for seller in sellers:
                        self.tries_in_vain(seller)
                self.passes(minutes=10)

    def tries_in_vain(self, seller: str) -> str:
        order_id = f"{seller}-{len(self.market.of)}"
        self.market.add(seller, order_id)
        with suppress(PaymentsError):
            self.shop.starts(order_id)
            pytest.fail("it can be started")
        return order_id


@pytest.fixture
def weeks(market: Sellers) -> Weeks:
    return Weeks(market)


@pytest.mark.usefixtures("no_retries")
@pytest.mark.slow("two virtual weeks")
def test_two_weeks_have_a_mail_for_each_trouble_and_one_when_it_is_over(weeks: Weeks, service: SigningService) -> None:
    weeks.works(days=4)
    assert weeks.mails == []

    # The service is unreachable for a day; then its proxy answers, and an hour later the service itself.
    weeks.waits("ada", "bo")
    service.down = UNREACHABLE
    weeks.fails(DAY, "ada", "bo")
    service.down = refusal(503, "closed for repair")
    weeks.fails(1)
    assert len(weeks.mails) == 1
    service.down = None
    weeks.works(days=4)
    stopped, over = weeks.mails[1:]
    assert "customers could not pay between" in stopped
    assert over == f"Over: {weeks.mails[0]}"

    # The keys of one seller are wrong for a day, while the other one sells.
    weeks.mails.clear()
    weeks.waits("bo")
    service.refused = {"id-bo"}
    weeks.fails(DAY, "bo")
    weeks.sells("ada")
    assert len(weeks.mails) == 1
    assert "with account bo: the keys were refused" in weeks.mails[0]
    service.refused = set()
    weeks.works(days=4)
    assert weeks.mails[1:] == [f"Over: {weeks.mails[0]}"]
    assert urgent(weeks.shop) == {"failed-starts"}, "those of the last seven days"

"""Customers, as they are: most pay, some dither, some pay twice, some come late, some never come back.

A life is a generator of pauses in virtual seconds; every choice comes from the run's seed and the customer's number.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

from requests import Response

from tests.chance import stream
from tests.soak.calls import NoAnswer, call, pull
from tests.soak.processes import WEB, Processes, Sandbox

Pauses = Generator[float, None, Any]
_FORM = re.compile(r'<form[^>]*action="([^"]+)"')
_STATUS = re.compile(r"href='([^']+)'")
# The shop's circuit breaker waits in seconds of the machine, of which each is many of a customer's.
_MOST_TRIES = 400
_MINUTE = 60.0

# What they set out to do, and how many in a hundred.
PLANS = {
    "pays": 28,
    "wants_money_back": 12,
    "changes_the_cart_while_it_is_paid": 10,
    "pays_in_two_tabs": 7,
    "pays_less": 5,
    "pays_late": 7,
    "picks_and_leaves": 5,
    "leaves": 9,
    "changes_the_cart": 4,
    "cancels": 5,
    "pays_an_old_and_a_new_page": 4,
    "pays_two_prices": 4,
}
_SAME_SITE = {"Sec-Fetch-Site": "same-origin"}
_BANKS = [{"account_number": "4000123499"}, {"account_number": "7700554477"}]
_CLAIM = {
    "account_name": "Cy Customer",
    "bank_name": "First Sandbox Bank",
    "email": "cy@example.com",
    "address": "1 Analytical Street",
    "city": "New York",
    "post_code": "10001",
    "country": "United States",
}
# Pay in dollars, pay in euros, or receive dollars for euros.
_TOTALS = (("pay", "USD", None), ("pay", "EUR", None), ("receive", "USD", "EUR"))


@dataclass
class Town:
    """What all customers share, and what they wrote down."""

    processes: Processes
    sandbox: Sandbox
    seed: int
    locations: list[dict[str, str]] = field(default_factory=list)
    plans: dict[str, int] = field(default_factory=dict)
    strange: list[str] = field(default_factory=list)

    def lives(self, many: int) -> Iterator[Iterator[float]]:
        return (Customer(self, number).life() for number in range(many))


class Customer:
    """One order's customer."""

    def __init__(self, town: Town, number: int) -> None:
        self._town = town
        self._chance = stream(town.seed, f"customer {number}")
        self.order_id = f"order-{number:05d}"
        # Which process the load balancer picks; drawn apart, because two tabs draw in any order.
        self._balancer = stream(town.seed, f"balancer of customer {number}")
        kind, currency, other = self._chance.choices(_TOTALS, (70, 15, 15))[0]
        self._total = {"kind": kind, "amount": self._price(), "currency": currency, "other_currency": other}
        self._plan: str = self._chance.choices(list(PLANS), list(PLANS.values()))[0]
        self._form = self._status = ""

    def _price(self) -> str:
        return f"{self._chance.randint(500, 90_000) / 100:.2f}"

    def life(self) -> Pauses:
        self._town.plans[self._plan] = self._town.plans.get(self._plan, 0) + 1
        if not (yield from self._places_the_order()):
            return
        yield self._some(5, 40)
        plan: Callable[[], Pauses] = getattr(self, f"_{self._plan}")
        yield from plan()

    # Plans

    def _pays(self) -> Pauses:
        page = yield from self._presses_pay()
        if self._chance.random() < 0.15:
            yield self._some(1, 20)
            page = (yield from self._presses_pay()) or page
        yield self._some(5, 60)
        yield from self._pays_on(page)
        yield from self._looks(3)
        if self._chance.random() < 0.1:
            yield from self._presses_pay()

    def _wants_money_back(self) -> Pauses:
        """All of it or a part, at times twice at once; to where the merchant knows, or where the customer says."""
        page = yield from self._presses_pay()
        yield self._some(5, 60)
        short = self._chance.random() < 0.3
        yield from self._pays_on(page, "2.50" if short else None)
        yield from self._looks(6)
        wanted = {"amount": self._chance.choice([None, "1.00", "0.50"]), "claims": self._chance.random() < 0.5}
        ask = f"/orders/{self.order_id}/refund"
        if self._chance.random() < 0.3:
            self._together(*[lambda: self._tries_once("POST", ask, wanted)] * 2)
        answer = yield from self._tries(lambda: self._asks("POST", ask, wanted))
        if answer is not None and answer.status_code == 200 and wanted["claims"]:
            yield from self._claims(answer.json())

    def _claims(self, refund: dict[str, str]) -> Pauses:
        """Says where the money goes, at times once more while somebody approves it."""
        path = "/" + refund["url"].split("/", 3)[3]
        approve = f"/payouts/{refund['reference']}/approve"
        for bank in self._chance.sample(_BANKS, self._chance.choice([1, 1, 2])):
            yield self._some(1, 60)
            claim = partial(self._tries_once, "POST", path, urlencode(_CLAIM | bank), **_SAME_SITE)
            self._together(claim, partial(self._tries_once, "POST", approve, {}))
        yield self._some(1, 60)
        yield from self._tries(lambda: self._asks("POST", approve, {}))

    def _pays_in_two_tabs(self) -> Pauses:
        pages = self._together(self._press, self._press)
        page = next((page for page in pages if page), None) or (yield from self._presses_pay())
        yield self._some(5, 60)
        self._together(*[lambda page=page: self._pay(page) for page in {*pages, page} if page])
        yield from self._looks(2)

    def _pays_less(self) -> Pauses:
        page = yield from self._presses_pay()
        yield self._some(5, 60)
        short = self._chance.choice(["0.01", "1.00", "2.50", f"{float(self._total['amount'] or 0) - 0.01:.2f}"])
        yield from self._pays_on(page, short)
        yield from self._looks(2)

    def _pays_late(self) -> Pauses:
        page = yield from self._presses_pay()
        yield self._some(5, 14 * _MINUTE)
        self._pick(page)
        yield self._some(16 * _MINUTE, 24 * _MINUTE)
        self._pay(page)
        yield from self._looks(1)

    def _picks_and_leaves(self) -> Pauses:
        page = yield from self._presses_pay()
        yield self._some(5, 60)
        self._pick(page)
        yield from self._looks(1)

    def _leaves(self) -> Pauses:
        yield from self._presses_pay()

    def _changes_the_cart(self) -> Pauses:
        old = yield from self._presses_pay()
        yield self._some(5, 60)
        if self._chance.random() < 0.5:
            self._pick(old)
        yield from self._changes_amount(self._price())
        yield self._some(5, 400)
        # The tab with the old page is still open, and looks the same.
        page = old if self._chance.random() < 0.5 else (yield from self._presses_pay())
        yield from self._pays_on(page)
        yield from self._looks(1)

    def _changes_the_cart_while_it_is_paid(self) -> Pauses:
        """One device pays, the other one fills the cart or gives it up: before, in and after the settlement."""
        page = yield from self._presses_pay()
        yield self._some(5, 60)
        self._pick(page)
        change, body = self._chance.choice([("cart", {"amount": self._price()}), ("cancel", {})])
        self._together(
            lambda: self._pay(page),
            lambda: self._tries_once("POST", f"/orders/{self.order_id}/{change}", body),
            lambda: self._tries_once("GET", f"{self._status}/status", None),
        )
        yield from self._looks(1)

    def _cancels(self) -> Pauses:
        page = yield from self._presses_pay()
        yield self._some(5, 60)
        yield from self._tries(lambda: self._asks("POST", f"/orders/{self.order_id}/cancel", {}))
        yield self._some(0, 300)
        if self._chance.random() < 0.7:
            yield from self._pays_on(page)

    def _pays_an_old_and_a_new_page(self) -> Pauses:
        old = yield from self._presses_pay()
        yield self._some(5, 60)
        self._pick(old)
        yield self._some(16 * _MINUTE, 20 * _MINUTE)
        new = yield from self._presses_pay()
        yield from self._pays_both(old, new)

    def _pays_two_prices(self) -> Pauses:
        first_price = self._total["amount"]
        old = yield from self._presses_pay()
        yield self._some(5, 60)
        self._pick(old)
        yield from self._changes_amount(self._price())
        new = yield from self._presses_pay()
        if self._chance.random() < 0.3 and first_price:
            yield from self._changes_amount(first_price)
        yield from self._pays_both(old, new)

    # What they do

    def _pays_both(self, old: str | None, new: str | None) -> Pauses:
        yield self._some(5, 300)
        if self._chance.random() < 0.5:
            self._together(lambda: self._pay(old), lambda: self._pay(new))
        else:
            pages = [old, new]
            self._chance.shuffle(pages)
            yield from self._pays_on(pages[0])
            yield self._some(1, 300)
            yield from self._pays_on(pages[1])
        yield from self._looks(1)

    def _places_the_order(self) -> Pauses:
        page = yield from self._tries(lambda: self._asks("POST", "/orders", {"id": self.order_id, **self._total}))
        if page is not None:
            self._form, self._status = (html.unescape(found.findall(page.text)[0]) for found in (_FORM, _STATUS))
            self._status = "/" + self._status.split("/", 3)[3]
        return page is not None

    def _changes_amount(self, amount: str) -> Pauses:
        yield from self._tries(lambda: self._asks("POST", f"/orders/{self.order_id}/cart", {"amount": amount}))

    def _presses_pay(self) -> Pauses:
        """The page that the browser was sent to; None when the shop sent it elsewhere."""
        for _ in range(_MOST_TRIES):
            answer = self._send_form()
            if answer is not None and answer.status_code in (303, 404):
                return self._arrive(answer)
            # Nothing, or "please try again": a person waits a moment and does.
            yield self._some(2, 15)
        self._town.strange.append(f"{self.order_id}: nobody could press pay")
        return None

    def _press(self) -> str | None:
        answer = self._send_form()
        return self._arrive(answer) if answer is not None and answer.status_code == 303 else None

    def _send_form(self) -> Response | None:
        try:
            return self._asks("POST", self._form, None, **_SAME_SITE)
        except NoAnswer:
            return None

    def _arrive(self, answer: Response) -> str | None:
        pages = f"{self._town.sandbox.url}/checkout/"
        location = answer.headers.get("Location", "")
        if not location.startswith(pages):
            return None
        checkout_id = location.removeprefix(pages)
        self._town.locations.append({"order_id": self.order_id, "checkout_id": checkout_id, "url": location})
        return checkout_id

    def _pays_on(self, page: str | None, amount: str | None = None) -> Pauses:
        self._pick(page)
        yield self._some(1, 30)
        self._pay(page, amount)

    def _pick(self, page: str | None) -> None:
        if page is not None:
            self._at_the_service(f"checkouts/{page}/pick", {})

    def _pay(self, page: str | None, amount: str | None = None) -> None:
        if page is not None:
            self._at_the_service(f"checkouts/{page}/pay", {} if amount is None else {"amount": float(amount)})

    def _at_the_service(self, lever: str, body: dict[str, Any]) -> None:
        try:
            answer = pull(self._town.sandbox, "POST", lever, body)
        except NoAnswer:
            return  # whether it was done is written down at the service
        # 409: the page is gone, or it was paid from another tab.
        if answer.status_code not in (200, 409):
            self._town.strange.append(f"{self.order_id}: {lever} answered {answer.status_code} {answer.text[:200]}")

    def _looks(self, times: int) -> Pauses:
        for _ in range(times):
            yield self._some(2, 30)
            try:
                answer = self._asks("GET", f"{self._status}/status", None)
            except NoAnswer:
                continue
            if answer.status_code == 200 and answer.json()["final"]:
                return

    def _tries(self, once: Callable[[], Response]) -> Pauses:
        for _ in range(_MOST_TRIES):
            try:
                answer = once()
            except NoAnswer:
                yield self._some(2, 15)
                continue
            if answer.status_code < 500:
                return answer
            yield self._some(2, 15)
        self._town.strange.append(f"{self.order_id}: the shop never answered")
        return None

    def _tries_once(self, method: str, path: str, body: Any, **headers: str) -> None:
        with suppress(NoAnswer):
            self._asks(method, path, body, **headers)

    def _asks(self, method: str, path: str, body: Any, **headers: str) -> Response:
        shop = self._town.processes.url(self._balancer.choice(WEB))
        return call(method, shop + path, body, **headers)

    def _together(self, *deeds: Callable[[], Any]) -> list[Any]:
        with ThreadPoolExecutor(len(deeds) or 1) as threads:
            return [done.result() for done in [threads.submit(deed) for deed in deeds]]

    def _some(self, least: float, most: float) -> float:
        return self._chance.uniform(least, most)

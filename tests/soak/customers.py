"""Customers: most pay, some hesitate, some pay twice, some pay late, some never come back.

The run's seed and the customer's number determine every choice.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import partial
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import urlencode

from requests import Response

from tests.chance import stream
from tests.soak.actor import Actor, Stopped
from tests.soak.calls import NoAnswer, call, pull
from tests.soak.clock import Clockwork
from tests.soak.processes import WEB, Processes, Sandbox

_FORM = re.compile(r'<form[^>]*action="([^"]+)"')
_STATUS = re.compile(r"href='([^']+)'")
# The shop's circuit breaker waits in machine seconds, each of which is many virtual seconds of a customer.
_MOST_TRIES = 400
_MINUTE = 60.0
# The most customers at the same time, and the most calls of them at the same time.
_INHABITANTS, _CALLS = 600, 24

# The plans of customers, each with its percentage of customers.
PLANS = {
    "pays": 30,
    "wants_money_back": 12,
    "changes_the_cart_while_it_is_paid": 10,
    "pays_in_two_tabs": 7,
    "pays_less": 5,
    "pays_late": 7,
    "picks_and_leaves": 5,
    "leaves": 9,
    "changes_the_cart": 9,
    "pays_two_prices": 6,
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


class Town(Actor):
    """All customers. They arrive evenly over a span of time, each in its own thread.

    :param spread: machine seconds over which they arrive; beyond the limit they arrive later.
    """

    def __init__(
        self, processes: Processes, sandbox: Sandbox, clockwork: Clockwork, seed: int, many: int, spread: float
    ) -> None:
        super().__init__()
        self.processes, self.sandbox, self._clockwork, self.seed = processes, sandbox, clockwork, seed
        self._many, self._gap = many, spread / many
        self.calls_at_once = BoundedSemaphore(_CALLS)
        self.locations: list[dict[str, str]] = []
        self.plans: list[str] = []
        self.strange: list[str] = []
        self._lives: list[Future[None]] = []

    @property
    def everybody_begun(self) -> bool:
        return len(self.plans) >= self._many

    @property
    def done(self) -> bool:
        return len(self._lives) >= self._many and all(life.done() for life in self._lives)

    def failures(self) -> list[BaseException]:
        ended = (life.exception() for life in self._lives if life.done() and not life.cancelled())
        return [failure for failure in ended if failure is not None and not isinstance(failure, Stopped)]

    def acts(self) -> None:
        with ThreadPoolExecutor(_INHABITANTS, "customer") as houses:
            for number in range(self._many):
                if self.stopped.wait(self._gap):
                    houses.shutdown(wait=False, cancel_futures=True)
                    return
                self._lives.append(houses.submit(Customer(self, number).lives))

    def waits(self, seconds: float) -> None:
        """Wait for this number of virtual seconds.

        :raises Stopped: the run is over.
        """
        due = self._clockwork.now() + timedelta(seconds=seconds)
        while (left := (due - self._clockwork.now()).total_seconds()) > 0:
            if self.stopped.wait(min(1.0, max(0.05, left / self._clockwork.speed))):
                raise Stopped


class Customer:
    """One order's customer."""

    def __init__(self, town: Town, number: int) -> None:
        self._town = town
        self._chance = stream(town.seed, f"customer {number}")
        self.order_id = f"order-{number:05d}"
        # The load balancer's choice of a process, from its own stream, because two tabs draw in any order.
        self._balancer = stream(town.seed, f"balancer of customer {number}")
        kind, currency, other = self._chance.choices(_TOTALS, (70, 15, 15))[0]
        self._total = {"kind": kind, "amount": self._price(), "currency": currency, "other_currency": other}
        self._plan: str = self._chance.choices(list(PLANS), list(PLANS.values()))[0]
        self._form = self._status = ""

    def _price(self) -> str:
        return f"{self._chance.randint(500, 90_000) / 100:.2f}"

    def lives(self) -> None:
        self._town.plans.append(self._plan)
        self._waits(0, 5)
        if not self._places_the_order():
            return
        self._waits(5, 40)
        plan: Callable[[], None] = getattr(self, f"_{self._plan}")
        plan()

    # Plans

    def _pays(self) -> None:
        page = self._presses_pay()
        if self._chance.random() < 0.15:
            self._waits(1, 20)
            page = self._presses_pay() or page
        self._waits(5, 60)
        self._pays_on(page)
        self._looks(3)
        if self._chance.random() < 0.1:
            self._presses_pay()

    def _wants_money_back(self) -> None:
        """Get a full or partial refund, sometimes two at once, to a saved recipient or the customer's destination."""
        page = self._opens_a_page()
        short = self._chance.random() < 0.3
        self._pays_on(page, "2.50" if short else None)
        self._looks(6)
        body = {"amount": self._chance.choice([None, "1.00", "0.50"]), "claims": self._chance.random() < 0.5}
        ask = f"/orders/{self.order_id}/refund"
        if self._chance.random() < 0.3:
            self._together(*[lambda: self._tries_once("POST", ask, body)] * 2)
        answer = self._tries("POST", ask, body)
        if answer is not None and answer.status_code == 200 and body["claims"]:
            self._claims(answer.json())

    def _claims(self, refund: dict[str, str]) -> None:
        """Give the refund's destination, sometimes a second time during its approval."""
        path = "/" + refund["url"].split("/", 3)[3]
        approve = f"/payouts/{refund['reference']}/approve"
        for bank in self._chance.sample(_BANKS, self._chance.choice([1, 1, 2])):
            self._waits(1, 60)
            claim = partial(self._tries_once, "POST", path, urlencode(_CLAIM | bank), **_SAME_SITE)
            self._together(claim, partial(self._tries_once, "POST", approve, {}))
        self._waits(1, 60)
        self._tries("POST", approve, {})

    def _pays_in_two_tabs(self) -> None:
        pages = self._together(self._press, self._press)
        page = next((page for page in pages if page), None) or self._presses_pay()
        self._waits(5, 60)
        self._together(*[lambda page=page: self._pay(page) for page in {*pages, page} if page])
        self._looks(2)

    def _pays_less(self) -> None:
        page = self._opens_a_page()
        short = self._chance.choice(["0.01", "1.00", "2.50", f"{float(self._total['amount'] or 0) - 0.01:.2f}"])
        self._pays_on(page, short)
        self._looks(2)

    def _pays_late(self) -> None:
        page = self._presses_pay()
        self._waits(5, 14 * _MINUTE)
        self._pick(page)
        self._waits(16 * _MINUTE, 24 * _MINUTE)
        self._pay(page)
        self._looks(1)

    def _picks_and_leaves(self) -> None:
        self._picks_on_a_page()
        self._looks(1)

    def _leaves(self) -> None:
        self._presses_pay()

    def _changes_the_cart(self) -> None:
        old = self._opens_a_page()
        if self._chance.random() < 0.5:
            self._pick(old)
        change, body = self._change()
        self._tries("POST", change, body)
        self._waits(5, 400)
        # The tab with the old page is still open, and looks the same as the new one.
        page = old if self._chance.random() < 0.5 else self._presses_pay()
        self._pays_on(page)
        self._looks(1)

    def _changes_the_cart_while_it_is_paid(self) -> None:
        """One device pays while another one changes or cancels the cart: before, during and after the settlement."""
        page = self._picks_on_a_page()
        change, body = self._change()
        self._together(
            lambda: self._pay(page),
            lambda: self._tries_once("POST", change, body),
            lambda: self._tries_once("GET", f"{self._status}/status", None),
        )
        self._looks(1)

    def _pays_two_prices(self) -> None:
        first_price = self._total["amount"]
        old = self._picks_on_a_page()
        self._changes_amount(self._price())
        new = self._presses_pay()
        if self._chance.random() < 0.3 and first_price:
            self._changes_amount(first_price)
        self._pays_both(old, new)

    # Acts of customers

    def _pays_both(self, old: str | None, new: str | None) -> None:
        self._waits(5, 300)
        if self._chance.random() < 0.5:
            self._together(lambda: self._pay(old), lambda: self._pay(new))
        else:
            pages = [old, new]
            self._chance.shuffle(pages)
            self._pays_on(pages[0])
            self._waits(1, 300)
            self._pays_on(pages[1])
        self._looks(1)

    def _places_the_order(self) -> bool:
        page = self._tries("POST", "/orders", {"id": self.order_id, **self._total})
        if page is not None:
            self._form, self._status = (html.unescape(pattern.findall(page.text)[0]) for pattern in (_FORM, _STATUS))
            self._status = "/" + self._status.split("/", 3)[3]
        return page is not None

    def _change(self) -> tuple[str, dict[str, str]]:
        """Change the price or cancel the order: returns a path of the shop and the form for it."""
        change, body = self._chance.choice([("cart", {"amount": self._price()}), ("cancel", {})])
        return f"/orders/{self.order_id}/{change}", body

    def _changes_amount(self, amount: str) -> None:
        self._tries("POST", f"/orders/{self.order_id}/cart", {"amount": amount})

    def _presses_pay(self) -> str | None:
        """Press Pay until it works; returns the payment page, or None if the shop redirected elsewhere."""
        answer = self._tries("POST", self._form, None, **_SAME_SITE)
        return None if answer is None else self._arrive(answer)

    def _opens_a_page(self) -> str | None:
        page = self._presses_pay()
        self._waits(5, 60)
        return page

    def _picks_on_a_page(self) -> str | None:
        page = self._opens_a_page()
        self._pick(page)
        return page

    def _press(self) -> str | None:
        """Press Pay once."""
        with suppress(NoAnswer):
            return self._arrive(self._asks("POST", self._form, None, **_SAME_SITE))
        return None

    def _arrive(self, answer: Response) -> str | None:
        pages = f"{self._town.sandbox.url}/checkout/"
        location = answer.headers.get("Location", "")
        if not location.startswith(pages):
            return None
        checkout_id = location.removeprefix(pages)
        self._town.locations.append({"order_id": self.order_id, "checkout_id": checkout_id, "url": location})
        return checkout_id

    def _pays_on(self, page: str | None, amount: str | None = None) -> None:
        self._pick(page)
        self._waits(1, 30)
        self._pay(page, amount)

    def _pick(self, page: str | None) -> None:
        if page is not None:
            self._at_the_service(f"checkouts/{page}/pick", {})

    def _pay(self, page: str | None, amount: str | None = None) -> None:
        if page is not None:
            self._at_the_service(f"checkouts/{page}/pay", {} if amount is None else {"amount": float(amount)})

    def _at_the_service(self, lever: str, body: dict[str, Any]) -> None:
        try:
            with self._town.calls_at_once:
                answer = pull(self._town.sandbox, "POST", lever, body)
        except NoAnswer:
            return  # the service's record shows whether it was done
        # 409: the page has expired, or was paid from another tab.
        if answer.status_code not in (200, 409):
            self._town.strange.append(f"{self.order_id}: {lever} answered {answer.status_code} {answer.text[:200]}")

    def _looks(self, times: int) -> None:
        for _ in range(times):
            self._waits(2, 30)
            with suppress(NoAnswer):
                answer = self._asks("GET", f"{self._status}/status", None)
                if answer.status_code == 200 and answer.json()["final"]:
                    return

    def _tries(self, method: str, path: str, body: Any, **headers: str) -> Response | None:
        for _ in range(_MOST_TRIES):
            with suppress(NoAnswer):
                answer = self._asks(method, path, body, **headers)
                if answer.status_code < 500 and answer.status_code != 429:
                    return answer
            # A person waits a moment and retries.
            self._waits(2, 15)
        self._town.strange.append(f"{self.order_id}: the shop never answered")
        return None

    def _tries_once(self, method: str, path: str, body: Any, **headers: str) -> None:
        with suppress(NoAnswer):
            self._asks(method, path, body, **headers)

    def _asks(self, method: str, path: str, body: Any, **headers: str) -> Response:
        shop = self._town.processes.url(self._balancer.choice(WEB))
        with self._town.calls_at_once:
            return call(method, shop + path, body, **headers)

    def _together(self, *deeds: Callable[[], Any]) -> list[Any]:
        with ThreadPoolExecutor(len(deeds) or 1) as threads:
            return [done.result() for done in [threads.submit(deed) for deed in deeds]]

    def _waits(self, least: float, most: float) -> None:
        self._town.waits(self._chance.uniform(least, most))

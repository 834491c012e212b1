"""Many merchant accounts on one sandbox: its request log tells whose keys signed each call.

Every account has some orders and one payout. A third of the orders is paid with webhooks. Then one account's keys are
replaced, and another account is gone for an hour; meanwhile the rest is paid, half of it without webhooks. All keys are
canaries, so `tests/canaries.py` fails a test in which one shows in a log, page, command, error or repr.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest

from flask_paycheckout import Account, Pay, ToBank
from flask_paycheckout.testing import Sandbox, Signals
from tests.chance import soak_count
from tests.conftest import OpenShop
from tests.payouts.shop import payouts, pays_out
from tests.scripted import SAME_SITE, Shop

#: So many orders cause fewer calls than the sandbox's log keeps.
PORTION = 200
ROTATED, GONE = "seller-1", "seller-2"
BAKER = ToBank("Baker", "4000123412", "us_first_sandbox", "First Sandbox Bank")

OpenMarket = Callable[[int, int], "Market"]


class Wire(httpx.BaseTransport):
    """The transport to the sandbox; it searches every request for keys that do not belong into it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.clock: Callable[[], datetime] = inner.clock
        self.owners: dict[str, str] = {}
        """The account of each client id and access token."""

        self.secrets: dict[str, str] = {}
        """The account of each client secret."""

        self.leaks: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        sent = "\n".join([str(request.url), *request.headers.values(), request.read().decode()])
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        owner = self.owners[request.headers.get("X-Client-ID") or token]
        shown = set(re.findall(r"canary-[\w-]+", sent))
        self.leaks += [f"{owner} sent {one}" for one in shown if one in self.secrets or self.owners.get(one) != owner]
        answer: httpx.Response = self._inner.handle_request(request)
        return answer

    def close(self) -> None:
        self._inner.close()


@dataclass
class Market:
    """A shop with accounts named `seller-1` and so on, beside the account of the settings; each with some orders."""

    shop: Shop
    sandbox: Sandbox
    wire: Wire
    sellers: int
    orders: int
    keys: dict[str, Account] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    checkouts: dict[str, str] = field(default_factory=dict)
    """The checkout id of each order."""

    amounts: dict[Decimal, str] = field(default_factory=dict)
    """The account whose order costs this; no two orders cost the same."""

    log: dict[Any, dict[str, Any]] = field(default_factory=dict)
    """The lines of the sandbox's request log by their ids."""

    def __post_init__(self) -> None:
        self.wire.owners |= {"sandbox-client": "", "sandbox-access-token": ""}
        self.names = ["", *(f"seller-{number + 1}" for number in range(self.sellers))]
        for name in self.names:
            for number in range(self.orders):
                amount = Decimal(1000 + len(self.amounts)) / 100
                self.amounts[amount] = name
                self.shop.totals[f"{name}/{number}"] = Pay(amount, "USD")
            if name:
                made = {"name": name, "webhook_url": "http://localhost/webhook", **_new_keys(name, "first")}
                self._notes(self.sandbox.control("POST", "accounts", **made))
        paycheckout = self.shop.paycheckout
        paycheckout.account_of(lambda order_id: order_id.partition("/")[0])
        paycheckout.account(lambda name: None if name in self.gone else self.keys[name])

    def rotates(self, name: str) -> None:
        """Replace an account's keys at the service, which refuses the old ones at once, and then in the shop."""
        self._notes(self.sandbox.control("POST", f"accounts/{name}/keys", **_new_keys(name, "second")))

    def _notes(self, made: dict[str, Any]) -> None:
        name = made["name"]
        self.keys[name] = Account(made["clientId"], made["clientSecret"], access_token=made["accessToken"])
        self.wire.owners |= {made["clientId"]: name, made["accessToken"]: name}
        self.wire.secrets[made["clientSecret"]] = name

    def orders_of(self, *names: str, third: int) -> list[str]:
        return [f"{name}/{number}" for name in names for number in range(third, self.orders, 3)]

    def in_portions(self, order_ids: list[str], act: Callable[[str], object]) -> None:
        """Do this for each order, and read the log often enough."""
        for count, order_id in enumerate(order_ids, start=1):
            act(order_id)
            if count % PORTION == 0:
                self.reads_log()
        self.reads_log()

    def starts(self, order_id: str) -> None:
        """The customer presses the button and picks a payment method."""
        with self.shop.app.test_request_context():
            path = self.shop.paycheckout.pay_url(order_id)
        answer = self.shop.browser.post(path, headers=SAME_SITE)
        assert answer.status_code == 303, order_id
        self.checkouts[order_id] = answer.location.rsplit("/", 1)[1]
        self.sandbox.pick(self.checkouts[order_id])

    def pays(self, order_id: str) -> None:
        self.sandbox.pay(self.checkouts[order_id])

    def reconciles(self) -> None:
        while True:
            report = self.shop.reconciles(PORTION)
            self.reads_log()
            if not (report.checked or report.delivered or report.payouts.changed):
                return

    def reads_log(self) -> list[dict[str, Any]]:
        """Gives the lines that are new."""
        listed = self.sandbox.control("GET", "requests")
        new = [line for line in listed if line["id"] not in self.log]
        assert not self.log or len(new) < len(listed), "lines may have been lost"
        self.log |= {line["id"]: line for line in new}
        return new

    def paid(self) -> set[str]:
        found: dict[str, str] = {}
        with self.shop.app.app_context():
            for first in range(0, len(self.checkouts), PORTION):
                found |= self.shop.paycheckout.order_statuses([*self.checkouts][first : first + PORTION])
        return {order_id for order_id, status in found.items() if status == "paid"}

    def accounts_by_id(self) -> dict[str, str]:
        """Whose each checkout and payout is, by every id under which the service knows it."""
        known = {checkout_id: order_id.partition("/")[0] for order_id, checkout_id in self.checkouts.items()}
        for payout in payouts(self.shop):
            known |= {one: payout.account for one in (payout.service_reference, payout.disbursement_id) if one}
        return known


def _new_keys(name: str, which: str) -> dict[str, str]:
    return {
        "client_id": f"{which}-id-of-{name}",
        "client_secret": f"canary-secret-{which}-{name}",
        "access_token": f"canary-token-{which}-{name}",
    }


@pytest.fixture
def open_market(open_shop: OpenShop, paycheckout_sandbox: Sandbox) -> OpenMarket:
    def make(sellers: int, orders: int) -> Market:
        wire = Wire(paycheckout_sandbox.transport)
        paycheckout_sandbox.transport = wire
        return Market(open_shop(sandbox=paycheckout_sandbox), paycheckout_sandbox, wire, sellers, orders)

    return make


def trade(market: Market) -> None:
    """Let everything happen, and check at each step that the others are as if nothing was wrong with one account."""
    shop, others = market.shop, [name for name in market.names if name != GONE]
    market.in_portions([order_id for order_id in shop.totals if "/" in order_id], market.starts)
    for name in market.names:
        pays_out(shop, f"baker-{name}", "4.00", to=BAKER, account=name)
    market.sandbox.deliver_to(shop.browser)
    market.in_portions(market.orders_of(*market.names, third=0), market.pays)
    expected = set(market.orders_of(*market.names, third=0))
    assert market.paid() == expected

    market.gone.add(GONE)
    # The keys of the account that is gone are not kept any longer.
    market.sandbox.advance(seconds=61)
    market.reads_log()
    last_line = max(market.log)
    announced = market.orders_of(*market.names, third=1)
    market.in_portions(announced[0::2], market.pays)
    with shop.app.app_context():
        # With many accounts the old keys may be forgotten by now, and then nothing would be refused.
        shop.paycheckout.client_of(ROTATED)
    market.rotates(ROTATED)
    market.in_portions(announced[1::2], market.pays)
    expected |= set(market.orders_of(*others, third=1))
    assert market.paid() == expected, "a webhook is enough, with new keys too"
    unannounced = market.orders_of(*market.names, third=2)
    market.sandbox.fault("webhook", "drop", times=len(unannounced))
    market.in_portions(unannounced, market.pays)
    expected |= set(market.orders_of(*others, third=2))
    for _ in range(6):
        market.sandbox.advance(minutes=10)
        market.reconciles()
        assert market.paid() == expected, "reconcile finds the others' payments in its first round"
    known = market.accounts_by_id()
    assert GONE not in {
        account_of(line, known, market.amounts) for line in market.log.values() if line["id"] > last_line
    }

    market.gone.clear()
    for _ in range(12):
        market.sandbox.advance(minutes=10)
        market.reconciles()
    assert market.paid() == set(market.checkouts)


def account_of(line: dict[str, Any], known: dict[str, str], amounts: dict[Decimal, str]) -> str:
    """The account whose order or payout a line of the log is about."""
    if line["target"] == "/v1/checkout":
        return amounts[json.loads(line["requestBody"], parse_float=Decimal)["inputAmount"]]
    words = set(re.findall(r"[\w-]+", f"{line['target']} {line['requestBody']}"))
    (account,) = {known[word] for word in words if word in known}
    return account


def check(market: Market, signals: Signals) -> None:
    """Every call was signed by the account that it was about, every order was paid once, and no key went astray."""
    known = market.accounts_by_id()
    refused = Counter[str]()
    for line in market.log.values():
        account = account_of(line, known, market.amounts)
        if line["account"] is None:
            assert (line["status"], market.wire.owners[line["clientId"]]) == (401, account), line
            refused[account] += 1
        else:
            assert line["account"] == (account or "default"), line
    assert set(refused) == {ROTATED}, "only replaced keys were refused"
    assert refused[ROTATED] <= 3
    assert market.wire.leaks == []
    assert Counter(seen.order_id for seen in signals if seen.name == "order_paid") == Counter([*market.checkouts])
    assert {payout.status for payout in payouts(market.shop)} == {"sent"}
    for name in market.names:
        tokens = market.sandbox.control("GET", f"disbursements?account={name or 'default'}")
        assert [one["amount"] for one in tokens] == [4], name


def look_around(market: Market) -> None:
    """Whatever people see; `tests/canaries.py` reads all of it."""
    shop = market.shop
    for command in (["report"], ["report", "--json"], ["show", f"{ROTATED}/0"], ["payouts", "--json"]):
        ran = shop.app.test_cli_runner().invoke(args=["paycheckout", *command])
        assert ran.exit_code in (0, 1), ran.output
    with shop.app.test_request_context():
        pages = [shop.paycheckout.status_url(order_id) for order_id in market.checkouts if order_id.endswith("/0")]
        seen = [repr(shop.paycheckout.client_of(name)) for name in market.names]
        seen += [repr(market.keys), repr(shop.runtime.accounts), str(shop.paycheckout.explain(f"{GONE}/1"))]
    seen += [shop.browser.get(page).text for page in pages]
    assert not re.search("canary-(secret|token)", "\n".join(seen))


Run = Callable[[int, int], None]


@pytest.fixture
def run(open_market: OpenMarket, paycheckout_signals: Signals) -> Run:
    def run(sellers: int, orders: int) -> None:
        market = open_market(sellers, orders)
        trade(market)
        check(market, paycheckout_signals)
        look_around(market)

    return run


def test_every_call_of_ten_accounts_is_signed_by_the_orders_own(run: Run) -> None:
    run(10, 5)


@pytest.mark.soak
def test_every_call_of_two_hundred_accounts_is_signed_by_the_orders_own(run: Run) -> None:
    run(soak_count(200), 50)

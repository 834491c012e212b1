"""An account that stays broken stops none of twenty other accounts, in any loop of the package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from flask_paycheckout import Account
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.testing import Signals
from tests.accounts.conftest import SECRET, Sellers, SigningService
from tests.books.auditing import quick as quick
from tests.payouts.shop import payout, pays_out
from tests.scripted import raising

OTHERS = [f"s-{number:02}" for number in range(20)]
Break = Callable[[Sellers, SigningService], object]


def asked(answer: Callable[[], Any]) -> Break:
    """Break the shop's function: it does this for ada's account."""

    def breaks(market: Sellers, service: SigningService) -> None:
        market.shop.runtime.callbacks.account = lambda name: answer() if name == "ada" else market.keys(name)

    return breaks


class Signer:
    """A signer of the shop's own, which fails."""

    sign = staticmethod(raising(KeyError("no key")))


def keys(**keywords: Any) -> Account:
    return Account("id-ada", SECRET, **keywords)


def service_does(answer: Callable[[], object]) -> Break:
    """Break the service: it does this for calls with ada's keys or token."""

    def breaks(market: Sellers, service: SigningService) -> None:
        service.before = lambda client: answer() if "ada" in client else None

    return breaks


def refuses_keys(market: Sellers, service: SigningService) -> None:
    service.refused = {"id-ada", "token-ada"}


#: For each way to break the account: the breaking function, and whether deposits can still be read.
BROKEN: dict[str, tuple[Break, bool]] = {
    "no such account": (asked(lambda: None), False),
    "no Account": (asked(lambda: "keys"), False),
    "keys that cannot be used": (asked(raising(ConfigurationError("client_id is empty"))), False),
    "a function that fails": (asked(raising(LookupError("gone"))), False),
    "a function that ends the process": (asked(raising(SystemExit(1))), False),
    "a signer that fails": (asked(lambda: keys(signer=Signer(), access_token="token-ada")), False),
    "a token that fails": (asked(lambda: keys(access_token=raising(RuntimeError("expired")))), True),
    "refused keys": (refuses_keys, False),
    "a service that cannot be reached": (service_does(raising(httpx.ConnectError("no route"))), False),
    "a service that does not answer": (service_does(raising(httpx.ReadTimeout("slow"))), False),
}


@pytest.mark.usefixtures("no_retries", "quick")
@pytest.mark.parametrize(("breaks", "reads"), BROKEN.values(), ids=BROKEN)
def test_it_stops_none_of_twenty_others(
    market: Sellers, service: SigningService, signals: Signals, breaks: Break, reads: bool
) -> None:
    shop, checkouts = market.shop, dict[str, str]()
    for seller in ["ada", *OTHERS]:
        market.add(seller, f"{seller}-o")
        market.tokens[seller] = f"token-{seller}"
        checkouts[seller] = shop.has_deposit("completed", f"{seller}-o")
        pays_out(shop, f"of-{seller}", account=seller)
    breaks(market, service)
    # The cached keys of accounts expire after a minute.
    shop.waits(seconds=61)

    def states(find: Callable[[str], Any]) -> dict[str, str]:
        return {seller: find(seller).status for seller in ["ada", *OTHERS]}

    # A successful read of another account shows the audit that the service is up.
    market.add("s-00", "open")
    shop.starts("open")
    shop.reconciles()
    paid = states(lambda seller: shop.attempt(checkouts[seller]))
    assert paid == {"ada": "paid" if reads else "created"} | dict.fromkeys(OTHERS, "paid")
    assert {event.order_id for event in signals if event.name == "order_paid"} == {
        f"{seller}-o" for seller in OTHERS
    } | ({"ada-o"} if reads else set())
    sent = states(lambda seller: payout(shop, f"of-{seller}"))
    assert {seller: sent[seller] for seller in OTHERS} == dict.fromkeys(OTHERS, "sent")
    shop.reconciles(minutes=10)
    others = {checkouts[seller] for seller in OTHERS}
    followed = states(lambda seller: payout(shop, f"of-{seller}"))
    assert {seller: followed[seller] for seller in OTHERS} == dict.fromkeys(OTHERS, "completed")
    report = shop.tells("report")
    assert {alarm["account"] for alarm in report["alarms"] if alarm["severity"] == "now"} == {"ada"}
    findings = shop.tells("audit")
    assert {finding["verdict"] for finding in findings if finding["checkout_id"] in others} == {"agreed"}
    checks = shop.tells("doctor")["checks"]
    assert {check["account"] for check in checks if check["level"] == "failure"} >= {"ada"}

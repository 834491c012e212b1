"""Access tokens that expire."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import httpx
import pytest

from flask_paycheckout.client import Unauthorized
from tests.client import samples
from tests.client.wire import Shop, Watch, refusal, success


class Service:
    """Accepts one token, and records the tokens of the requests."""

    def __init__(self, valid: str, status: int = 401) -> None:
        self.valid, self.status, self.tokens = valid, status, list[str]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.tokens.append(request.headers["authorization"].removeprefix("Bearer "))
        good = self.tokens[-1] == self.valid
        return httpx.Response(
            200, content=success(samples.BATCH) if good else refusal(self.status, message=self.tokens[-1])
        )


def test_a_token_that_ran_out_is_asked_for_again_and_then_kept() -> None:
    tokens, service = iter(["canary-1", "canary-2"]), Service("canary-2")
    client = Shop(service, access_token=lambda: next(tokens))
    for _ in range(2):
        assert client.fiat_disbursements.create("USD", samples.ITEMS).disburse_data
    assert service.tokens == ["canary-1", "canary-2", "canary-2"]


@pytest.mark.parametrize(("status", "sent"), [(401, ["canary-1", "canary-2"]), (403, ["canary-1"])])
def test_it_is_asked_for_once_in_a_call_that_is_sent_again_after_a_401_only(status: int, sent: list[str]) -> None:
    tokens, service = (f"canary-{number}" for number in count(1)), Service("another", status)
    client = Shop(service, access_token=lambda: next(tokens))
    with pytest.raises(Unauthorized) as caught:
        client.fiat_disbursements.create("USD", samples.ITEMS)
    assert service.tokens == sent
    assert next(tokens) == "canary-3"
    assert "canary" not in repr([str(caught.value), caught.value, client])


def test_when_there_is_no_other_token_the_refusal_tells_why() -> None:
    tokens = iter(["canary-1"])

    def ask() -> str:
        try:
            return next(tokens)
        except StopIteration:
            raise LookupError("nobody is logged in") from None

    with pytest.raises(Unauthorized) as caught:
        Shop(Service("another"), access_token=ask).fiat_disbursements.create("USD", samples.ITEMS)
    assert (caught.value.carried_out, caught.value.retryable) == ("no", True)
    assert isinstance(caught.value.__cause__, LookupError)


def test_after_a_login_that_took_all_the_time_the_refusal_is_told_and_nothing_is_sent() -> None:
    """A timeout would leave it unknown whether money moved."""
    watch, service, logins = Watch(), Service("canary-2"), count(1)

    def ask() -> str:
        watch.sleep(15)
        return f"canary-{next(logins)}"

    with pytest.raises(Unauthorized) as caught:
        Shop(service, access_token=ask, watch=watch).fiat_disbursements.create("USD", samples.ITEMS)
    assert (caught.value.carried_out, service.tokens) == ("no", ["canary-1"])


def test_of_many_threads_that_are_refused_together_one_asks() -> None:
    together, logins = threading.Barrier(4), list[str]()

    def service(request: httpx.Request) -> httpx.Response:
        if request.headers["authorization"] == "Bearer old":
            together.wait(60)
            return httpx.Response(200, content=refusal(401))
        return httpx.Response(200, content=success(samples.BATCH))

    def ask() -> str:
        logins.append("new" if logins else "old")
        return logins[-1]

    client = Shop(service, access_token=ask)
    with ThreadPoolExecutor(4) as threads:
        for call in [threads.submit(client.fiat_disbursements.create, "USD", samples.ITEMS) for _ in range(4)]:
            call.result()
    assert logins == ["old", "new"]

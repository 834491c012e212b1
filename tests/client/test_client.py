from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from flask_paycheckout.client import BearerToken, PaymentsClient, ServiceFault
from tests.client.samples import DEPOSIT
from tests.client.wire import ACCESS_TOKEN, Script, Shop, http, refusal, says, success

if TYPE_CHECKING:
    from tests.client.conftest import Serve


@pytest.mark.parametrize(
    ("options", "kind", "fault"),
    [
        ({"client_id": None}, ValueError, "client_id is missing"),
        ({"access_token": f"{ACCESS_TOKEN}\r\nX: 1"}, ValueError, "access_token may hold"),
        ({"access_token": 5}, TypeError, "access_token must be a string, a function that returns one, or a signer"),
        ({"signer": 5}, TypeError, "signer must have a method sign"),
        ({"transport": httpx.AsyncHTTPTransport()}, TypeError, "with handle_request.., not AsyncHTTPTransport"),
        ({"client_secret": b"canary"}, TypeError, "client_secret must be a string, not bytes"),
        ({"timeout": float("nan")}, ValueError, "timeout must be"),
        ({"timeout": 1e10}, ValueError, "timeout must be"),
        ({"timeout": "5"}, TypeError, "timeout must be a number of seconds, not str"),
        ({"retries": "2"}, TypeError, "retries must be a whole number from 0 on, not '2'"),
    ],
)
def test_wrong_arguments_are_named_and_secrets_not_shown(
    options: dict[str, Any], kind: type[Exception], fault: str
) -> None:
    with pytest.raises(kind, match=fault) as caught:
        Shop(Script(b""), **options)
    assert "canary" not in str(caught.value)


KEYS = {
    "PAYCHECKOUT_CLIENT_ID": "env-id",
    "PAYCHECKOUT_CLIENT_SECRET": "canary-env-secret",
    "PAYCHECKOUT_ACCESS_TOKEN": "canary-env-token",
}


def sent_by(make: Callable[[httpx.MockTransport], PaymentsClient]) -> dict[str, str | None]:
    """The host and credentials of a signed call and of a call with the access token."""
    script = Script(success([]))
    with make(httpx.MockTransport(script)) as client:
        client.fiat_disbursements.list()
        client.fiat_disbursements.payment_methods()
    signed, bearer = script.requests
    return {
        "host": signed.url.host,
        "client_id": signed.headers.get("X-Client-ID"),
        "token": bearer.headers.get("Authorization"),
    }


def test_address_and_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    from_environment = {"client_id": "env-id", "token": "Bearer canary-env-token"}
    with pytest.raises(ValueError, match=r"base_url is missing: .* or set PAYCHECKOUT_BASE_URL"):
        PaymentsClient()
    assert sent_by(lambda to: PaymentsClient("https://a.example", transport=to)) == {
        "host": "a.example",
        **from_environment,
    }
    monkeypatch.setenv("PAYCHECKOUT_BASE_URL", "https://b.example/")
    assert sent_by(lambda to: PaymentsClient(transport=to)) == {"host": "b.example", **from_environment}
    # Given keys are not combined with keys from elsewhere.
    keys = {"client_id": "c", "client_secret": "s"}
    script = Script(success([]))
    with pytest.raises(ValueError, match="needs an access_token"):
        PaymentsClient(transport=httpx.MockTransport(script), **keys).fiat_disbursements.payment_methods()  # type: ignore[arg-type]


def test_the_keys_of_the_environment_go_to_no_other_address(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**KEYS, "PAYCHECKOUT_BASE_URL": "https://b.example"}.items():
        monkeypatch.setenv(name, value)
    script = Script(success([]))
    with pytest.raises(ValueError, match="needs client_id and client_secret"):
        PaymentsClient("https://a.example", transport=httpx.MockTransport(script)).fiat_disbursements.list()
    assert script.requests == []


def test_its_repr_names_the_address_and_no_secret() -> None:
    client = Shop(Script(b""))
    assert repr(client) == "Shop('https://api.example.com', client_id='shop-1')"


@pytest.mark.parametrize("retries", [0, 1, None])
def test_a_call_may_be_tried_another_number_of_times(retries: int | None) -> None:
    script = Script(refusal(500))
    shop = Shop(script, count=2)
    with pytest.raises(ServiceFault):
        shop.deposits.get("c", retries=retries)
    assert len(script.requests) == 1 + (2 if retries is None else retries)
    script.requests.clear()
    with pytest.raises(ServiceFault):
        next(shop.recipients.iterate(retries=0))
    assert len(script.requests) == 1
    with pytest.raises(ValueError, match="retries must be"):
        shop.deposits.get("c", retries=-1)


def test_a_signer_of_ones_own_signs_alone() -> None:
    script = Script(success(DEPOSIT))
    Shop(script, signer=BearerToken("mine")).deposits.get("c")
    assert script.requests[0].headers["authorization"] == "Bearer mine"
    assert "x-signature" not in script.requests[0].headers


@pytest.mark.parametrize(
    ("access_token", "header"),
    [
        (BearerToken("t", scheme=""), "t"),
        (BearerToken("t", scheme="Token"), "Token t"),
    ],
)
def test_another_form_of_the_authorization_header_can_be_had(access_token: Any, header: str) -> None:
    script = Script(success([]))
    Shop(script, access_token=access_token).fiat_disbursements.payment_methods()
    assert script.requests[0].headers["authorization"] == header


class Counted(httpx.MockTransport):
    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_a_closed_client_says_so_and_leaves_a_given_transport_open() -> None:
    script = Script(success(DEPOSIT))
    transport = Counted(script)
    with Shop(script, transport=transport) as client:
        client.deposits.get("c")
    client.close()
    assert transport.closed == 0
    with pytest.raises(RuntimeError, match="closed"):
        client.deposits.get("c")


FORKING = """
import os, sys
from flask_paycheckout.client import PaymentsClient
client = PaymentsClient(sys.argv[1], client_id="c", client_secret="s", retries=0)
client.deposits.get("before")
child = os.fork()
if child == 0:
    code = 1
    try:
        client.deposits.get("child")
        client.deposits.get("child")
        client.close()
        code = 0
    finally:
        os._exit(code)
assert os.waitpid(child, 0)[1] == 0
client.deposits.get("parent")
client.close()
"""


def test_a_fork_gets_connections_of_its_own(serve: Serve) -> None:
    server = serve(says(http(success(DEPOSIT))))
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORKING, server.base_url], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    spoken = [(number, request.split(b" ")[1].rsplit(b"/", 1)[1].decode()) for number, request in server.requests]
    assert spoken == [(1, "before"), (2, "child"), (2, "child"), (1, "parent")]

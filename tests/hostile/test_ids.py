"""Any text may stand in an id: the server gets exactly one request, for exactly that resource."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import pytest

from flask_paycheckout.client import PaymentsClient, PaymentsError, client as clients
from flask_paycheckout.client.operations import Operation
from flask_paycheckout.client.resources import deposits, fiat_disbursements, payments, recipients
from tests.client.test_operations import DETAILS, PERSON
from tests.client.wire import RawServer, http, refusal, says
from tests.hostile.ids import QUOTED, REFUSED

PREFIX = "/pay"

Use = Callable[[PaymentsClient, str], Any]

PATHS: dict[str, tuple[str, Use]] = {
    "deposits.get": ("GET /v1/deposit/*", lambda c, i: c.deposits.get(i)),
    "deposits.sandbox_update": ("PATCH /v1/deposit/*", lambda c, i: c.deposits.sandbox_update(i, "completed")),
    "fiat_disbursements.get": ("GET /v1/disbursement/fiat/*", lambda c, i: c.fiat_disbursements.get(i)),
    "fiat_disbursements.report": ("GET /v1/disbursement/fiat/*/report", lambda c, i: c.fiat_disbursements.report(i)),
    "fiat_disbursements.sandbox_update": (
        "PATCH /v1/disbursement/*",
        lambda c, i: c.fiat_disbursements.sandbox_update(i, "completed"),
    ),
    "recipients.get": ("GET /v1/recipient/*", lambda c, i: c.recipients.get(i)),
    "recipients.update": ("PATCH /v1/recipient/*", lambda c, i: c.recipients.update(i, **PERSON, bank=DETAILS)),
    "recipients.delete": ("DELETE /v1/recipient/*", lambda c, i: c.recipients.delete(i)),
    "payments.get": ("GET /v2/payment/detail/*", lambda c, i: c.payments.get(i)),
}
every_path = pytest.mark.parametrize(("shape", "use"), PATHS.values(), ids=PATHS)


@pytest.fixture
def server() -> Iterator[RawServer]:
    """Refuses everything, so that each call is one request."""
    server = RawServer(says(http(refusal(400))))
    yield server
    server.close()


@pytest.fixture
def client(server: RawServer) -> Iterator[PaymentsClient]:
    with PaymentsClient(
        server.base_url + PREFIX, client_id="c", client_secret="s", access_token="t", timeout=60, retries=0
    ) as client:
        yield client


def asks(use: Use, client: PaymentsClient, given: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        use(client, given)


def test_every_path_with_a_place_for_an_id_is_tried() -> None:
    modules = (deposits, fiat_disbursements, payments, recipients, clients)
    found = {str(value) for module in modules for value in vars(module).values() if isinstance(value, Operation)}
    assert {shape.replace("*", "{id}") for shape, _ in PATHS.values()} == {name for name in found if "{" in name}


@every_path
def test_a_hostile_id_is_one_segment(server: RawServer, client: PaymentsClient, shape: str, use: Use) -> None:
    verb, _, path = shape.partition(" ")
    for given in QUOTED.values():
        with pytest.raises(PaymentsError):
            asks(use, client, given)
    heads = [request.split(b"\r\n\r\n")[0].decode("ascii").split("\r\n") for _, request in server.requests]
    assert len(heads) == len(QUOTED)
    for (line, *headers), given in zip(heads, QUOTED.values(), strict=True):
        sent_verb, target, version = line.split(" ")
        assert (sent_verb, version) == (verb, "HTTP/1.1")
        begin, _, end = (PREFIX + path).partition("*")
        assert target.startswith(begin)
        assert target.endswith(end)
        segment = target[len(begin) : len(target) - len(end)]
        assert unquote(segment, errors="strict") == given
        assert not set(segment) & set("/\\?#;&:@")
        assert not any(header.lower().startswith("x-evil") for header in headers)


@every_path
@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED)
def test_what_is_no_segment_is_never_sent(
    server: RawServer, client: PaymentsClient, shape: str, use: Use, given: str
) -> None:
    with pytest.raises(ValueError, match="id") as caught:
        asks(use, client, given)
    assert len(str(caught.value)) < 200
    assert server.connections == 0


# Checkout ids, which the service makes up and the extension reads by

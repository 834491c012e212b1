"""Answers lost on a real connection: money is never sent twice, and the error knows what to look for."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from flask_paycheckout.client import (
    CryptoReceiver,
    FiatItem,
    FiatItemV1,
    OutcomeUnknown,
    PaymentsClient,
    TransportFailed,
)
from tests.client.wire import Answer, RawServer, http, success

if TYPE_CHECKING:
    from tests.client.conftest import Serve

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

Use = Callable[[PaymentsClient], object]

CREATES: dict[str, Use] = {
    "fiat": lambda c: c.fiat_disbursements.create("USD", [FiatItem(amount=1, recipient_id="r1", reference="ref-1")]),
    "fiat-v1": lambda c: c.fiat_disbursements.create_v1(
        [FiatItemV1(amount=1, currency="USD", recipient_id="r1", reference="ref-1")]
    ),
    "crypto": lambda c: c.crypto_disbursements.create(
        "usdc-polygon", [CryptoReceiver(amount=1, receiver_wallet_address="0xr", reference="ref-1")]
    ),
    "payment": lambda c: c.payments.create(
        wallet_address="0xw",
        input_amount=1,
        sender_name="Ann",
        sender_email="a@b.c",
        receiver_id="r1",
        input_currency="usdc-polygon",
        output_currency="USD",
    ),
}
every_create = pytest.mark.parametrize("use", CREATES.values(), ids=CREATES)


def client_of(base_url: str, timeout: float = 10.0) -> PaymentsClient:
    return PaymentsClient(base_url, client_id="c", client_secret="s", access_token="t", timeout=timeout, retries=5)


def hangs_up(connection: socket.socket, request: bytes, server: RawServer) -> None:
    connection.shutdown(socket.SHUT_RDWR)


def half_an_answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
    connection.sendall(http(success({"disburseData": []}))[:-5])
    connection.shutdown(socket.SHUT_RDWR)


def silence(connection: socket.socket, request: bytes, server: RawServer) -> None:
    server.closing.wait(60)


def a_gateway(connection: socket.socket, request: bytes, server: RawServer) -> None:
    connection.sendall(http(b"<html>", "504 Gateway Timeout"))


@every_create
@pytest.mark.parametrize(
    ("answer", "timeout"), [(hangs_up, 10.0), (half_an_answer, 10.0), (silence, 1.0), (a_gateway, 10.0)]
)
def test_a_create_whose_answer_is_lost_is_sent_once(serve: Serve, use: Use, answer: Answer, timeout: float) -> None:
    server = serve(answer)
    with client_of(server.base_url, timeout) as client, pytest.raises(OutcomeUnknown) as caught:
        use(client)
    assert len(server.requests) == 1
    assert caught.value.request_sent
    assert caught.value.references in ((), ("ref-1",))


@every_create
def test_a_create_that_found_nobody_is_plainly_not_sent(use: Use) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with client_of(f"http://127.0.0.1:{port}") as client, pytest.raises(TransportFailed) as caught:
        use(client)
    assert type(caught.value) is TransportFailed
    assert not caught.value.request_sent


def test_a_report_comes_whole_over_a_socket(serve: Serve) -> None:
    pdf = b"%PDF-1.7\n" + bytes(range(256)) * 8192

    def answer(connection: socket.socket, request: bytes, server: RawServer) -> None:
        connection.sendall(http(pdf, "200 OK", "Content-Type: application/pdf"))

    with client_of(serve(answer).base_url) as client:
        assert client.fiat_disbursements.report("d1") == pdf

"""Answers lost on a real connection: money is never sent twice, and the error knows what to look for."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from flask_paycheckout.client import OutcomeUnknown, PaymentsClient, TransportFailed
from tests.client.test_operations import HOW, MONEY, Call, every
from tests.client.wire import Answer, drips, hangs_up_after, http, says, success

if TYPE_CHECKING:
    from tests.client.conftest import Serve

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def client_of(base_url: str, timeout: float = 10.0) -> PaymentsClient:
    return PaymentsClient(base_url, client_id="c", client_secret="s", access_token="t", timeout=timeout, retries=5)


@every(MONEY)
@pytest.mark.parametrize(
    ("answer", "timeout"),
    [
        pytest.param(hangs_up_after(b""), 10.0, id="hangs up"),
        pytest.param(hangs_up_after(http(success({"disburseData": []}))[:-5]), 10.0, id="half an answer"),
        pytest.param(drips(b"", b""), 1.0, id="silence"),
        pytest.param(says(http(b"<html>", "504 Gateway Timeout")), 10.0, id="a gateway"),
    ],
)
def test_money_whose_answer_is_lost_is_sent_once(serve: Serve, call: Call, answer: Answer, timeout: float) -> None:
    server = serve(answer)
    with client_of(server.base_url, timeout) as client, pytest.raises(OutcomeUnknown) as caught:
        call.use(client)
    assert len(server.requests) == 1
    assert caught.value.request_sent
    assert caught.value.reference == HOW[call.method][0]


@every(MONEY)
def test_money_that_finds_nobody_is_plainly_not_sent(call: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with client_of(f"http://127.0.0.1:{port}") as client, pytest.raises(TransportFailed) as caught:
        call.use(client)
    assert type(caught.value) is TransportFailed
    assert not caught.value.request_sent


def test_a_report_comes_whole_over_a_socket(serve: Serve) -> None:
    pdf = b"%PDF-1.7\n" + bytes(range(256)) * 8192
    with client_of(serve(says(http(pdf, "200 OK", "Content-Type: application/pdf"))).base_url) as client:
        assert client.fiat_disbursements.report("d1") == pdf

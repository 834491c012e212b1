"""Answers lost on a real connection: money is never sent twice, and the error knows what to look for."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

from flask_paycheckout.client import OutcomeUnknown, PaymentsClient, TransportFailed
from flask_paycheckout.client.transport import Limits
from tests.client.test_operations import HOW, MONEY, Call, every
from tests.client.wire import Answer, RawServer, hangs_up_after, http, says, success
from tests.ports import free_port

if TYPE_CHECKING:
    from tests.client.conftest import Serve

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def client_of(base_url: str) -> PaymentsClient:
    return PaymentsClient(base_url, client_id="c", client_secret="s", access_token="t", timeout=60.0, retries=5)


@every(MONEY)
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(hangs_up_after(b""), id="hangs up"),
        pytest.param(hangs_up_after(http(success({"disburseData": []}))[:-5]), id="half an answer"),
        pytest.param(says(http(b"<html>", "504 Gateway Timeout")), id="a gateway"),
    ],
)
def test_money_whose_answer_is_lost_is_sent_once(serve: Serve, call: Call, answer: Answer) -> None:
    _is_sent_once(serve(answer), call)


@every(MONEY)
def test_money_that_is_never_answered_is_sent_once(serve: Serve, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call's time is over once the request was written, however long a busy machine took for that."""
    left = Limits.left
    written = threading.local()

    def hurried(limits: Limits) -> float:
        # httpx reads after it has written; nothing else asks for the time that is left after that.
        written.times = getattr(written, "times", 0) + 1
        return left(limits) if written.times < 4 else 0.01

    def silence(connection: socket.socket, request: bytes, server: RawServer) -> None:
        server.closing.wait()

    monkeypatch.setattr(Limits, "left", hurried)
    _is_sent_once(serve(silence), call)


def _is_sent_once(server: RawServer, call: Call) -> None:
    with client_of(server.base_url) as client, pytest.raises(OutcomeUnknown) as caught:
        call.use(client)
    assert len(server.requests) == 1
    assert caught.value.request_sent
    assert caught.value.reference == HOW[call.method][0]


@every(MONEY)
def test_money_that_finds_nobody_is_plainly_not_sent(call: Call) -> None:
    with client_of(f"http://127.0.0.1:{free_port()}") as client, pytest.raises(TransportFailed) as caught:
        call.use(client)
    assert type(caught.value) is TransportFailed
    assert not caught.value.request_sent


def test_a_report_comes_whole_over_a_socket(serve: Serve) -> None:
    pdf = b"%PDF-1.7\n" + bytes(range(256)) * 8192
    with client_of(serve(says(http(pdf, "200 OK", "Content-Type: application/pdf"))).base_url) as client:
        assert client.fiat_disbursements.report("d1") == pdf

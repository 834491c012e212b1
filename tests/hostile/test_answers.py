"""A hostile service on a real socket: each answer becomes a typed error, in time, with bounded memory.

The client is called directly, and through `start`, `settle` and `reconcile`, which must not change the order.
"""

from __future__ import annotations

import contextlib
import socket
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from flask_paycheckout import Pay
from flask_paycheckout.client import OutcomeUnknown, TransportFailed
from flask_paycheckout.client.waiting import Retries
from flask_paycheckout.rounds.reconcile import ReconcileReport
from tests.client.conftest import Serve, long_kept, serve
from tests.client.wire import (
    CERTIFICATE,
    Answer,
    RawServer,
    client_of,
    drips,
    hangs_up_after,
    http,
    of_either_client,
    says,
)
from tests.conftest import OpenShop
from tests.hostile.answers import (
    AT_ONCE,
    BODY,
    CHECKOUT,
    DRIPPING,
    FLOODS,
    GIGABYTE,
    SAMPLES,
    WHOLE,
    bomb,
)
from tests.scripted import CLIENT_SECRET, Shop

__all__ = ["long_kept", "serve"]

BUDGET = 0.3
# Seconds that a loaded machine may add to a time budget.
GRACE = 20.0
# The budget through the extension, which requests an endless answer three times.
HURRY = 0.15
FLAT = 8 * 1024 * 1024


@contextmanager
def flat_memory() -> Iterator[None]:
    """Check that server and client together use only a few megabytes, for any amount of data between them."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < FLAT


@contextmanager
def in_time(budget: float) -> Iterator[None]:
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < budget + GRACE


def test_without_a_fault_the_answer_is_taken(serve: Serve) -> None:
    """Otherwise all other answers would be refused for another reason."""
    with client_of(serve(says(WHOLE))) as client:
        assert client.deposits.get(CHECKOUT).status == "completed"
        assert client.checkouts.create(Pay(1, "USD")).id == "chk-2"


@pytest.mark.parametrize("answer", AT_ONCE.values(), ids=AT_ONCE)
def test_a_fault_is_a_typed_error_at_once(serve: Serve, answer: Answer) -> None:
    server = serve(answer)
    # Each on a new connection: data left over on a kept one may fail the next request before it is sent.
    with client_of(server) as client, in_time(0), pytest.raises(TransportFailed):
        client.deposits.get(CHECKOUT)
    with client_of(server) as client, in_time(0), pytest.raises(TransportFailed):
        client.checkouts.create(Pay(1, "USD"))
    with client_of(server) as client, in_time(0), pytest.raises(OutcomeUnknown):
        client.deposits.sandbox_update(CHECKOUT, "completed")
    assert len(server.requests) == 3


@pytest.mark.parametrize("answer", DRIPPING.values(), ids=DRIPPING)
@of_either_client
def test_a_dripping_answer_ends_with_the_budget(serve: Serve, client_of: Any, answer: Answer) -> None:
    with client_of(serve(answer), timeout=BUDGET) as client, in_time(BUDGET), pytest.raises(TransportFailed):
        client.deposits.get(CHECKOUT)


@pytest.mark.parametrize("answer", FLOODS.values(), ids=FLOODS)
def test_an_endless_answer_is_cut_off_in_time_and_in_flat_memory(serve: Serve, answer: Answer) -> None:
    server = serve(answer)
    with client_of(server, timeout=BUDGET) as client, in_time(BUDGET), flat_memory(), pytest.raises(TransportFailed):
        client.deposits.get(CHECKOUT)


def test_a_gigabyte_stays_packed(serve: Serve) -> None:
    body = bomb()
    assert len(body) < 1024 * 1024 < GIGABYTE
    server = serve(says(http(body, "200 OK", "Content-Encoding: gzip")))
    with client_of(server) as client, in_time(0), flat_memory(), pytest.raises(TransportFailed, match="encoded"):
        client.deposits.get(CHECKOUT)


def test_a_connection_may_break_at_every_byte(serve: Serve) -> None:
    cuts = iter(range(len(WHOLE)))
    server = serve(lambda *call: hangs_up_after(WHOLE[: next(cuts)])(*call))
    with client_of(server) as client:
        for _ in range(len(WHOLE)):
            with pytest.raises(TransportFailed):
                client.deposits.get(CHECKOUT)
    assert server.connections == len(WHOLE)


@of_either_client
def test_bytes_after_an_answer_are_never_the_answer_to_the_next_call(serve: Serve, client_of: Any) -> None:
    forged = http(BODY.replace(b'"chk-1"', b'"forged"'))
    server = serve(says(WHOLE + forged))
    with client_of(server) as client:
        for _ in range(5):
            assert client.deposits.get(CHECKOUT).deposit_id == CHECKOUT


def test_a_redirect_reaches_nobody(serve: Serve) -> None:
    elsewhere = serve(says(WHOLE))
    moved = f"Location: {elsewhere.base_url}/v1/deposit/{CHECKOUT}"
    server = serve(says(http(BODY, "307 Temporary Redirect", moved)))
    with client_of(server) as client, pytest.raises(TransportFailed, match="redirect"):
        client.deposits.get(CHECKOUT)
    assert (len(server.requests), elsewhere.connections) == (1, 0)


def test_nothing_in_the_environment_is_listened_to(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login eve password canary\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    proxy = serve(says(WHOLE))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.base_url)
        monkeypatch.setenv(name.lower(), proxy.base_url)
    server = serve(says(WHOLE))
    with client_of(server) as client:
        assert client.deposits.get(CHECKOUT).deposit_id == CHECKOUT
    assert b"authorization" not in server.requests[0][1].lower()
    assert proxy.connections == 0


def test_no_certificate_of_the_environment_is_trusted(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SSL_CERT_FILE", CERTIFICATE), ("SSL_CERT_DIR", CERTIFICATE.parent)):
        monkeypatch.setenv(name, str(value))
    server = serve(says(WHOLE), secure=True)
    with client_of(server) as client, pytest.raises(TransportFailed, match="CERTIFICATE_VERIFY_FAILED"):
        client.deposits.get(CHECKOUT)
    assert server.requests == []


# Answers in place of the server's half of the handshake.
HANDSHAKES = {
    "plain-http": says(WHOLE),
    "garbage": hangs_up_after(bytes(range(256)) * 64),
    "dripping-record": drips(b"\x16\x03\x03\x40\x00", b"\x02"),
}


@pytest.mark.parametrize("greets", HANDSHAKES.values(), ids=HANDSHAKES)
def test_a_handshake_that_is_none_is_an_error_in_time(greets: Answer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        base_url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        closing = RawServer(greets)

        def serve_one() -> None:
            line, _ = listener.accept()
            with contextlib.suppress(OSError), line:
                line.recv(65536)
                greets(line, b"", closing)

        thread = Thread(target=serve_one)
        thread.start()
        with (
            client_of(base_url, timeout=1.0) as client,
            in_time(1.0),
            pytest.raises(TransportFailed),
        ):
            client.deposits.get(CHECKOUT)
        closing.close()
        thread.join()


# Through the extension


@pytest.fixture
def answers() -> list[Answer]:
    """The service's answers, of which the last one is used: valid ones until a checkout is made."""
    return [says(WHOLE.replace(b"chk-2", b"chk-1"))]


@pytest.fixture
def shop(open_shop: OpenShop, serve: Serve, answers: list[Answer]) -> Shop:
    """A shop whose service is on a socket, with the stored checkout "chk-1" of "o-1"."""
    shop = open_shop(socket=serve(lambda *call: answers[-1](*call)).base_url, PAYCHECKOUT_TIMEOUT=5)
    assert shop.starts() == CHECKOUT
    # From now on, a hanging call should not wait long.
    caller = shop.runtime.client._caller
    caller.retries = Retries(0, HURRY, caller.retries.pace)
    return shop


def standing(shop: Shop) -> tuple[object, ...]:
    attempt = shop.attempt(CHECKOUT)
    return attempt.status, attempt.reason, attempt.deposit_status, len(shop.attempts("o-2")), len(shop.events())


def test_the_order_stands_as_before(shop: Shop, answers: list[Answer]) -> None:
    """The client raises the same error for all faults, so one answer of each kind is enough."""
    before = standing(shop)
    for name, answer in SAMPLES.items():
        answers.append(answer)
        shop.waits(days=1)
        with in_time(3 * HURRY):
            assert shop.reconciles() == ReconcileReport(checked=1, failed=1), name
            with pytest.raises(TransportFailed):
                shop.settles(CHECKOUT)
            with pytest.raises(TransportFailed):
                shop.starts("o-2")
        assert standing(shop) == before, name
    assert before == ("created", None, None, 0, 1)
    assert CLIENT_SECRET not in str(shop.attempt(CHECKOUT).history)
    answers.append(says(WHOLE))
    assert shop.settles(CHECKOUT).status == "paid", "when the service comes to its senses"

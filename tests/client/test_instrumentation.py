"""Whatever hooks into httpx sees the client's calls: tracing, mocks, and a transport of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest
import respx
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.client.wire import CLIENT_ID, CLIENT_SECRET, DEPOSIT, RawServer, client_of, http, says, success

if TYPE_CHECKING:
    from pytest_httpx import HTTPXMock

    from tests.client.conftest import Serve

ELSEWHERE = "https://api.example.com"


@pytest.fixture
def server(serve: Serve) -> RawServer:
    return serve(says(http(success(DEPOSIT))))


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor = HTTPXClientInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    yield exporter
    instrumentor.uninstrument()


def test_a_call_shows_in_the_spans_of_opentelemetry(server: RawServer, spans: InMemorySpanExporter) -> None:
    with client_of(server.base_url) as client:
        for _ in range(2):
            client.deposits.get("chk_1")
    for span in spans.get_finished_spans():
        assert span.attributes is not None
        assert span.attributes["http.url"] == f"{server.base_url}/v1/deposit/chk_1"
        assert span.attributes["http.status_code"] == 200
        assert CLIENT_SECRET not in span.to_json()
    assert len(spans.get_finished_spans()) == 2
    assert all(b"\r\ntraceparent: " in request for _, request in server.requests)


def test_every_call_over_a_socket_is_sent_by_httpx(server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[httpx.Request] = []
    carried: list[httpx.Request] = []
    send, carry = httpx.Client.send, httpx.HTTPTransport.handle_request

    def seen_by_client(self: httpx.Client, request: httpx.Request, **options: object) -> httpx.Response:
        sent.append(request)
        return send(self, request, **options)  # type: ignore[arg-type]  # passed on as they came

    def seen_by_transport(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        carried.append(request)
        return carry(self, request)

    monkeypatch.setattr(httpx.Client, "send", seen_by_client)
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", seen_by_transport)
    with client_of(server.base_url) as client:
        client.deposits.get("chk_1")
        client.deposits.sandbox_update("chk_1", "completed")
        client.deposits.get("chk_1")
    methods = [request.split(b" ")[0].decode() for _, request in server.requests]
    assert [request.method for request in sent] == [request.method for request in carried] == methods
    assert methods == ["GET", "PATCH", "GET"]


def test_respx_answers_in_the_services_place() -> None:
    with respx.mock(base_url=ELSEWHERE) as mock, client_of(ELSEWHERE) as client:
        route = mock.get("/v1/deposit/chk_1").respond(content=success(DEPOSIT))
        for _ in range(2):
            assert client.deposits.get("chk_1").deposit_id == "chk_1"
    assert route.call_count == 2
    assert route.calls.last.request.headers["x-client-id"] == CLIENT_ID


def test_so_does_pytest_httpx(httpx_mock: HTTPXMock) -> None:
    httpx_mock.add_response(url=f"{ELSEWHERE}/v1/deposit/chk_1", content=success(DEPOSIT), is_reusable=True)
    with client_of(ELSEWHERE) as client:
        for _ in range(2):
            assert client.deposits.get("chk_1").deposit_id == "chk_1"
    assert len(httpx_mock.get_requests()) == 2

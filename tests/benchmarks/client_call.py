"""One call of the client with its typed answer, compared with `httpx.Client`, which it uses, and `json.loads`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from flask_paycheckout.client import PaymentsClient
from tests.benchmarks.measuring import CPU_MS, OURS, SAME_STACK, Contender, Figure, Options, Row, repeated
from tests.benchmarks.stub import running_stub


def _client(url: str) -> PaymentsClient:
    return PaymentsClient(url, client_id="bench", client_secret="bench-secret-0123456789")


@contextmanager
def _contenders(options: Options, database: str | None) -> Iterator[dict[str, Contender]]:
    times = options.amount(1000)
    with running_stub() as url, _client(url) as client, httpx.Client(base_url=url) as same:
        yield {
            OURS: repeated(lambda: client.deposits.get("chk-1"), times),
            SAME_STACK: repeated(lambda: json.loads(same.get("/v1/deposit/chk-1").content), times),
        }


ROW = Row(
    name="client_call",
    title="client call with typed answer, to raw httpx with `json.loads`",
    shown=(Figure(CPU_MS, over=SAME_STACK),),
    contenders=_contenders,
)

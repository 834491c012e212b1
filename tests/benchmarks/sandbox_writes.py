"""`POST /v1/checkout`, signed and stored, on the sandbox's own server in one process; and the time until it is ready.

Its peer stores the sent data too, in memory. moto's server puts an item into a table of DynamoDB: of its
services this was the fastest write that it keeps (processor time of each: DynamoDB 1.5 ms; a secret 1.6; a parameter of
SSM 1.6; Kinesis 1.7; S3 1.8; a message in SQS 9, and more with each that waits).
"""

from __future__ import annotations

import http.client
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

from flask_paycheckout.client.signing import HmacSigner
from tests.benchmarks.measuring import CPU_MS, OURS, PER_SECOND, Contender, Figure, Options, Row
from tests.benchmarks.serving import processor_seconds
from tests.docs.merchant import visited
from tests.ports import free_port

READY = "ms until it is ready"
_BODY = b'{"inputCurrency":"USD","inputAmount":12.50}'
_PATH = "/v1/checkout"
_SIGNER = HmacSigner("sandbox-client", "sandbox-secret-0123456789abcdef")
_CUSTOMERS = 2
_NUMBERS = itertools.count()
_PATIENCE = 30.0

Exchange = Callable[[http.client.HTTPConnection], None]
"""A function that sends one write over a kept connection and reads its answer."""


def _create_checkout(connection: http.client.HTTPConnection) -> None:
    signed = _SIGNER.sign("POST", _PATH, _BODY, int(time.time()))
    connection.request("POST", _PATH, _BODY, {"Content-Type": "application/json"} | signed)
    answer = json.loads(connection.getresponse().read())
    assert answer["data"]["id"], answer


def _put_item(connection: http.client.HTTPConnection) -> None:
    item = {"id": {"S": f"order-{next(_NUMBERS)}"}, "body": {"S": _BODY.decode()}}
    _ask_moto(connection, "PutItem", {"TableName": "bench", "Item": item})


def _make_table(connection: http.client.HTTPConnection) -> None:
    table = {
        "TableName": "bench",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    _ask_moto(connection, "CreateTable", table)


def _ask_moto(connection: http.client.HTTPConnection, operation: str, body: Mapping[str, object]) -> None:
    credential = "Credential=bench/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
    headers = {
        "Authorization": f"AWS4-HMAC-SHA256 {credential}",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
    }
    connection.request("POST", "/", json.dumps(body), headers)
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 200, content


@contextmanager
def _connected(port: int) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)) as connection:
        yield connection


def _contender(command: list[str], times: int, exchange: Exchange, prepare: Exchange | None = None) -> Contender:
    """Start a server with this command, which takes the port last, and measure its start and its pace."""

    def contender() -> dict[str, float]:
        port, began = free_port(), time.perf_counter()
        quiet = subprocess.DEVNULL
        with subprocess.Popen([*command, str(port)], stdout=quiet, stderr=quiet) as process:
            try:
                visited(f"http://127.0.0.1:{port}")
                ready = 1000 * (time.perf_counter() - began)
                if prepare is not None:
                    with _connected(port) as connection:
                        prepare(connection)
                return _written(process.pid, port, exchange, times) | {READY: ready}
            finally:
                process.kill()

    return contender


def _written(pid: int, port: int, exchange: Exchange, times: int) -> dict[str, float]:
    """The pace of this number of writes, by a few customers at the same time."""
    spent, began = processor_seconds(pid), time.perf_counter()

    def customer(_: int) -> None:
        with _connected(port) as connection:
            for _ in range(times // _CUSTOMERS):
                exchange(connection)

    with ThreadPoolExecutor(_CUSTOMERS) as customers:
        list(customers.map(customer, range(_CUSTOMERS)))
    count = times // _CUSTOMERS * _CUSTOMERS
    seconds = time.perf_counter() - began
    return {PER_SECOND: count / seconds, CPU_MS: 1000 * (processor_seconds(pid) - spent) / count}


@contextmanager
def _contenders(options: Options, database: str | None) -> Iterator[dict[str, Contender]]:
    times = options.amount(1000)
    ours = [sys.executable, "-m", "flask_paycheckout.sandbox", "--port"]
    contenders = {OURS: _contender(ours, times, _create_checkout, _create_checkout)}
    if options.peers is not None:
        moto = [options.peers, "-m", "moto.server", "-H", "127.0.0.1", "-p"]
        contenders["moto"] = _contender(moto, times, _put_item, _make_table)
    yield contenders


ROW = Row(
    name="sandbox_writes",
    title="sandbox: `POST /v1/checkout` signed and stored, one process; ready after its start",
    shown=(Figure(PER_SECOND, over="moto"), Figure(READY)),
    contenders=_contenders,
)

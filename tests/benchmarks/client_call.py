"""One call of the client with its typed answer, beside raw calls on a kept connection with `json.loads`.

The same-stack floor is `httpx.Client`, which the client itself uses; the raw floor is `http.client`.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import httpx

from flask_paycheckout.client import PaymentsClient
from tests.benchmarks.measuring import CPU_MS, FLOOR, OURS, SAME_STACK, Contender, Goal, Options, repeated
from tests.benchmarks.row import Row
from tests.benchmarks.stub import running_stub

# As its users write it: their client, their object, our stub, whose answer it takes for a customer.
_STRIPE = """
    import json, sys, time, stripe
    client = stripe.StripeClient("sk_test_1", base_addresses={"api": sys.argv[1]}, max_network_retries=0)
    for line in sys.stdin:
        began, spent = time.perf_counter(), time.process_time()
        for _ in range(int(line)):
            client.v1.customers.retrieve("chk-1")
        print(json.dumps([time.perf_counter() - began, time.process_time() - spent]), flush=True)
"""


def _client(url: str) -> PaymentsClient:
    return PaymentsClient(url, client_id="bench", client_secret="bench-secret-0123456789")


@contextmanager
def _contenders(options: Options, database: str | None) -> Iterator[dict[str, Contender]]:
    times = options.amount(1000)
    with running_stub(0) as url, _client(url) as client, httpx.Client(base_url=url) as same, _raw(url) as raw:
        contenders = {
            OURS: repeated(lambda: client.deposits.get("chk-1"), times),
            FLOOR: repeated(raw, times),
            SAME_STACK: repeated(lambda: json.loads(same.get("/v1/deposit/chk-1").content), times),
        }
        if options.peers is None:
            yield contenders
            return
        with _stripe(options.peers, url, times) as stripe:
            yield contenders | {"stripe-python": stripe}


@contextmanager
def _raw(url: str) -> Iterator[Callable[[], object]]:
    with closing(http.client.HTTPConnection(urlsplit(url).netloc)) as connection:

        def read() -> object:
            connection.request("GET", "/v1/deposit/chk-1")
            return json.loads(connection.getresponse().read())

        yield read


@contextmanager
def _stripe(python: str, url: str, times: int) -> Iterator[Contender]:
    command = [python, "-c", textwrap.dedent(_STRIPE), url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def contender() -> dict[str, float]:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{times}\n")
            process.stdin.flush()
            seconds, processor = json.loads(process.stdout.readline())
            return {"per second": times / seconds, "ms": 1000 * seconds / times, CPU_MS: 1000 * processor / times}

        yield contender


ROW = Row(
    name="client_call",
    title="client call with typed answer, to raw httpx with `json.loads`",
    goals=(Goal(CPU_MS, over=SAME_STACK, at_most=1.2),),
    contenders=_contenders,
)

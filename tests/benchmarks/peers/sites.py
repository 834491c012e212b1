"""The peers' shops: where each application is, and the requests that it wants."""

from __future__ import annotations

import hmac
import json
import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from tests.benchmarks.databases import fresh_database, opened
from tests.benchmarks.serving import Server, request_of, running_server
from tests.benchmarks.stub import event_of

_FOLDER = Path(__file__).parent


class Peer:
    """One peer's shop; what it does not do stays unanswered.

    :ivar module: its application, beside this file; run as a program it makes the tables.
    """

    module = ""

    def __init__(self, server: Server, engine: sa.Engine) -> None:
        self.server = server
        self._engine = engine

    def starts(self, first: int, count: int) -> list[bytes]:
        raise NotImplementedError

    def stored(self, kind: str, first: int, count: int) -> None:
        raise NotImplementedError

    def webhooks(self, kind: str, first: int, count: int) -> list[bytes]:
        raise NotImplementedError

    def questions(self, first: int, count: int) -> list[bytes]:
        raise NotImplementedError


class DjangoPayments(Peer):
    """django-payments with a provider for the service, as its documentation has one written."""

    module = "django_payments_shop"

    def starts(self, first: int, count: int) -> list[bytes]:
        return [request_of("POST", f"/orders/new-{number}/checkout") for number in range(first, first + count)]

    def stored(self, kind: str, first: int, count: int) -> None:
        columns = {
            "variant": "service",
            "status": "confirmed" if kind == "paid" else "waiting",
            "fraud_status": "unknown",
            "fraud_message": "",
            "created": "2026-01-01 12:00:00+00:00",
            "modified": "2026-01-01 12:00:00+00:00",
            "currency": "USD",
            "total": "12.50",
            "delivery": "0",
            "tax": "0",
            "description": "",
            "message": "",
            "extra_data": "{}",
            "captured_amount": "0",
        }
        blank = ("first_name", "last_name", "address_1", "address_2", "city", "postcode", "country_code")
        columns |= {f"billing_{name}": "" for name in (*blank, "country_area", "email", "phone")}
        made = [
            columns | {"transaction_id": f"chk-{kind}-{n:09}", "token": _token(kind, n), "order_id": f"ord-{n:09}"}
            for n in range(first, first + count)
        ]
        names = ", ".join(made[0])
        marks = ", ".join(f":{name}" for name in made[0])
        statement = f"INSERT INTO bench_payment ({names}) VALUES ({marks})"  # noqa: S608 - names of our own
        with self._engine.begin() as connection:
            connection.execute(sa.text(statement), made)

    def webhooks(self, kind: str, first: int, count: int) -> list[bytes]:
        return [
            request_of(
                "POST", f"/payments/process/{_token(kind, n)}/", json.dumps({"orderId": f"chk-{kind}-{n:09}"}).encode()
            )
            for n in range(first, first + count)
        ]


class DjStripe(Peer):
    """dj-stripe with its own webhook view: a signed event, whose object it reads again upstream."""

    module = "dj_stripe_shop"

    def stored(self, kind: str, first: int, count: int) -> None:
        """Nothing to store beforehand: an event that came before is a repeated one."""
        if kind == "paid":
            for request in self.webhooks(kind, first, count):
                self.server.asked([request], 200)

    def webhooks(self, kind: str, first: int, count: int) -> list[bytes]:
        path = "/stripe/webhook/11111111-1111-4111-8111-111111111111/"
        events = [event_of(f"evt_{kind}{n:09}".encode()) for n in range(first, first + count)]
        return [request_of("POST", path, event, {"Stripe-Signature": _signature(event)}) for event in events]


def _signature(event: bytes) -> str:
    now = int(time.time())
    return f"t={now},v1={hmac.new(b'whsec_bench', b'%d.%s' % (now, event), 'sha256').hexdigest()}"


def _token(kind: str, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{kind}-{number}"))


PEERS: dict[str, type[Peer]] = {"django-payments": DjangoPayments, "dj-stripe": DjStripe}


@contextmanager
def running_peer(name: str, database: str | None, service: str, python: str) -> Iterator[Peer]:
    """The shop of the peer of this name, served from the environment of this Python."""
    peer = PEERS[name]
    with fresh_database(database) as address, opened(address) as engine:
        environment = {"BENCH_DATABASE": address, "BENCH_SERVICE": service, "PYTHONPATH": str(_FOLDER)}
        making = [python, f"{peer.module}.py"]
        subprocess.run(making, check=True, cwd=_FOLDER, env=os.environ | environment, timeout=120)
        with running_server(f"{peer.module}:application", environment, python=python, folder=_FOLDER) as server:
            yield peer(server, engine)

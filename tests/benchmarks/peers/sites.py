"""The peer's shop: where its application is, and the requests that it wants."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from tests.benchmarks.databases import fresh_database, opened
from tests.benchmarks.serving import Server, request_of, running_server

_FOLDER = Path(__file__).parent
# Its application; run as a program it makes the tables.
_MODULE = "django_payments_shop"


class DjangoPayments:
    """django-payments with a provider for the service, as its documentation has one written."""

    def __init__(self, server: Server, engine: sa.Engine) -> None:
        self.server = server
        self._engine = engine

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

    def questions(self, first: int, count: int) -> list[bytes]:
        raise NotImplementedError("it has no status of an order in JSON")


def _token(kind: str, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{kind}-{number}"))


@contextmanager
def running_peer(database: str | None, service: str, python: str) -> Iterator[DjangoPayments]:
    """The peer's shop, served from the environment of this Python."""
    with fresh_database(database) as address, opened(address) as engine:
        environment = {"BENCH_DATABASE": address, "BENCH_SERVICE": service, "PYTHONPATH": str(_FOLDER)}
        making = [python, f"{_MODULE}.py"]
        subprocess.run(making, check=True, cwd=_FOLDER, env=os.environ | environment, timeout=120)
        with running_server(f"{_MODULE}:application", environment, python=python, folder=_FOLDER) as server:
            yield DjangoPayments(server, engine)

"""The peer's shop: the place of its application, and the requests that it takes."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from tests.benchmarks.databases import fresh_database, opened
from tests.benchmarks.serving import running_server
from tests.benchmarks.sites import Site

_FOLDER = Path(__file__).parent
# The application's module, which makes the tables when run as a program.
_MODULE = "django_payments_shop"


class DjangoPayments(Site):
    """django-payments with a provider for the service, written as in its documentation."""

    def store(self, kind: str, numbers: range) -> None:
        columns = {
            "variant": "service",
            "status": "confirmed" if kind == "paid" else "waiting",
            "fraud_status": "unknown",
            "created": "2026-01-01 12:00:00+00:00",
            "modified": "2026-01-01 12:00:00+00:00",
            "currency": "USD",
            "total": "12.50",
            **dict.fromkeys(("delivery", "tax", "captured_amount"), "0"),
            "extra_data": "{}",
        }
        person = ("first_name", "last_name", "address_1", "address_2", "city", "postcode", "country_code")
        blank = (f"billing_{name}" for name in (*person, "country_area", "email", "phone"))
        columns |= dict.fromkeys(("fraud_message", "description", "message", *blank), "")
        made = [
            columns | {"transaction_id": f"chk-{kind}-{n:09}", "token": _token(kind, n), "order_id": f"ord-{n:09}"}
            for n in numbers
        ]
        names, marks = ", ".join(made[0]), ", ".join(f":{name}" for name in made[0])
        statement = f"INSERT INTO bench_payment ({names}) VALUES ({marks})"  # noqa: S608 - names of our own
        with self.engine.begin() as connection:
            connection.execute(sa.text(statement), made)

    def webhook_path(self, kind: str, number: int) -> str:
        return f"/payments/process/{_token(kind, number)}/"


def _token(kind: str, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{kind}-{number}"))


@contextmanager
def running_peer(database: str | None, service: str, python: str) -> Iterator[Site]:
    """The peer's shop, served from the environment of this Python."""
    with fresh_database(database) as address, opened(address) as engine:
        environment = {"BENCH_DATABASE": address, "BENCH_SERVICE": service, "PYTHONPATH": str(_FOLDER)}
        making = [python, f"{_MODULE}.py"]
        subprocess.run(making, check=True, cwd=_FOLDER, env=os.environ | environment, timeout=120)
        with running_server(f"{_MODULE}:application", environment, python=python, folder=_FOLDER) as server:
            yield DjangoPayments(server, engine)

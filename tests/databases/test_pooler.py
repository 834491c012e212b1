"""PgBouncer in transaction mode: the doctor sees it, and says what it needs."""

from __future__ import annotations

from tests.conftest import OpenShop
from tests.databases.servers import POOLED, Pooler, Server, own_folder
from tests.scripted import Shop


def test_the_doctor_names_statements_that_are_prepared_behind_a_pooler(open_shop: OpenShop) -> None:
    with own_folder() as folder, Server(folder, "only").running() as server:
        server.execute("CREATE DATABASE shop")
        # Tables through the server itself, where anything may be prepared.
        open_shop("direct", SQLALCHEMY_DATABASE_URI=server.address())
        with Pooler(folder, server).running() as pooler:
            told = "stands before"
            right = open_shop(SQLALCHEMY_DATABASE_URI=pooler.address(), SQLALCHEMY_ENGINE_OPTIONS=POOLED)
            assert told not in doctor(right)
            right.has_paid()
            wrong = open_shop(SQLALCHEMY_DATABASE_URI=pooler.address())
            output = doctor(wrong)
            assert told in output
            assert '"prepare_threshold": None' in output


def doctor(shop: Shop) -> str:
    return shop.app.test_cli_runner().invoke(args=["paycheckout", "doctor"]).output

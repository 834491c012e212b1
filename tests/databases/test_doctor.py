"""PgBouncer in transaction mode, and replicas: the doctor sees them, and says what they need."""

from __future__ import annotations

import time

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


def test_the_doctor_names_a_replica_for_which_commits_do_not_wait(open_shop: OpenShop) -> None:
    with own_folder() as folder, Server(folder, "first").running() as server:
        server.execute("CREATE DATABASE shop")
        shop = open_shop(SQLALCHEMY_DATABASE_URI=server.address())
        told = "a payout whose send is lost may be sent again"
        with server.replica("second"):
            assert told not in doctor(shop)
            server.execute("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
            until = time.monotonic() + 30
            while told not in doctor(shop):
                assert time.monotonic() < until, "the doctor says nothing"
        assert told not in doctor(shop)


def doctor(shop: Shop) -> str:
    return shop.runs("doctor").output

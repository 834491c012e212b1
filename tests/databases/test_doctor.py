"""The doctor recognizes a pooler, and replicas for which commits do not wait, and names the settings that they need."""

from __future__ import annotations

from tests.conftest import OpenShop
from tests.databases.servers import POOLED, Pooler
from tests.postgres import Server, own_folder
from tests.scripted import Shop
from tests.waiting import eventually


def test_the_doctor_names_statements_that_are_prepared_behind_a_pooler(open_shop: OpenShop) -> None:
    with own_folder() as folder, Server(folder, "only").running() as server:
        server.execute("CREATE DATABASE shop")
        with Pooler(folder, server).running() as pooler:
            for options, is_told in ((POOLED, False), ({}, True)):
                shop = open_shop(SQLALCHEMY_DATABASE_URI=pooler.address(), SQLALCHEMY_ENGINE_OPTIONS=options)
                assert ("stands before" in doctor(shop)) is is_told


def test_the_doctor_names_a_replica_for_which_commits_do_not_wait(open_shop: OpenShop) -> None:
    with own_folder() as folder, Server(folder, "first").running() as server:
        server.execute("CREATE DATABASE shop")
        shop = open_shop(SQLALCHEMY_DATABASE_URI=server.address())
        fault = "a payout whose send is lost may be sent again"
        with server.replica("second"):
            assert fault not in doctor(shop)
            server.execute("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
            eventually(lambda: fault in doctor(shop))
        assert fault not in doctor(shop)


def doctor(shop: Shop) -> str:
    return shop.runs("doctor").output

"""Commands and pages on the stored shop, in a process of their own, which prints the figures of each as a line of JSON.

python -m tests.benchmarks.growth.work DATABASE SERVICE ROUNDS '[["/paycheckout/owner"], ["report", "--json"]]'
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import sqlalchemy as sa
from flask import Flask
from flask.cli import FlaskGroup

from flask_paycheckout import Account
from tests.scripted import Shop
from tests.shop_app import create_shop

_SHOWN = 180


def open_shop(database: str, service: str) -> Shop:
    """The stored shop, with an owner and with the keys of its brands."""
    shop = create_shop(None, SQLALCHEMY_DATABASE_URI=database, PAYCHECKOUT_BASE_URL=service)
    keys = Account(client_id="brand", client_secret="brand-secret-0123456789")
    shop.paycheckout.account(lambda name: keys)
    shop.paycheckout.account_of(lambda order_id: "")
    shop.app.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada"))
    return shop


def page(app: Flask, path: str) -> None:
    answer = app.test_client().get(path)
    assert answer.status_code == 200, (path, answer.status)
    answer.get_data()


def command(app: Flask, arguments: Sequence[str]) -> None:
    group = FlaskGroup(create_app=lambda: app)
    # Where the output goes to a file, as from cron.
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        try:
            group.main(["paycheckout", *arguments], "flask", standalone_mode=False)
        except SystemExit as end:
            # 1 says that something needs a person.
            if end.code not in (0, 1):
                raise


@contextmanager
def statements(engine: sa.Engine) -> Iterator[dict[str, Any]]:
    """The statements that run, each with its first parameters."""
    seen: dict[str, Any] = {}

    def look(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        if not many and statement.lstrip()[:6].upper() in ("SELECT", "UPDATE", "INSERT", "DELETE", "WITH R", "WITH D"):
            seen.setdefault(statement, parameters)

    sa.event.listen(engine, "before_cursor_execute", look)
    yield seen
    sa.event.remove(engine, "before_cursor_execute", look)


def plans(engine: sa.Engine, seen: dict[str, Any]) -> list[list[str]]:
    """Each statement, shortened, with the lines of its plan."""
    explain = "EXPLAIN QUERY PLAN" if engine.dialect.name == "sqlite" else "EXPLAIN (ANALYZE, TIMING OFF)"
    found = []
    for statement, parameters in seen.items():
        with engine.connect() as connection:
            rows = connection.exec_driver_sql(f"{explain} {statement}", parameters).all()
            connection.rollback()
        short = re.sub(r"SELECT .{60,}? \nFROM|SELECT .{60,}? FROM", "SELECT ... FROM", " ".join(statement.split()))
        found.append([short[:_SHOWN], *(str(row[-1]) for row in rows)])
    return found


def resident() -> float:
    """The most memory that this process had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(work: Callable[[], None], rounds: int) -> list[tuple[float, float]]:
    """Seconds, and seconds of this process's own processor time, of each round."""
    took = []
    for _ in range(rounds):
        began, spent = time.perf_counter(), time.process_time()
        work()
        took.append((time.perf_counter() - began, time.process_time() - spent))
    return took


def main(database: str, service: str, rounds: int, all_arguments: Sequence[Sequence[str]]) -> None:
    shop = open_shop(database, service)
    engine = shop.runtime.engine()
    for arguments in all_arguments:
        path = path_of(shop, arguments[0])
        work = partial(command, shop.app, arguments) if path is None else partial(page, shop.app, path)
        took = measured(work, rounds)
        memory = resident()
        with statements(engine) as seen:
            work()
        print(json.dumps({"took": took, "mib": memory, "plans": plans(engine, seen)}), flush=True)


def path_of(shop: Shop, what: str) -> str | None:
    """The path of a page, or of an order's status page or status; None for a command."""
    name, _, order_id = what.partition(" ")
    if name not in ("order", "status"):
        return what if what.startswith("/") else None
    with shop.app.test_request_context():
        path = urlsplit(shop.paycheckout.status_url(order_id)).path
    return f"{path}/status" if name == "status" else path


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))

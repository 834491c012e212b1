"""The work of each process of a run. Imported once, in the process from which all others are forked."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from multiprocessing import parent_process
from threading import Thread
from typing import Any

from flask.cli import main as flask
from werkzeug.serving import make_server

from flask_paycheckout.cli import load_commands
from flask_paycheckout.sandbox.terminal.commands import main as sandbox
from tests.soak.shop import SETTINGS, create_app
from tests.soak.tables import db

HOST = "127.0.0.1"

# Import everything that a process needs before it is forked.
load_commands()


def become(role: str, arguments: tuple[Any, ...], settings: str, log: str) -> None:
    """Run a process in its own session, so that Ctrl-C on a terminal reaches the soak alone."""
    os.setsid()
    for name, stream in ((os.devnull, 1), (log, 2)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT), stream)
    Thread(target=_end_with_the_soak, daemon=True).start()
    os.environ[SETTINGS] = settings
    ROLES[role](*arguments)


def _end_with_the_soak() -> None:
    soak = parent_process()
    assert soak is not None
    soak.join()
    os._exit(1)


def _serve(port: int) -> None:
    """Run a web process with a thread for each request."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    make_server(HOST, port, create_app(), threaded=True).serve_forever()


def _reconcile() -> None:
    """Run `flask paycheckout reconcile --watch`, as an operator would."""
    _paycheckout("reconcile", "--watch", "--interval", "1", "--json")


def _make_tables() -> None:
    """Make the shop's tables, before any of its processes runs."""
    with create_app().app_context():
        db.create_all()


def _run(out: str, *arguments: str) -> None:
    """Run a command, as an operator would, with its output in a file."""
    os.dup2(os.open(out, os.O_WRONLY | os.O_TRUNC | os.O_CREAT), 1)
    _paycheckout(*arguments)


def _paycheckout(*arguments: str) -> None:
    sys.argv = ["flask", "--app", "tests.soak.shop:create_app", "paycheckout", *arguments]
    flask()


def _sandbox(*arguments: str) -> None:
    sys.exit(sandbox(arguments))


ROLES: dict[str, Callable[..., None]] = {
    "web": _serve,
    "reconcile": _reconcile,
    "tables": _make_tables,
    "command": _run,
    "sandbox": _sandbox,
}

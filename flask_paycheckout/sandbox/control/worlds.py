"""Worlds: `/w/NAME` before any path is a whole sandbox of its own, with a database and a control token of its own.

No filter in queries separates the worlds: each is its own application on its own database. A world in memory lasts as
long as the process. A world in a file or a PostgreSQL schema is closed while nobody uses it, and opened again by the
next request.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import quote

from flask import Flask, current_app
from sqlalchemy import Engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.schema import CreateSchema, DropSchema

from flask_paycheckout.sandbox.auth.start_state import ACCOUNT_NAME
from flask_paycheckout.sandbox.control.accounts import NAME, Name, describe_account
from flask_paycheckout.sandbox.control.calls import call
from flask_paycheckout.sandbox.control.sender import SENDER, WebhookSender
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.envelope import Record
from flask_paycheckout.sandbox.wire.field_types import Request
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import is_memory, read_url, transaction

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

MAX_WORLDS = 200
"""The default limit of worlds besides the operator's."""
IDLE_SECONDS = 600.0
"""Seconds without a request after which a world is closed."""
WORLDS = "paycheckout_sandbox_worlds"
"""Key of the `Worlds` among the extensions of the operator's application."""
_CAPITAL = re.compile(r"\+(.)")
_ADDRESS = re.compile(rf"/w/({NAME})(/.*)?", re.DOTALL)


class Databases:
    """The databases of named worlds, besides the sandbox's main database.

    :param main: the URL of the main database.
    :param engine: the engine of the main database.
    """

    def __init__(self, main: str, engine: Engine) -> None:
        self._main, self._engine, self._url = main, engine, read_url(main)
        self.is_memory = is_memory(main)
        self._in_memory: set[str] = set()
        is_file = self._url.get_backend_name() == "sqlite" and not self.is_memory
        self._folder = Path(f"{Path(str(self._url.database)).absolute()}.worlds") if is_file else None

    def names(self) -> set[str]:
        """The names of all worlds."""
        if self.is_memory:
            return set(self._in_memory)
        if self._folder is not None:
            return {_CAPITAL.sub(lambda sign: sign[1].upper(), file.stem) for file in self._folder.glob("*.world")}
        with self._engine.connect() as connection:
            schemas = connection.scalars(text("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'sandbox.w.%'"))
            return {name.removeprefix("sandbox.w.") for name in schemas}

    def make(self, name: str) -> None:
        """Make an empty database. :raises CallRefused: it exists, perhaps made by another process just now."""
        try:
            if self.is_memory:
                self._in_memory.add(name)
            elif self._folder is not None:
                self._folder.mkdir(mode=0o700, exist_ok=True)
                _file_of(name, self._folder).touch(mode=0o600, exist_ok=False)
            else:
                self._execute(CreateSchema(self._schema(name)))
        except (FileExistsError, ProgrammingError):
            raise _taken() from None

    def remove(self, name: str) -> None:
        if self.is_memory:
            self._in_memory.discard(name)
        elif self._folder is not None:
            for ending in ("", "-wal", "-shm"):
                Path(f"{_file_of(name, self._folder)}{ending}").unlink(missing_ok=True)
        else:
            self._execute(DropSchema(self._schema(name), cascade=True, if_exists=True))

    def url(self, name: str) -> str:
        if self.is_memory:
            return self._main
        if self._folder is not None:
            # Only opened, never created: a late request must not bring back a removed world.
            query = {"mode": "rw", "uri": "true"}
            url = URL.create("sqlite", database=f"file:{quote(str(_file_of(name, self._folder)))}", query=query)
        else:
            earlier = f"{options} " if (options := self._url.query.get("options")) else ""
            url = self._url.update_query_dict({"options": f'{earlier}-csearch_path="{self._schema(name)}"'})
        return url.render_as_string(hide_password=False)

    def _schema(self, name: str) -> str:
        return f"sandbox.w.{name}"

    def _execute(self, statement: CreateSchema | DropSchema) -> None:
        with self._engine.begin() as connection:
            connection.execute(statement)


def _file_of(name: str, folder: Path) -> Path:
    # Some file systems ignore the case of letters.
    file = re.sub("[A-Z]", lambda sign: f"+{sign[0].lower()}", name)
    return folder / f"{file}.world"


def _taken() -> CallRefused:
    return CallRefused(409, "name", "is that of another world", "Give another name, or throw it away.")


class Worlds:
    """The worlds of one sandbox, and the WSGI application that dispatches to them.

    :param serve: the operator's application, which serves all other paths.
    :param make: makes the application of a world, given its name, database and control token.
    :param limit: the most worlds.
    """

    def __init__(
        self, serve: WSGIApplication, databases: Databases, make: Callable[[str, str, str], Flask], limit: int
    ) -> None:
        self._serve, self._databases, self._make, self._limit = serve, databases, make, limit
        self._open: dict[str, tuple[Flask, float]] = {}
        """The applications that are open in this process, each with the time of its last request."""
        self._lock = Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        address = _ADDRESS.fullmatch(environ.get("PATH_INFO", ""))
        app = None if address is None else self._opened(address[1])
        if address is None or app is None:
            return self._serve(environ, start_response)
        within = {"SCRIPT_NAME": f"{environ.get('SCRIPT_NAME', '')}/w/{address[1]}", "PATH_INFO": address[2] or "/"}
        return app.wsgi_app(environ | within, start_response)

    def _opened(self, name: str) -> Flask | None:
        with self._lock:
            idle = [other for other, (_, used) in self._open.items() if monotonic() - used > IDLE_SECONDS]
            for other in [] if self._databases.is_memory else idle:
                self._forget(other)
            if name not in self._databases.names():
                self._forget(name)
                return None
            app = self._open[name][0] if name in self._open else self._make(name, self._databases.url(name), "")
            self._open[name] = app, monotonic()
            return app

    def _forget(self, name: str) -> None:
        """End the threads and connections of a world that is open in this process."""
        app, _ = self._open.pop(name, (None, 0.0))
        if app is None:
            return
        sender: WebhookSender | None = app.extensions.get(SENDER)
        if sender is not None:
            # Stopped first: a thread that waits for a connection while the pool is disposed of would wait in vain.
            sender.stop()
        world(app).engine.dispose()

    def names(self) -> list[str]:
        return sorted(self._databases.names())

    def add(self, name: str) -> Flask:
        """Make a world. :raises CallRefused: there is one of this name, or there are too many."""
        with self._lock:
            names = self._databases.names()
            if name in names:
                raise _taken()
            if len(names) >= self._limit:
                remedy = "Throw one away, or start with --worlds N."
                raise CallRefused(409, "worlds", f"are {self._limit} already", remedy)
            self._databases.make(name)
            try:
                app = self._make(name, self._databases.url(name), secrets.token_urlsafe(24))
            except BaseException:
                self._databases.remove(name)
                raise
            self._open[name] = app, monotonic()
            return app

    def remove(self, name: str) -> bool:
        """Remove a world; False when there is none."""
        with self._lock:
            is_there = name in self._databases.names()
            self._forget(name)
            if is_there:
                self._databases.remove(name)
            return is_there


class WorldRecord(Record):
    """A world as the list shows it."""

    name: str
    base_url: str


class NewWorldRecord(WorldRecord):
    """A new world with all that a shop and its tests need."""

    control_token: str
    client_id: str
    client_secret: str
    access_token: str


class WorldName(Request):
    """The body of `POST /worlds`."""

    name: Name


def _worlds() -> Worlds:
    """The worlds of the operator. A named world has none, and its token is for that world only."""
    worlds: Worlds | None = current_app.extensions.get(WORLDS)
    if worlds is None:
        raise CallRefused(403, "worlds", "are made by the operator of this sandbox", "Ask the operator.")
    return worlds


def _base_url(name: str) -> str:
    return f"{world().base_url}/w/{name}"


@call("GET /worlds", "lists the worlds by name, for the operator", command="worlds list", shown="name baseUrl")
def read_worlds() -> list[WorldRecord]:
    return [WorldRecord(name, _base_url(name)) for name in _worlds().names()]


@call(
    "POST /worlds",
    "makes a world with credentials of its own, for the operator",
    command="worlds make <name>",
    status=201,
)
def make_world(sent: WorldName) -> NewWorldRecord:
    with _worlds().add(sent.name).app_context(), transaction() as session:
        return NewWorldRecord.of(world(), describe_account(session, ACCOUNT_NAME))


@call(
    "DELETE /worlds/<name>",
    "throws a world away with all that it has, for the operator",
    command="worlds remove <name>",
)
def remove_world(name: str) -> WorldRecord:
    if not _worlds().remove(name):
        raise CallRefused(404, "world", "does not exist", "GET /_sandbox/worlds lists them.")
    return WorldRecord(name, _base_url(name))

"""A program that starts the processes of a run, notices how they end, and ends them all when the soak goes away.

`python -m tests.soak.launcher` is a process of its own. It imports the shop once and forks a process for each start,
as gunicorn's `--preload` does, so that five hundred restarts do not cost five hundred imports. Every process leads a
group of its own and is killed with it. Commands come as JSON lines on stdin, answers go to stdout; when stdin ends,
because the soak ended or was killed, everything ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from flask.cli import main as flask
from werkzeug.serving import WSGIRequestHandler, make_server

import flask_paycheckout.cli  # noqa: F401 - all that a process needs is imported before it is forked
from tests.soak.processes import HOST, reserve
from tests.soak.shop import create_app, db

PORT = "SOAK_WEB_PORT"
APP = "tests.soak.shop:create_app"


def main() -> None:
    """Serve commands until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children = Children()
    try:
        for command in sys.stdin:
            print(json.dumps(children.obey(json.loads(command))), flush=True)
    finally:
        children.kill_all()


class Children:
    """The processes that run, and how the others ended."""

    def __init__(self) -> None:
        self._running: dict[int, str] = {}
        self._ended: list[dict[str, Any]] = []
        self._kept: list[Any] = []

    def obey(self, command: dict[str, Any]) -> dict[str, Any]:
        """Do one command; gives its answer."""
        match command.pop("do"):
            case "sandbox":
                return self._start_sandbox(**command)
            case "start":
                return self._fork(**command)
            case "look":
                # A process that ends by itself and soon, such as the one that makes the tables, may be waited for.
                self._reap(command.get("wait"))
                return {"running": self._running, "ended": self._ended}
            case other:
                raise ValueError(other)

    def kill_all(self) -> None:
        self._reap()
        for pid in self._running:
            _kill_group(pid)
        for pid in self._running:
            os.waitpid(pid, 0)

    def _start_sandbox(self, arguments: list[str], log: str) -> dict[str, Any]:
        with Path(log).open("ab") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", "flask_paycheckout.sandbox", "--json", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        self._running[process.pid] = "sandbox"
        self._kept.append(process)
        assert process.stdout is not None
        greeting: dict[str, Any] = json.loads(process.stdout.readline() or "{}")
        return {"pid": process.pid, **greeting}

    def _fork(self, role: str, name: str, log: str, port: int = 0) -> dict[str, Any]:
        self._reap()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            _become(role, port, log)
        # Both sides do it, so that whoever is first, the group exists before anybody kills it.
        os.setpgid(pid, pid)
        self._running[pid] = name
        return {"pid": pid}

    def _reap(self, wait_for: str | None = None) -> None:
        for pid, name in list(self._running.items()):
            ended, status = os.waitpid(pid, 0 if name == wait_for else os.WNOHANG)
            if ended:
                code = os.waitstatus_to_exitcode(status)
                self._ended.append({"pid": pid, "name": self._running.pop(pid), "code": code})


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _become(role: str, port: int, log: str) -> NoReturn:
    """The life of a forked process."""
    code = 1
    try:
        os.setpgid(0, 0)
        _redirect(log)
        os.environ[PORT] = str(port)
        code = ROLES[role]()
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _redirect(log: str) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for descriptor, stream in ((nothing, 0), (nothing, 1), (file, 2)):
        os.dup2(descriptor, stream)


def _serve() -> int:
    """A web process: a thread for each request."""
    port = int(os.environ[PORT])

    class QuietHandler(WSGIRequestHandler):
        def log_request(self, *_: Any) -> None:
            pass

    app = create_app()
    with reserve(port) as listener:
        listener.listen(128)
        make_server(HOST, port, app, threaded=True, request_handler=QuietHandler, fd=listener.detach()).serve_forever()
    return 0


def _reconcile() -> int:
    """`flask paycheckout reconcile --watch`, as an operator would start it."""
    sys.argv = ["flask", "--app", APP, "paycheckout", "reconcile", "--watch", "--interval", "1", "--json"]
    flask()
    return 0


def _make_tables() -> int:
    """The shop's tables, before any of its processes runs."""
    with create_app().app_context():
        db.create_all()
    return 0


ROLES = {"web": _serve, "reconcile": _reconcile, "tables": _make_tables}


if __name__ == "__main__":
    main()

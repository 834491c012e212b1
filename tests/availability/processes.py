"""A sandbox on a socket, and the shop in the web servers that people use; each stops with its `with`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.ports import free_port

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
PATIENCE = 60


@contextmanager
def running_sandbox() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    port = free_port()
    command = [sys.executable, "-m", "flask_paycheckout.sandbox", "--port", str(port), "--control-token", "control"]
    with _process(command, {}) as process:
        address = f"http://127.0.0.1:{port}"
        _answers(address, process)
        yield address, process


#: Web servers of every kind: threads, greenlets, a C program, and WSGI behind ASGI.
SERVERS = {
    "gunicorn": "--preload --workers 2 --threads 4 --bind {address} tests.shop_app:create_app()",
    "gunicorn with gevent": "--worker-class gevent --bind {address} tests.shop_app:create_app()",
    "waitress-serve": "--listen {address} --threads 4 --call tests.shop_app:create_app",
    "uvicorn": "--port {port} --log-level warning --factory tests.shop_app:create_asgi_app",
    "uwsgi": "--http-socket {address} --master --processes 2 --threads 4 --die-on-term --disable-logging"
    " --need-app --virtualenv {prefix} --module tests.shop_app:create_app()",
}


@contextmanager
def serving(server: str, **settings: str) -> Iterator[str]:
    """The shop of `tests.shop_app` with these settings in one of the `SERVERS`; gives its address."""
    port, program = free_port(), BIN / server.partition(" ")[0]
    if not program.exists():
        pytest.skip(f"{program.name} is not installed")
    options = SERVERS[server].format(address=f"127.0.0.1:{port}", port=port, prefix=sys.prefix)
    yield from _answering([str(program), *options.split()], port, settings)


@contextmanager
def gunicorn(app: str, *options: str, **settings: str) -> Iterator[str]:
    """A shop with these settings; gives its address."""
    port = free_port()
    command = [str(BIN / "gunicorn"), "--bind", f"127.0.0.1:{port}", *options, app]
    yield from _answering(command, port, settings)


def _answering(command: list[str], port: int, settings: Mapping[str, str]) -> Iterator[str]:
    with _process(command, {f"FLASK_{name}": value for name, value in settings.items()}) as process:
        address = f"http://127.0.0.1:{port}"
        _answers(f"{address}/login", process)
        yield address


def _answers(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            requests.get(url, timeout=PATIENCE)
            return
        except requests.ConnectionError:
            assert process.poll() is None, "the process ended"
            assert time.monotonic() < until, "nobody answers"
            time.sleep(0.1)


@contextmanager
def _process(command: list[str], environ: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("FLASK_", "GUNICORN_"))}
    process = subprocess.Popen(
        command, cwd=ROOT, env=ours | environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

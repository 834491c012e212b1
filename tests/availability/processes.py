"""The shop in common web servers; each stops at the end of its `with` block."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.docs.merchant import BIN, visited
from tests.ports import free_port

ROOT = Path(__file__).parents[2]

#: Web servers of every kind: threads, greenlets, a C program, and WSGI behind ASGI.
SERVERS = {
    "gunicorn": "gunicorn --preload --workers 2 --threads 4 --bind {address} tests.shop_app:create_app()",
    "gunicorn with gevent": "gunicorn --worker-class gevent --bind {address} tests.shop_app:create_app()",
    "waitress-serve": "waitress-serve --listen {address} --threads 4 --call tests.shop_app:create_app",
    "uvicorn": "uvicorn --port {port} --log-level warning --factory tests.shop_app:create_asgi_app",
    "uwsgi": "uwsgi --http-socket {address} --master --processes 2 --threads 4 --die-on-term --disable-logging"
    " --need-app --virtualenv {prefix} --module tests.shop_app:create_app()",
}


@contextmanager
def serving(command: str, **settings: str) -> Iterator[str]:
    """Run a shop of `tests.shop_app` with these settings in the web server of this command; yields its address."""
    port = free_port()
    program, *options = command.format(address=f"127.0.0.1:{port}", port=port, prefix=sys.prefix).split()
    if not (BIN / program).exists():
        pytest.skip(f"{program} is not installed")
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("FLASK_", "GUNICORN_"))}
    process = subprocess.Popen(
        [BIN / program, *options],
        cwd=ROOT,
        env=ours | {f"FLASK_{name}": value for name, value in settings.items()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        visited(f"http://127.0.0.1:{port}/login")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

"""A sandbox on a socket, and gunicorn with the shop before it; each stops with its `with`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
        answers(address, process)
        yield address, process


@contextmanager
def gunicorn(app: str, *options: str, **settings: str) -> Iterator[str]:
    """A shop with these settings; gives its address."""
    port = free_port()
    command = [str(BIN / "gunicorn"), "--bind", f"127.0.0.1:{port}", *options, app]
    with _process(command, {f"FLASK_{name}": value for name, value in settings.items()}) as process:
        address = f"http://127.0.0.1:{port}"
        answers(f"{address}/login", process)
        yield address


def answers(url: str, process: subprocess.Popen[bytes]) -> None:
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

"""The demo of `python -m example_shop`, as a command and in process: all its servers answer, and stop at the end."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import requests
from sqlalchemy import QueuePool

from example_shop.database import db
from example_shop.serving import HOST
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

#: Seconds; the limit for steps that take one or two seconds, never a pause.
PATIENCE = 60


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`python -m example_shop` on free ports, killed at the end if it still runs."""
    options = ("--port", "--sandbox-port", "--warehouse-port")
    ports = [text for option in options for text in (option, str(free_port()))]
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "example_shop", *ports, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        alarm = threading.Timer(PATIENCE, process.kill)
        alarm.start()
        try:
            yield process
        finally:
            alarm.cancel()
            alarm.join()
            process.kill()


def read_until(word: str, process: subprocess.Popen[str]) -> str:
    """The output of the process, up to the line with this word, or to its end."""
    assert process.stdout
    printed = []
    for line in process.stdout:
        printed.append(line)
        if word in line:
            break
    return "".join(printed)


@pytest.mark.slow("programs")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "terminate"])
def test_the_command_prints_its_addresses_and_stops_cleanly(number: signal.Signals) -> None:
    with running() as demo:
        printed = read_until("Ctrl-C", demo)
        addresses = re.findall(rf"http://{HOST}:\d+/\S*", printed)
        assert len(addresses) == 4, printed
        for address in addresses:
            assert requests.get(address, timeout=PATIENCE).status_code == 200
        demo.send_signal(number)
        rest, errors = demo.communicate(timeout=PATIENCE)
    assert "password" in printed
    assert "control token" in printed
    [command] = {line.split()[0] for line in printed.splitlines() if " --app example_shop " in line}
    assert shutil.which(command) == command, "it is not on the path, as after README's first command"
    assert rest.strip() == "Stopping."
    assert errors == ""
    assert demo.returncode == 0


def test_a_shop_that_was_made_has_no_connection_that_forked_workers_would_share(shop: Flask) -> None:
    with shop.app_context():
        pool = db.engine.pool
    assert isinstance(pool, QueuePool)
    assert pool.checkedin() == 0

"""docs/operating.md: the logging and the access log that it shows, as they stand there."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flask_paycheckout.checkouts.logs import LOGGER
from tests.scripted import Shop
from tests.test_production import visited
from tests.test_readme import free_port

pytestmark = pytest.mark.slow("programs")

PAGE = (Path(__file__).parent.parent / "docs" / "operating.md").read_text()
APP = "def app(environ, start_response):\n    start_response('200 OK', [])\n    return [b'ok']\n"


def snippet(name: str) -> str:
    found = re.search(rf"<!-- operating/{re.escape(name)} -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None, f"the page has no {name}"
    return found[1]


@pytest.fixture
def logger_as_before() -> Iterator[logging.Logger]:
    logger = logging.getLogger(LOGGER)
    before = logger.handlers[:], logger.level, logger.propagate
    yield logger
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


def test_the_logging_of_the_page_writes_one_line_for_a_service_that_is_away(
    shop: Shop, logger_as_before: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(snippet("logging.py"), {})  # noqa: S102 - the page's own code
    shop.service.fails(shop.starts())
    shop.reconciles()
    [line] = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"[\d-]+ [\d:,]+ WARNING flask_paycheckout: checkout chk-1 of order o-1 could not be read: .*", line
    )


def test_the_access_log_of_the_page_holds_no_secret(tmp_path: Path) -> None:
    (tmp_path / "gunicorn.conf.py").write_text(snippet("gunicorn.conf.py"))
    (tmp_path / "bare.py").write_text(APP)
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "bare:app"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        root = f"http://127.0.0.1:{port}/paycheckout"
        paths = ("webhook/hook-hushed", "orders/token-hushed", "orders/token-hushed/checkout?x=1", "held/form-hushed")
        for path in paths:
            referrer = {"Referer": f"{root}/orders/referrer-hushed"}
            assert visited(f"{root}/{path}", referrer).status_code == 200
    finally:
        server.terminate()
        told, _ = server.communicate(timeout=60)
    assert "hushed" not in told
    assert told.count("/paycheckout/webhook/***") == 1
    assert "GET /paycheckout/orders/***/checkout?x=1 HTTP/1.1" in told

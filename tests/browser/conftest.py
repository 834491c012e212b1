"""The demo over real sockets, for a browser; reconcile does not run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from example_shop.serving import Demo, running_demo
from tests.ports import free_port
from tests.serving import leaving_no_file_open


@pytest.fixture
def demo() -> Iterator[Demo]:
    with running_demo(free_port(), free_port(), free_port()) as demo:
        for app in (demo.app, demo.sandbox, demo.warehouse):
            app.wsgi_app = leaving_no_file_open(app.wsgi_app)  # type: ignore[assignment,method-assign]
        yield demo

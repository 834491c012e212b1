"""The demo over real sockets, for a browser to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from example_shop.serving import Demo
from tests.serving import leaving_no_file_open


@pytest.fixture
def make_demo() -> Iterator[Callable[..., Demo]]:
    with ExitStack() as demos:

        def make(**options: Any) -> Demo:
            demo = demos.enter_context(Demo(**options))
            for app in (demo.app, demo.sandbox, demo.warehouse):
                app.wsgi_app = leaving_no_file_open(app.wsgi_app)  # type: ignore[assignment,method-assign]
            return demo

        yield make

"""Where the shop gets the time from: the clock that the factory was given."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from flask import current_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

_KEY = "example_shop.clock"


def utc_now() -> datetime:
    return datetime.now(UTC)


def now() -> datetime:
    """The time, as the current shop's clock has it."""
    return cast("Callable[[], datetime]", current_app.extensions[_KEY])()


def remember_clock(app: Flask, clock: Callable[[], datetime]) -> None:
    app.extensions[_KEY] = clock

"""The shop's clock, which is passed to the factory."""

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
    """The current time by the clock of the current app."""
    return cast("Callable[[], datetime]", current_app.extensions[_KEY])()


def remember_clock(app: Flask, clock: Callable[[], datetime]) -> None:
    app.extensions[_KEY] = clock

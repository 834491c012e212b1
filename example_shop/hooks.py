"""The parts that belong to one app: the hooks to which features attach, and the clock.

Pages and rules need not know any feature by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar, cast

from flask import current_app

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from example_shop.database import Order
    from example_shop.products import Product

_KEY = "example_shop.hooks"
_Subject = TypeVar("_Subject")


@dataclass
class Hooks:
    """One app's clock, and the callbacks of its features; one that has no text for its subject returns None."""

    clock: Callable[[], datetime]
    against_paying: list[Callable[[Order], str | None]] = field(default_factory=list)
    """The reason why an order cannot be paid now."""

    against_sending: list[Callable[[Order], str | None]] = field(default_factory=list)
    order_changes: list[Callable[[Order], None]] = field(default_factory=list)
    """Called when an order was changed or cancelled, in the same transaction, which has locked the order."""

    jar_notes: list[Callable[[Product], str | None]] = field(default_factory=list)
    """A sentence for a jar's page."""

    order_notes: list[Callable[[Order], str | None]] = field(default_factory=list)
    desk_notes: list[Callable[[Order], str | None]] = field(default_factory=list)
    desk_pages: list[tuple[str, str]] = field(default_factory=list)
    """The endpoints and labels of the owner's other pages."""


def hooks(app: Flask | None = None) -> Hooks:
    """The hooks of this app, or of the current one."""
    return cast("Hooks", (app or current_app).extensions[_KEY])


def texts_of(callbacks: Iterable[Callable[[_Subject], str | None]], subject: _Subject) -> list[str]:
    """Call each callback with the subject, and return the texts."""
    return [text for callback in callbacks if (text := callback(subject))]


def init_app(app: Flask, clock: Callable[[], datetime]) -> None:
    app.extensions[_KEY] = Hooks(clock)
    app.context_processor(lambda: {"hooks": hooks(), "texts_of": texts_of})


def utc_now() -> datetime:
    return datetime.now(UTC)


def now() -> datetime:
    """The current time by the clock of the current app."""
    return hooks().clock()

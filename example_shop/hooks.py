"""Where features attach to what is not theirs, so that no page and no rule knows a feature by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

from flask import current_app

if TYPE_CHECKING:
    from flask import Flask

    from example_shop.models import Order
    from example_shop.payouts import Rail
    from example_shop.products import Product

_KEY = "example_shop.hooks"
_Subject = TypeVar("_Subject")


@dataclass
class Hooks:
    """What the features of one app have to say; a hook that has nothing to say of its subject gives None."""

    #: Why an order cannot be paid now, and why a paid one cannot be sent yet.
    against_paying: list[Callable[[Order], str | None]] = field(default_factory=list)
    against_sending: list[Callable[[Order], str | None]] = field(default_factory=list)
    #: What to do when an order was changed or cancelled: in the same transaction, in which the order is locked.
    order_changes: list[Callable[[Order], None]] = field(default_factory=list)
    #: A sentence for a jar's page, for an order's page, and for an order on the owner's desk.
    jar_notes: list[Callable[[Product], str | None]] = field(default_factory=list)
    order_notes: list[Callable[[Order], str | None]] = field(default_factory=list)
    desk_notes: list[Callable[[Order], str | None]] = field(default_factory=list)
    #: Endpoint and label of the owner's other pages.
    desk_pages: list[tuple[str, str]] = field(default_factory=list)
    #: The ways in which suppliers are paid.
    rails: list[Rail] = field(default_factory=list)


def hooks(app: Flask | None = None) -> Hooks:
    """The hooks of this app, or of the current one."""
    return cast("Hooks", (app or current_app).extensions[_KEY])


def said(speakers: Iterable[Callable[[_Subject], str | None]], subject: _Subject) -> list[str]:
    """What those who have something to say of this subject say."""
    return [words for speaker in speakers if (words := speaker(subject))]


def init_app(app: Flask) -> None:
    app.extensions[_KEY] = Hooks()
    app.context_processor(lambda: {"hooks": hooks(), "said": said})

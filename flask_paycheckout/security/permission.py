"""Access to the owner's pages: a function of the shop names the person, and says what this person may do there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.shop_functions import CallShop
from flask_paycheckout.text import storable, trimmed

PERSON = "flask_paycheckout.person"
"""The key of the person who makes a request of the owner's pages, in its WSGI environment."""

ABILITIES = frozenset({"look", "decide", "refund", "approve", "pay", "export", "erase"})


@dataclass(frozen=True)
class Person:
    """A person at the owner's pages, returned by the permission function of `PayCheckout.owner_view`.

        Person("Bo", may=frozenset({"look", "approve"}))

    :raises ConfigurationError: the name is blank or no text, or `may` has something else than the seven abilities.
    """

    name: str
    """The person's name, with which decisions and deeds are recorded."""

    may: frozenset[str] = ABILITIES
    """The abilities of the person, all by default: "look", "decide", "refund", "approve", "pay", "export", "erase"."""

    def __post_init__(self) -> None:
        name: object = self.name
        is_name = isinstance(name, str) and trimmed(name) and storable(name) == name
        if not is_name or not ABILITIES.issuperset(self.may):
            raise ConfigurationError(
                "A Person needs a name, as decisions are recorded with it, and of these abilities a frozenset:"
                f" {', '.join(sorted(ABILITIES))}. The function that says who may look at payments returns a Person,"
                " the name of one, or None."
            )


Permission = Callable[[], Person | str | Awaitable[Person | str | None] | None]


def require_callable(permission: Permission, asked_by: str) -> None:
    """Check that the permission is a function, before the views are made.

    :param asked_by: the public name in the message.
    :raises ConfigurationError: the permission is not callable; the message says how to write it.
    """
    if not callable(permission):
        raise ConfigurationError(
            f"{asked_by} needs a function that says who may look, not {type(permission).__name__}."
            " Write one that returns the name of the person who is logged in, or None, and give it as the permission."
        )


def person_of(permission: Permission, call: CallShop) -> Person | None:
    """The person who makes this request; None if it is nobody who may see payments.

    :param call: calls the permission function, which may be a coroutine function.
    :raises ConfigurationError: the shop's function returned something else than a name, a `Person` or None.
    """
    answer: Person | str | None = call(permission)
    return answer if isinstance(answer, Person) else Person(answer) if answer else None

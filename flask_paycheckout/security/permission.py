"""Access to the owner's pages: a function of the shop names the person who may see payments."""

from __future__ import annotations

from collections.abc import Callable

from flask_paycheckout.errors import ConfigurationError

Permission = Callable[[], str | None]


def require_callable(permission: Permission, asked_by: str) -> None:
    """Check that the permission is a function.

    :param asked_by: the public name to give in the message.
    :raises ConfigurationError: it is not callable; the message says how to write one.
    """
    if not callable(permission):
        raise ConfigurationError(
            f"{asked_by} needs a function that says who may look, not {type(permission).__name__}."
            " Write one that returns the name of the person who is logged in, or None, and give it as the permission."
        )


def name_of(permission: Permission) -> str | None:
    """The name of the person who makes this request; None when that person may not see payments.

    :raises ConfigurationError: the shop's function returned neither a string nor None.
    """
    who: object = permission()
    if who is None or who is False or who == "":
        return None
    if not isinstance(who, str):
        raise ConfigurationError(
            f"the function that says who may look at payments returned {type(who).__name__}."
            " Return the name of the person who looks, as a string: decisions are recorded with it. None refuses."
        )
    return who

"""Who may look at the shop's payments: the shop says so, and by which name."""

from __future__ import annotations

from collections.abc import Callable

from flask_paycheckout.errors import ConfigurationError

__all__ = ["Permission", "name_of", "require_callable"]

Permission = Callable[[], str | None]


def require_callable(permission: Permission, asked_by: str) -> None:
    """Refuse what cannot be asked.

    :raises ConfigurationError: says what to write.
    """
    if not callable(permission):
        raise ConfigurationError(
            f"{asked_by} needs a function that says who may look, not {type(permission).__name__}."
            " Write one that returns the name of the person who is logged in, or None, and give it as the permission."
        )


def name_of(permission: Permission) -> str | None:
    """The name of the person who looks now; None for nobody who may.

    :raises ConfigurationError: the shop's function gave something else.
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

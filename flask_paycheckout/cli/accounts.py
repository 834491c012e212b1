"""The option --account of the commands."""

from __future__ import annotations

import click

from flask_paycheckout.operations.app import operations
from flask_paycheckout.text import visible

__all__ = ["known_account"]


def known_account(name: str | None) -> str | None:
    """The name given with --account; None without one.

    :raises click.BadParameter: there is no such account.
    """
    if name is None:
        return None
    try:
        return operations().require_account(name)
    except ValueError as error:
        raise click.BadParameter(visible(str(error)), param_hint="--account") from None

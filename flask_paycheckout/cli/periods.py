"""The options --from and --to of the commands about a period."""

from __future__ import annotations

from datetime import datetime

import click

from flask_paycheckout.books.export import moment_of
from flask_paycheckout.text import visible

__all__ = ["read_moment", "require_period"]


def read_moment(context: click.Context, option: click.Parameter, given: str | None) -> datetime | None:
    """The date or time that an option gives; without an offset it is in UTC.

    :raises click.BadParameter: it is neither.
    """
    try:
        return None if given is None else moment_of(given)
    except ValueError as error:
        raise click.BadParameter(visible(str(error))) from None


def require_period(start: datetime | None, end: datetime | None) -> None:
    """Refuse a period that ends before it begins.

    :raises click.UsageError: it does.
    """
    if start is not None and end is not None and start >= end:
        raise click.UsageError("--from must be before --to, which is not included itself.")

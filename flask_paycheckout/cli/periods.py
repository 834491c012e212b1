"""The options --from and --to of the commands that read a period."""

from __future__ import annotations

from datetime import datetime

import click

from flask_paycheckout.clock import as_utc

__all__ = ["read_moment", "require_period"]


def read_moment(context: click.Context, option: click.Parameter, given: str | None) -> datetime | None:
    """Read a date, or a date with a time; UTC unless it says otherwise.

    :raises click.BadParameter: it is neither.
    """
    if given is None:
        return None
    try:
        return as_utc(datetime.fromisoformat(given.strip()))
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{given!r} is no date. Write a date such as 2026-10-31, or a time such as 2026-10-31T18:30 (UTC)."
        ) from None


def require_period(since: datetime | None, until: datetime | None) -> None:
    """Refuse a period that ends before it begins.

    :raises click.BadParameter: it does.
    """
    if since is not None and until is not None and until <= since:
        raise click.BadParameter(
            f"the period ends before it begins: {until:%Y-%m-%d %H:%M} is not later than {since:%Y-%m-%d %H:%M}, and"
            " --to itself is not included",
            param_hint="--to",
        )

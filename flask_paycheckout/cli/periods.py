"""The options --from and --to of the commands that read a period."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from flask_paycheckout.clock import as_utc

__all__ = ["MOMENT", "require_period"]


class _Moment(click.ParamType):
    """A date, or a date with a time; UTC unless it says otherwise."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            return as_utc(datetime.fromisoformat(str(value).strip()))
        except (ValueError, OverflowError):
            self.fail(
                f"{value!r} is no date. Write a date such as 2026-10-31, or a time such as 2026-10-31T18:30 (UTC).",
                param,
                ctx,
            )


MOMENT = _Moment()


def require_period(since: datetime | None, until: datetime | None) -> None:
    """Refuse a period that ends before it begins.

    :raises click.BadParameter: it does.
    """
    if since is not None and until is not None and until <= since:
        raise click.BadParameter(
            f"the period ends before it begins, as {until:%Y-%m-%d %H:%M} is not later than {since:%Y-%m-%d %H:%M};"
            " --to itself is not included",
            param_hint="--to",
        )

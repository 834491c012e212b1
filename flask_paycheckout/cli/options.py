"""Options that several commands have, and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click

from flask_paycheckout.books.periods import Period, moment_of
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import visible

__all__ = ["account_option", "json_option", "known_account", "period_options", "read_period"]

F = TypeVar("F", bound=Callable[..., Any])

account_option = click.option(
    "--account", metavar="NAME", help="Only this merchant account; '' is the one of the settings."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def period_options(command: F) -> F:
    """Give a command the options that `read_period` reads."""
    since = click.option("--from", "start", metavar="D", help="The first date or time, in PAYCHECKOUT_TIME_ZONE.")
    until = click.option("--to", "end", metavar="D", help="The first one not included; now if left out.")
    return since(until(account_option(command)))


def read_period(start: str | None, end: str | None, account: str | None) -> Period:
    """The period that the options --from, --to and --account give.

    :raises click.UsageError: one of them cannot be used, or the period ends before it begins.
    """
    moments = _moment(start, "--from"), _moment(end, "--to")
    period = Period(*moments, known_account(account))
    if period.start is not None and period.end is not None and period.start >= period.end:
        raise click.UsageError("--from must be before --to, which is not included itself.")
    if period.start is not None and period.start > runtime().clock():
        raise click.UsageError("--from must be before now.")
    return period


def _moment(given: str | None, option: str) -> datetime | None:
    try:
        return None if given is None else moment_of(given, runtime().settings.time_zone)
    except ValueError as error:
        raise click.BadParameter(visible(str(error)), param_hint=option) from None


def known_account(name: str | None) -> str | None:
    """The name given with --account; None without one.

    :raises click.BadParameter: there is no such account.
    """
    if name is None:
        return None
    try:
        return runtime().for_reading("the merchant account").merchants.require(name)
    except ValueError as error:
        raise click.BadParameter(visible(str(error)), param_hint="--account") from None

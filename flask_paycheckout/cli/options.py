"""Options that several commands share, with the functions that read them, and the output of commands."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

import click

from flask_paycheckout.books.lists import Page
from flask_paycheckout.books.periods import Period, moment_of
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.client.hidden import Hidden
from flask_paycheckout.client.signing import header_value
from flask_paycheckout.runtime import for_reading, runtime
from flask_paycheckout.text import plain, visible
from flask_paycheckout.totals import typed_amount

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

account_option = click.option(
    "--account", metavar="NAME", help="Only this merchant account; '' is the one of the settings."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
by_option = click.option("--by", required=True, metavar="NAME", help="The person who decides.")
why_option = click.option("--why", required=True, metavar="TEXT", help="The reason, for the record.")
limit_option = click.option(
    "--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="The most to list."
)


def decision_options(command: F) -> F:
    """Give a command the options of a person's decision."""
    return by_option(why_option(command))


def time_options(command: F) -> F:
    """Give a command the options of the times that `read_period` reads."""
    since = click.option("--from", "start", metavar="D", help="The first date or time, in PAYCHECKOUT_TIME_ZONE.")
    until = click.option("--to", "end", metavar="D", help="The first one not included; now if left out.")
    return since(until(command))


def period_options(command: F) -> F:
    """Give a command the options that `read_period` reads."""
    return time_options(account_option(command))


def read_period(start: str | None, end: str | None, account: str | None = None) -> Period:
    """The period of the options --from, --to and --account.

    :raises click.UsageError: one of them cannot be used, or the period ends before it begins.
    """
    period = Period(_moment(start, "start"), _moment(end, "end"), known_account(account))
    if period.start is not None and period.end is not None and period.start >= period.end:
        raise click.UsageError("--from must be before --to, which is not included itself.")
    if period.start is not None and period.start > runtime().clock():
        raise click.UsageError("--from must be before now.")
    return period


def _moment(text: str | None, name: str) -> datetime | None:
    with usable(name):
        return None if text is None else moment_of(text, runtime().settings.time_zone)


def known_account(name: str | None) -> str | None:
    """The account of the option --account; None without it.

    :raises click.BadParameter: there is no such account.
    """
    with usable("account"):
        return None if name is None else for_reading("the merchant account").merchants.require(name)


def read_amount(text: str, name: str = "amount") -> str:
    """The amount that a person typed, with a point before its decimals.

    :param name: of the command's parameter that gave it.
    :raises click.BadParameter: it cannot be read.
    """
    with usable(name):
        return typed_amount(text)


@contextmanager
def usable(name: str = "") -> Iterator[None]:
    """Report an unusable value like click, with exit code 2.

    :param name: the name of the command's parameter; by default the first word of the error.
    """
    try:
        yield
    except ValueError as error:
        context, message = click.get_current_context(), visible(str(error))
        for parameter in context.command.params:
            if parameter.name == (name or message.partition(" ")[0]):
                raise click.BadParameter(message, context, parameter) from None
        raise click.UsageError(message, context) from None


def require_one(one: bool, other: bool, names: str) -> None:
    """Require exactly one of two options; an on-off option would have a default when it is left out.

    :raises click.UsageError: both are given, or none.
    """
    if one is other:
        raise click.UsageError(f"Give either {names}.")


def print_facts(as_json: bool, facts: object, *lines: str) -> None:
    """Print facts as JSON for programs, or lines for people."""
    for line in [json.dumps(plain(facts))] if as_json else map(visible, lines):
        click.echo(line)


def counts_text(counts: Mapping[str, int]) -> str:
    """Named counts in a line for people."""
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items())


def print_each(as_json: bool, facts: Iterable[object], lines: Iterable[str]) -> None:
    """Print many facts as a JSON list, one per line, or as lines for people; each as soon as it is known.

    :param lines: with control characters escaped.
    """
    if not as_json:
        for line in lines:
            click.echo(line)
        return
    between = "["
    for each in facts:
        click.echo(between + json.dumps(plain(each)), nl=False)
        between = ",\n "
    click.echo("[]" if between == "[" else "]")


def print_page(
    as_json: bool,
    page: Page[T],
    facts: Callable[[T], object],
    table: Callable[[Sequence[T]], Iterable[str]],
    none: str,
) -> None:
    """Print the first page of a long list like `print_each`, and whether there are more rows.

    :param none: the text for an empty list.
    """
    print_each(as_json, map(facts, page.rows), table(page.rows) if page.rows else [none])
    if page.next_place is not None:
        click.echo(f"There are more than {len(page.rows)}; --limit lists more of them.", err=True)


def log_in(email: str | None = None, *, never_expires: bool = False) -> str:
    """Ask for password and one-time password, and for the e-mail address unless it is given; log in to the service.

    Both are always prompted for, so that no shell history contains them. Nothing is asked on standard output, from
    which a script takes the token.

    :returns: the access token.
    :raises click.ClickException: the service refused, or could not be reached.
    """
    auth = runtime().client.auth
    email = email or click.prompt("E-mail", err=True)
    try:
        verification = auth.login(email, click.prompt("Password", hide_input=True, err=True))
        otp = Hidden(click.prompt(f"One-time password sent to {email}", hide_input=True, err=True).strip())
        token = auth.verify_login(verification, otp, disable_expire=never_expires).access_token
        header_value("the service's access token", token)
    except (PaymentsError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    return token


@contextmanager
def progress_bar(label: str, count: Callable[[], int]) -> Iterator[Callable[[int], None] | None]:
    """A function that moves a progress bar on a terminal; None in a log, and while there is nothing to do.

    :param count: counts the steps; not called without a terminal.
    """
    length = count() if sys.stderr and sys.stderr.isatty() else 0
    if not length:
        yield None
        return
    with click.progressbar(length=length, label=label, file=sys.stderr) as bar:
        yield bar.update


@contextmanager
def until_stopped() -> Iterator[threading.Event]:
    """Yield an event that the first SIGINT or SIGTERM sets; a second one ends the process as usual."""
    stopped = threading.Event()
    before = {int(number): signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, frame: object) -> None:
        stopped.set()
        signal.signal(number, before[number])

    for number in before:
        signal.signal(number, stop)
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

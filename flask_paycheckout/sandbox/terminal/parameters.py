"""The arguments and options of the commands."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import click

from flask_paycheckout.sandbox.terminal.connection import DEFAULT_URL, MAX_EVENTS
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS

URL_VARIABLE, TOKEN_VARIABLE = "SANDBOX_URL", "SANDBOX_CONTROL_TOKEN"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AMOUNT = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?")
_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([smhd]?)")


def seconds_of(text: str) -> float:
    """The seconds of `90`, `90s`, `15m`, `2h` or `1d`. :raises BadParameter: it is none of these."""
    read = _DURATION.fullmatch(text)
    if read is None:
        raise click.BadParameter(f"{text!r} is no duration; write 90s, 15m, 2h or 1d")
    return float(read[1]) * _UNITS[read[2] or "s"]


def amount_of(text: str) -> Decimal:
    """An amount, exactly as it is written. :raises BadParameter: it is no number."""
    if not _AMOUNT.fullmatch(text):
        raise click.BadParameter(f"{text!r} is no amount; write 12.50")
    return Decimal(text)


def change_of(text: str) -> tuple[str, str]:
    """The name and value of `NAME=VALUE`. :raises BadParameter: it is none."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE; --list-unknowns shows names and values")
    return name, value


def _changes(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The words that complete the change of a switch."""
    every = (f"{one.name}={value}" for one in ASSUMPTIONS for value in one.values)
    return [change for change in every if change.startswith(incomplete)]


def option(*names: str, **how: Any) -> click.Option:
    return click.Option(names, **how)


def argument(name: str, metavar: str, **how: Any) -> click.Argument:
    return click.Argument([name], metavar=metavar, **how)


FLAG = {"is_flag": True}
CHANGES = {"type": change_of, "shell_complete": _changes}
PARAMETERS = {
    one.name: one
    for one in (
        argument("id", "ID"),
        argument("event", "EVENT"),
        argument("about", "[ID]", required=False),
        argument("status", "STATUS", type=click.Choice(["completed", "failed"])),
        argument("duration", "DURATION", type=seconds_of),
        argument("operation", "[OPERATION]", required=False),
        argument("kind", "[KIND]", required=False),
        argument("name", "[NAME]", required=False),
        argument("changes", "[NAME=VALUE]...", nargs=-1, **CHANGES),
        argument("file", "FILE"),
        argument("method", "METHOD"),
        argument("path", "PATH"),
        argument("program", "PROGRAM...", nargs=-1, required=True, type=click.UNPROCESSED),
        option("--account", metavar="NAME", help="Of this account only, or by it."),
        option("--method", "paymentMethod", metavar="CODE", help="The payment method, else the first usable one."),
        option("--amount", metavar="N", type=amount_of, help="Instead of the usual amount."),
        option("--currency", metavar="CODE", help="Of the new checkout or payout."),
        option("--reference", metavar="TEXT", help="By which the deposit can be read too."),
        option("--output", metavar="FILE", help="disbursement-ID.pdf otherwise."),
        option("--clear", **FLAG, help="Back to none, or to the values at the start."),
        option("--times", metavar="N", type=int, help="How often it strikes."),
        option("--share", metavar="S", type=amount_of, help="Strikes only this share of the calls."),
        option("--status-code", "statusCode", metavar="N", type=int),
        option("--message", metavar="TEXT"),
        option("--retry-after", "retryAfter", metavar="N", type=int),
        option("--seconds", metavar="N", type=amount_of, help="Of a delay."),
        option("--webhook-url", "webhookUrl", metavar="URL", help="Where the webhooks of a new account go."),
        option("--to", metavar="ADDRESS", help="To this address only."),
        option("--data", metavar="JSON", help="The body."),
        option("--last", metavar="N", type=click.IntRange(0, MAX_EVENTS), default=10, show_default=True),
        option("--seconds", "until", metavar="DURATION", type=seconds_of, help="Stop after so long."),
        option("--kind", "of_kind", metavar="KIND", help="call, deposit, disbursement, payment or webhook only."),
        option("--path", "in_address", metavar="TEXT", help="With this in the address only."),
        option("--status", "outcome", metavar="STATUS", help="With this outcome only, such as 404, 4xx or pending."),
        option("--only", metavar="NAME", multiple=True, help="A switch; may be repeated."),
    )
}
"""The arguments and options of all commands. Their names are those of the fields that they become."""
COMMON = (
    option("--url", help=f"Address of the sandbox ({URL_VARIABLE}, or {DEFAULT_URL})."),
    option("--control-token", metavar="TOKEN", help=f"Better set {TOKEN_VARIABLE}."),
    option("--json", **FLAG, help="Print for a program."),
)
FIELD = option("--field", metavar="NAME", help="Print this field alone, such as id or deposit.status.")

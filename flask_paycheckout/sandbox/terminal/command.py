"""The commands of `python -m flask_paycheckout.sandbox` that drive a running sandbox."""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
from collections.abc import Sequence
from contextlib import closing

from flask_paycheckout.sandbox.terminal.actions import ACTIONS, amount_of, change_of, seconds_of
from flask_paycheckout.sandbox.terminal.connection import DEFAULT_URL, NOT_ALLOWED, CommandFailed, Connection
from flask_paycheckout.sandbox.terminal.printing import event, value_of
from flask_paycheckout.sandbox.terminal.tail import follow

COMMANDS = {
    "pick": "let the customer pick a payment method",
    "pay": "let the customer's money arrive",
    "fail": "let the bank refuse the payment",
    "abandon": "let the customer leave without picking; the clock moves past the page's end",
    "trigger": "bring a checkout or a payout into a state, or send a webhook again",
    "finish": "let the bank complete a payout, or let it fail",
    "proof": "save the transfer proof of a completed payout",
    "advance": "move the clock forward",
    "clock": "show the clock",
    "fault": "arm a fault, list the armed ones, or remove them",
    "accounts": "list, make, show or remove accounts, or give one new keys",
    "mails": "list the mails",
    "webhooks": "list the webhooks",
    "requests": "list the calls of the service",
    "disbursements": "list the payouts and refunds",
    "unknowns": "list the switches, change some, or return all to the start",
    "tail": "follow calls, moves and webhooks as they happen",
    "snapshot": "save the whole state as a file, which holds secrets",
    "restore": "return to the state of a snapshot",
    "reset": "return to the start state",
}
"""The commands, each with its effect."""

URL_VARIABLE, TOKEN_VARIABLE = "SANDBOX_URL", "SANDBOX_CONTROL_TOKEN"
# Options that may also stand before the command, and whether a value follows.
_COMMON = {"--url": True, "--control-token": True, "--json": False}


def command_of(arguments: Sequence[str]) -> list[str] | None:
    """The arguments of a command, with its name first; None when they are those that start a sandbox."""
    before = list(arguments)
    common: list[str] = []
    while before and before[0] not in COMMANDS:
        name, sign, _ = before[0].partition("=")
        if name not in _COMMON:
            return None
        size = 1 if sign or not _COMMON[name] else 2
        common, before = common + before[:size], before[size:]
    return [before[0], *common, *before[1:]] if before else None


def run(arguments: Sequence[str]) -> int:
    """Carry out one command, and return the exit code of the process."""
    options = _parser().parse_args(arguments)
    try:
        return _carry_out(options)
    except CommandFailed as failed:
        print(failed, file=sys.stderr)  # noqa: T201
        return failed.code
    except KeyboardInterrupt:
        return 0 if options.command == "tail" else 130
    except BrokenPipeError:
        # The interpreter would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _carry_out(options: argparse.Namespace) -> int:
    token = options.control_token or os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        raise CommandFailed(
            f"The control token is missing: set {TOKEN_VARIABLE} to the one that the sandbox printed at its start.",
            NOT_ALLOWED,
        )
    sandbox = Connection(options.url or os.environ.get(URL_VARIABLE) or DEFAULT_URL, token)
    if options.command == "tail":
        return _tail(sandbox, options)
    answer, text = ACTIONS[options.command](sandbox, options)
    if options.field is not None:
        text = value_of(answer, options.field)
    print(json.dumps(answer) if options.json else text, flush=True)  # noqa: T201
    return 0


def _tail(sandbox: Connection, options: argparse.Namespace) -> int:
    with closing(follow(sandbox, options.last, options.account, options.seconds, is_over=_nobody_reads)) as events:
        for one in events:
            print(json.dumps(one) if options.json else event(one), flush=True)  # noqa: T201
    return 0


def _nobody_reads() -> bool:
    """Whether the program that the output goes to has ended, where the system can tell."""
    if not hasattr(select, "poll"):
        return False
    watch = select.poll()
    try:
        watch.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):
        # It is no file, or one that cannot be watched.
        return False
    return any(found & select.POLLERR for _, found in watch.poll(0))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m flask_paycheckout.sandbox", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    made = {name: commands.add_parser(name, help=told, description=told) for name, told in COMMANDS.items()}
    for command in made.values():
        command.add_argument("--url", help=f"address of the sandbox ({URL_VARIABLE}, or {DEFAULT_URL})")
        command.add_argument("--control-token", metavar="TOKEN", help=f"better set {TOKEN_VARIABLE}")
        command.add_argument("--json", action="store_true", help="print for a program")
        command.add_argument("--field", metavar="NAME", help="print this field alone, such as id or deposit.status")
    for name in ("pick", "pay", "fail", "abandon", "finish", "proof"):
        made[name].add_argument("id", metavar="ID", help="of the checkout" if name != "proof" else "of the payout")
    for name in ("mails", "webhooks", "requests", "disbursements", "tail", "trigger", "fault"):
        made[name].add_argument("--account", metavar="NAME", help="of this account only")
    for name in ("pick", "trigger"):
        made[name].add_argument("--method", metavar="CODE", help="the payment method; the first usable one otherwise")
    for name in ("pay", "trigger"):
        made[name].add_argument("--amount", type=amount_of, metavar="N", help="instead of the usual amount")
    made["pick"].add_argument("--reference", metavar="TEXT", help="by which the deposit can be read too")
    made["trigger"].add_argument("event", metavar="EVENT", help="such as paid; the documentation lists them")
    made["trigger"].add_argument("id", metavar="ID", nargs="?", help="of what it happens to; something new otherwise")
    made["trigger"].add_argument("--currency", metavar="CODE", help="of the new checkout or payout")
    made["unknowns"].add_argument("changes", nargs="*", type=change_of, metavar="NAME=VALUE", help="changes this one")
    made["unknowns"].add_argument("--clear", action="store_true", help="return all to their values at the start")
    made["finish"].add_argument("status", choices=("completed", "failed"))
    made["proof"].add_argument("--output", metavar="FILE", help="disbursement-ID.pdf otherwise")
    made["advance"].add_argument("duration", type=seconds_of, metavar="DURATION", help="90s, 15m, 2h or 1d")
    made["mails"].add_argument("--to", metavar="ADDRESS", help="to this address only")
    for name in ("snapshot", "restore"):
        made[name].add_argument("file", metavar="FILE", help="to write" if name != "restore" else "a snapshot")
    _add_accounts(made["accounts"])
    _add_fault(made["fault"])
    made["tail"].add_argument("--last", type=_count, default=10, metavar="N", help="events to begin with (%(default)s)")
    made["tail"].add_argument("--seconds", type=seconds_of, metavar="DURATION", help="stop after so long")
    return parser


def _add_accounts(command: argparse.ArgumentParser) -> None:
    actions = ("list", "make", "show", "keys", "remove")
    command.add_argument("action", nargs="?", choices=actions, default="list")
    command.add_argument("name", nargs="?", metavar="NAME")
    command.add_argument("--webhook-url", metavar="URL", help="where the webhooks of a new account go")


def _add_fault(command: argparse.ArgumentParser) -> None:
    command.add_argument("operation", nargs="?", metavar="OPERATION", help="such as 'GET /v1/deposit/{id}' or webhook")
    command.add_argument("kind", nargs="?", metavar="KIND", help="such as error or lose_response")
    command.add_argument("--clear", action="store_true", help="remove all faults")
    command.add_argument("--times", type=int, metavar="N", help="how often it strikes")
    command.add_argument("--share", type=float, metavar="S", help="strikes only this share of the calls")
    command.add_argument("--status-code", type=int, metavar="N")
    command.add_argument("--message", metavar="TEXT")
    command.add_argument("--retry-after", type=int, metavar="N")
    command.add_argument("--seconds", type=float, metavar="N", help="of a delay")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 200):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 to 200")
    return int(text)

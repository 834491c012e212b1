"""The command line: the options that start a sandbox, and the commands that drive a running one.

Most commands are calls of the control interface, declared in `COMMANDS`. Nothing of the server is imported here, so
that a command starts at once.
"""

from __future__ import annotations

import os
import re
import select
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import click

from flask_paycheckout.sandbox.terminal.connection import (
    DEFAULT_URL,
    NOT_ALLOWED,
    REFUSED,
    WRONG_USE,
    CommandFailed,
    Connection,
    Event,
    Given,
    Told,
    event,
    fields,
    follow,
    segment,
    table,
    value_of,
)
from flask_paycheckout.sandbox.terminal.files import restore_snapshot, run_file, save_proof, save_snapshot, try_unknowns
from flask_paycheckout.sandbox.terminal.parameters import (
    CHANGES,
    COMMON,
    FIELD,
    FLAG,
    PARAMETERS,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    argument,
    option,
)
from flask_paycheckout.sandbox.world.assumptions import assumptions_as_json, assumptions_as_text, did_you_mean
from flask_paycheckout.sandbox.world.exact_json import read_json, write_json

PROGRAM = "python -m flask_paycheckout.sandbox"


_NO_FIELDS = {"url", "control_token", "json", "field", "action", "clear"}
_RENAMED = {"duration": "advanceSeconds", "about": "id"}


@dataclass(frozen=True)
class Command:
    """A command: its effect, its parameters, and the call that it makes."""

    help: str
    parameters: str = ""
    """Names in `PARAMETERS`."""
    call: str | Mapping[str, str] = ""
    """Method and path below `/_sandbox/`, with parameters in braces. Several by the action, or by the first parameter
    that is given. What is not in the path goes into the body, or the query."""
    columns: str = ""
    """The columns that people see of each item of a list."""
    shown: tuple[str, ...] = ()
    """The fields that people see of an object, by path; all of them when empty."""
    carry_out: Callable[[Connection, Given], Told | int] | None = None
    """Makes the calls, where it is not a single one; or prints by itself, and returns the exit code."""
    is_local: bool = False
    """Whether it needs no sandbox that runs."""


def _carry_out(command: Command, sandbox: Connection, given: Given) -> Told | int:
    if command.carry_out is not None:
        return command.carry_out(sandbox, given)
    method, path = _call_of(command, given).split()
    in_path = set(re.findall(r"{(\w+)}", path))
    if any(given[name] is None for name in in_path):
        raise CommandFailed(f"This needs {' and '.join(sorted(in_path)).upper()} too.", WRONG_USE)
    path = path.format_map({name: segment(value) for name, value in given.items()})
    sent = {_RENAMED.get(name, name): value for name, value in given.items() if name not in in_path | _NO_FIELDS}
    answer = sandbox.call(method, path, sent)
    return answer, _text(answer, command)


def _call_of(command: Command, given: Given) -> str:
    if isinstance(command.call, str):
        return command.call
    if "action" in given:
        return command.call[given["action"]]
    return next(call for name, call in command.call.items() if not name or given[name])


def _text(answer: Any, command: Command) -> str:
    if isinstance(answer, list):
        return table(answer, command.columns.split())
    names = command.shown or tuple(answer)
    return fields({name.rpartition(".")[2]: value_of(answer, name) or None for name in names})


def _unknowns(sandbox: Connection, given: Given) -> Told:
    asked = dict(given["changes"])
    if given["clear"]:
        listed = sandbox.call("DELETE", "unknowns")
    elif asked:
        listed = [one for one in sandbox.call("POST", "unknowns", asked) if one["name"] in asked]
    else:
        listed = sandbox.call("GET", "unknowns")
    shown = [one | {"alternatives": ", ".join(one["alternatives"])} for one in listed]
    return listed, table(shown, ("name", "value", "startValue", "default", "alternatives"))


def _call(sandbox: Connection, given: Given) -> int:
    """Send a call of the service, signed by an account, and print the answer as it is."""
    account = sandbox.call("GET", f"accounts/{segment(given['account'] or 'default')}")
    body = (given["data"] or "").encode()
    status, content = sandbox.signed(given["method"].upper(), given["path"], body, account)
    sys.stdout.buffer.write(content.rstrip(b"\n") + b"\n")
    sys.stdout.flush()
    with suppress(ValueError, AttributeError):
        told = read_json(content)
        status = int(told.get("statusCode", told.get("status", status)))
    return REFUSED if status >= 400 else 0


def _tail(sandbox: Connection, given: Given) -> int:
    def is_wanted(one: Event) -> bool:
        status = str(given["outcome"] or "").lower()
        outcome = str(one["outcome"])
        return (
            given["of_kind"] in {None, one["kind"]}
            and (given["in_address"] or "") in one["text"]
            and (status in {"", outcome} or (status.endswith("xx") and outcome[:1] == status[:1] and outcome.isdigit()))
        )

    with suppress(KeyboardInterrupt):
        until = given["until"]
        told = follow(sandbox, given["last"], given["account"], until, is_wanted=is_wanted, is_over=_nobody_reads)
        with closing(told) as events:
            for one in events:
                click.echo(write_json(one) if given["json"] else event(one))
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


_DEPOSIT = ("deposit.depositId", "deposit.status", "deposit.inputAmount", "deposit.inputCurrency", "paymentMethod")
_FAULT = "operation kind clear account times share statusCode message retryAfter seconds"
COMMANDS = {
    "pick": Command(
        "let the customer pick a payment method",
        "id paymentMethod reference",
        "POST checkouts/{id}/pick",
        shown=_DEPOSIT,
    ),
    "pay": Command("let the customer's money arrive", "id amount", "POST checkouts/{id}/pay", shown=_DEPOSIT),
    "fail": Command("let the bank refuse the payment", "id", "POST checkouts/{id}/fail", shown=_DEPOSIT),
    "abandon": Command(
        "let the customer leave without picking; the clock moves past the page's end", "id", "POST checkouts/{id}/leave"
    ),
    "trigger": Command(
        "bring a checkout or a payout into a state, or send a webhook again",
        "event about account paymentMethod amount currency",
        "POST trigger",
    ),
    "finish": Command("let the bank complete a payout, or let it fail", "id status", "POST disbursements/{id}/finish"),
    "proof": Command("save the transfer proof of a completed payout", "id output", carry_out=save_proof),
    "advance": Command("move the clock forward", "duration", "POST clock"),
    "clock": Command("show the clock", call="GET clock"),
    "fault": Command(
        "arm a fault, list the armed ones, or remove them",
        _FAULT,
        {"clear": "DELETE faults", "operation": "POST faults", "": "GET faults"},
        "id operation kind times account",
    ),
    "accounts": Command(
        "list, make, show or remove accounts, or give one new keys",
        "name webhookUrl",
        {
            "list": "GET accounts",
            "make": "POST accounts",
            "show": "GET accounts/{name}",
            "keys": "POST accounts/{name}/keys",
            "remove": "DELETE accounts/{name}",
        },
        "name clientId email webhookUrl",
    ),
    "worlds": Command(
        "list, make or remove worlds",
        "name",
        {"list": "GET worlds", "make": "POST worlds", "remove": "DELETE worlds/{name}"},
        "name baseUrl",
    ),
    "mails": Command("list the mails", "account to", "GET mails", "sentAt to subject otp"),
    "webhooks": Command("list the webhooks", "account", "GET webhooks", "id createdAt account orderId state"),
    "requests": Command(
        "list the calls of the service", "account", "GET requests", "id at status method target account"
    ),
    "disbursements": Command(
        "list the payouts and refunds",
        "account",
        "GET disbursements",
        "disbursementId account status amount currency reference",
    ),
    "unknowns": Command("list the switches, change some, or return all", "changes clear", carry_out=_unknowns),
    "call": Command(
        "sign a call of the service, send it and print the answer", "method path account data", carry_out=_call
    ),
    "tail": Command(
        "follow calls, moves and webhooks as they happen",
        "account of_kind in_address outcome last until",
        carry_out=_tail,
    ),
    "run": Command("carry out the triggers and calls of a file", "file", carry_out=run_file),
    "snapshot": Command("save the whole state as a file, which holds secrets", "file", carry_out=save_snapshot),
    "restore": Command("return to the state of a snapshot", "file", carry_out=restore_snapshot),
    "reset": Command("return to the start state", call="POST reset"),
    "try-unknowns": Command(
        "run a shop's tests under each value of the switches", "only program", carry_out=try_unknowns, is_local=True
    ),
}
"""The commands, by name."""


def _click_command(name: str, declared: Command) -> click.Command:
    parameters = [PARAMETERS[one] for one in declared.parameters.split()]
    if isinstance(declared.call, Mapping) and "list" in declared.call:
        actions = click.Choice(list(declared.call))
        parameters.insert(0, argument("action", f"[{'|'.join(declared.call)}]", type=actions, default="list"))

    def callback(**given: Any) -> int:
        outer = click.get_current_context().find_root().params
        common = {key: given[key] or outer.get(key) for key in ("url", "control_token", "json")}
        return _printed(lambda: _perform(declared, given | common))

    return click.Command(name, params=[*parameters, *COMMON, FIELD], callback=callback, help=declared.help)


def _printed(tell: Callable[[], str | int]) -> int:
    """Print a text, also to a program that reads only its beginning, such as `head`; or return the exit code."""
    try:
        told = tell()
        if isinstance(told, int):
            return told
        click.echo(told)
    except BrokenPipeError:
        # The interpreter would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _perform(command: Command, given: Given) -> str | int:
    token = given["control_token"] or os.environ.get(TOKEN_VARIABLE, "")
    if not token and not command.is_local:
        raise CommandFailed(
            f"The control token is missing: set {TOKEN_VARIABLE} to the one that the sandbox printed at its start.",
            NOT_ALLOWED,
        )
    sandbox = Connection(given["url"] or os.environ.get(URL_VARIABLE) or DEFAULT_URL, token)
    told = _carry_out(command, sandbox, given)
    if isinstance(told, int):
        return told
    answer, text = told
    if given["field"] is not None:
        text = value_of(answer, given["field"])
    return write_json(answer) if given["json"] else text


class CommandLine(click.Group):
    """The options that start a sandbox, and the commands; one that does not exist is answered with those like it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not ctx.resilient_parsing:
            ctx.fail(f"There is no command {args[0]!r}.{did_you_mean(args[0], self.commands)}")
        return super().resolve_command(ctx, args)


_PORTS = click.IntRange(0, 65535)


@click.pass_context
def _serve(context: click.Context, /, **given: Any) -> int:
    if context.invoked_subcommand is not None:
        return 0
    if given["list_unknowns"]:
        return _printed(lambda: assumptions_as_json() if given["json"] else assumptions_as_text())
    # Imported here: what serves a sandbox takes a second, which no command needs.
    from flask_paycheckout.sandbox.command import serve

    with suppress(KeyboardInterrupt):
        return serve(given)
    return 0


cli = CommandLine(
    "sandbox",
    callback=_serve,
    invoke_without_command=True,
    help="Serve a sandbox until Ctrl-C, or run a command against one that is running.",
    commands={name: _click_command(name, declared) for name, declared in COMMANDS.items()},
    params=[
        option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
        option("--port", type=_PORTS, default=8790, show_default=True, help="Port to listen on; 0 takes a free one."),
        option("--database", metavar="URL", help="SQLite in memory unless given, here or in SANDBOX_DATABASE."),
        option("--webhook-url", metavar="URL", help="Where webhooks are sent."),
        option("--clock", default="running", metavar="CLOCK", help="running, frozen, or frozen@2026-01-01T00:00:00Z."),
        option("--worlds", type=int, default=200, show_default=True, help="The most worlds below /w/."),
        option("--seed", metavar="N", help="Makes identifiers repeatable."),
        option("--unknown", metavar="NAME=VALUE", multiple=True, help="A switch; may be repeated.", **CHANGES),
        option("--list-unknowns", **FLAG, help="Print the switches, defaults first, and stop."),
        option("--base-url", metavar="URL", help="What checkout addresses begin with."),
        option("--allow-host", metavar="NAME", multiple=True, help="A host name to answer to."),
        option("--allow-remote-control", **FLAG, help="Let other machines control the sandbox."),
        option("--trusted-proxies", type=int, default=0, metavar="N", help="How many proxies are in front."),
        option("--allow-remote-webhooks", **FLAG, help="Let webhooks leave this machine."),
        *COMMON,
    ],
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a sandbox, or carry out one command; returns the exit code of the process."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        return int(cli.main(given, PROGRAM, standalone_mode=False) or 0)
    except click.UsageError as wrong:
        failed = CommandFailed(wrong.format_message(), WRONG_USE)
    except CommandFailed as wrong:
        failed = wrong
    except click.Abort:
        return 130
    told = write_json({"error": str(failed), "exitCode": failed.code}) if "--json" in given else str(failed)
    click.echo(told, err=True)
    return failed.code

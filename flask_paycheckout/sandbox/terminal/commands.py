"""The command line: the options that start a sandbox, and the commands that drive a running one.

Most commands are calls of the control interface, made from their declarations; see `control/calls.py`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from itertools import groupby
from typing import Any

import click

from flask_paycheckout.sandbox.control.calls import CALLS, ControlCall
from flask_paycheckout.sandbox.terminal.connection import (
    DEFAULT_URL,
    NOT_ALLOWED,
    REFUSED,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    WRONG_USE,
    Arguments,
    CommandFailed,
    Connection,
    Event,
    Result,
    event,
    fields,
    follow,
    segment,
    table,
    value_of,
)
from flask_paycheckout.sandbox.terminal.files import restore_snapshot, run_file, save_proof, save_snapshot, try_unknowns
from flask_paycheckout.sandbox.wire.field_types import seconds_of
from flask_paycheckout.sandbox.world.assumptions import (
    ASSUMPTIONS,
    assumptions_as_text,
    did_you_mean,
)
from flask_paycheckout.sandbox.world.exact_json import read_json, write_json
from flask_paycheckout.sandbox.world.money import rows_of

PROGRAM = "python -m flask_paycheckout.sandbox"
CarryOut = Callable[[Connection, Arguments], Result]


def duration(text: str) -> float:
    """The seconds of `90`, `90s`, `15m`, `2h` or `1d`. :raises BadParameter: it is none of these."""
    seconds = seconds_of(text)
    if isinstance(seconds, str):
        raise click.BadParameter(f"{text!r} is no duration; write 90s, 15m, 2h or 1d")
    return float(seconds)


def change_of(text: str) -> tuple[str, str]:
    """The name and value of `NAME=VALUE`. :raises BadParameter: it is none."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE; --list-unknowns shows names and values")
    return name, value


def _changes(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The changes of a switch that begin with an incomplete word."""
    every = (f"{unknown.name}={value}" for unknown in ASSUMPTIONS for value in unknown.values)
    return [change for change in every if change.startswith(incomplete)]


CHANGES: dict[str, Any] = {"type": change_of, "shell_complete": _changes}
FLAG: dict[str, Any] = {"is_flag": True}


def option(*names: str, **how: Any) -> click.Option:
    return click.Option(names, **how)


def argument(name: str, metavar: str | None = None, **how: Any) -> click.Argument:
    return click.Argument([name], metavar=metavar, **how)


_TYPES: dict[str, Any] = {"N": click.IntRange(0, 65535), "DURATION": duration}


def options(table: str) -> list[click.Option]:
    """Options from a table: name and kind of value, which a flag does not have; the default; and the help."""
    return [_option(*usage.partition(" ")[::2], *about) for usage, *about in rows_of(table)]


def _option(name: str, value: str, default: str, help: str) -> click.Option:  # noqa: A002
    if not value:
        return option(name, **FLAG, help=help)
    defaults = {"default": default, "show_default": True} if default else {}
    return option(name, metavar=value, type=_TYPES.get(value), help=help, **defaults)


COMMON = options("""
--url URL             | | Address of the sandbox (SANDBOX_URL, or http://127.0.0.1:8790).
--control-token TOKEN | | Better set SANDBOX_CONTROL_TOKEN.
--json                | | Print for a program.
""")
FIELD = options("--field NAME | | Print this field alone, such as id or deposit.status.")


def _command(name: str, help: str, carry_out: CarryOut, *parameters: click.Parameter) -> click.Command:  # noqa: A002
    def callback(field: str | None, **arguments: Any) -> str | int:
        outer = click.get_current_context().find_root().params
        arguments |= {key: arguments[key] or outer.get(key) for key in ("url", "control_token", "json")}
        token = arguments["control_token"] or os.environ.get(TOKEN_VARIABLE, "")
        if not token:
            remedy = f"set {TOKEN_VARIABLE} to the one that the sandbox printed at its start."
            raise CommandFailed(f"The control token is missing: {remedy}", NOT_ALLOWED)
        result = carry_out(
            Connection(arguments["url"] or os.environ.get(URL_VARIABLE) or DEFAULT_URL, token), arguments
        )
        if isinstance(result, int):
            return result
        answer, text = result
        if arguments["json"]:
            return write_json(answer)
        return text if field is None else value_of(answer, field)

    return click.Command(name, params=[*parameters, *COMMON, *FIELD], callback=callback, help=help)


_ARGUMENT = re.compile(r"([<\[])(\w+)[>\]]")
_IN_PATH = re.compile(r"<(\w+)>")
_OPTIONS = {"payment_method": "method"}
"""The options whose name differs from their field's name."""


def _command_of(declared: ControlCall) -> click.Command:
    """The command that makes a call."""
    *_, name = _ARGUMENT.sub("", declared.usage).split()
    arguments = [argument(place, required=bracket == "<") for bracket, place in _ARGUMENT.findall(declared.usage)]
    named = {parameter.name for parameter in arguments}
    return _command(name, declared.summary, partial(_make, declared), *arguments, *_fields_as_options(declared, named))


def _fields_as_options(declared: ControlCall, excluded: Container[str | None]) -> list[click.Option]:
    """An option for each field of a call that is not excluded."""
    names = {field: _OPTIONS.get(field.attribute, field.attribute.replace("_", "-")) for field in declared.fields}
    return [
        option(f"--{name}", field.attribute, help=f"{field.meta.description}.")
        for field, name in names.items()
        if field.attribute not in excluded
    ]


def _make(declared: ControlCall, sandbox: Connection, arguments: Arguments) -> Result:
    path = _IN_PATH.sub(lambda place: segment(arguments[place[1]]), declared.path)
    values = {
        field.name: field.parse(value) if isinstance(value, str) else value
        for field in declared.fields
        if (value := arguments[field.attribute]) is not None and f"<{field.attribute}>" not in declared.path
    }
    answer = sandbox.call(declared.method, path, values)
    names = declared.shown.split()
    if isinstance(answer, list):
        return answer, table(answer, names)
    return answer, fields({name.rpartition(".")[2]: value_of(answer, name) or None for name in names or answer})


def _fault(sandbox: Connection, arguments: Arguments) -> Result:
    method = "DELETE" if arguments["clear"] else "POST" if arguments["operation"] else "GET"
    return _make(CALLS[f"{method} /faults"], sandbox, arguments)


def _unknowns(sandbox: Connection, arguments: Arguments) -> Result:
    changes = dict(arguments["changes"])
    if arguments["clear"]:
        switches = sandbox.call("DELETE", "unknowns")
    elif changes:
        switches = [switch for switch in sandbox.call("POST", "unknowns", changes) if switch["name"] in changes]
    else:
        switches = sandbox.call("GET", "unknowns")
    return switches, table(switches, ("name", "value", "startValue", "default", "alternatives"))


def _call(sandbox: Connection, arguments: Arguments) -> Result:
    """Send a call of the service, signed by an account, and print the answer as it is."""
    account = sandbox.call("GET", f"accounts/{segment(arguments['account'] or 'default')}")
    body = (arguments["data"] or "").encode()
    status, content = sandbox.signed(arguments["method"].upper(), arguments["path"], body, account)
    sys.stdout.buffer.write(content.rstrip(b"\n") + b"\n")
    sys.stdout.flush()
    with suppress(ValueError, AttributeError):
        answer = read_json(content)
        status = int(answer.get("statusCode", answer.get("status", status)))
    return REFUSED if status >= 400 else 0


def _tail(sandbox: Connection, arguments: Arguments) -> Result:
    status = str(arguments["status"] or "").lower()

    def is_wanted(entry: Event) -> bool:
        outcome = str(entry["outcome"])
        is_class = status.endswith("xx") and outcome[:1] == status[:1] and outcome.isdigit()
        is_right = arguments["kind"] in {None, entry["kind"]} and (arguments["path"] or "") in entry["text"]
        return is_right and (status in {"", outcome} or is_class)

    with suppress(KeyboardInterrupt):
        for entry in follow(
            sandbox, arguments["last"], arguments["account"], arguments["seconds"], is_wanted=is_wanted
        ):
            click.echo(write_json(entry) if arguments["json"] else event(entry))
    return 0


class CommandLine(click.Group):
    """A group of commands that suggests names for an unknown command, and runs `list`, if it exists, by default."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        has_none = not args or (args[0].startswith("--") and args[0] != "--help")
        is_list = "list" in self.commands and has_none and not ctx.resilient_parsing
        return super().parse_args(ctx, ["list", *args] if is_list else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not ctx.resilient_parsing:
            ctx.fail(f"There is no command {args[0]!r}.{did_you_mean(args[0], self.commands)}")
        return super().resolve_command(ctx, args)


def _commands() -> Iterable[click.Command]:
    """All commands."""
    sorted_calls = sorted((call for call in CALLS.values() if call.usage), key=lambda call: call.usage.split()[0])
    for name, calls in groupby(sorted_calls, key=lambda call: call.usage.split()[0]):
        commands = [_command_of(call) for call in calls]
        yield (
            CommandLine(name, commands=commands, help=f"lists, makes and removes {name}")
            if len(commands) > 1
            else commands[0]
        )
    yield _command(
        *("fault", "arms a fault, removes all, or lists those that are armed", _fault),
        *(argument("operation", required=False), argument("kind", required=False)),
        *_fields_as_options(CALLS["POST /faults"], {"operation", "kind"}),
        *options("--clear | | Remove all."),
    )
    yield _command(
        *("unknowns", "lists the switches, changes some, or returns all", _unknowns),
        argument("changes", "[NAME=VALUE]...", nargs=-1, **CHANGES),
        *options("--clear | | All to the values at the start."),
    )
    yield _command(
        *("call", "signs a call of the service, sends it and prints the answer", _call),
        *(argument("method"), argument("path")),
        *options("--account NAME | | Signed by this account.\n--data JSON | | The body."),
    )
    yield _command(
        *("tail", "shows calls, moves and webhooks as they happen", _tail),
        *options("""
--account NAME     |    | Of this account only.
--kind KIND        |    | call, deposit, disbursement, payment or webhook only.
--path TEXT        |    | With this in the address only.
--status STATUS    |    | With this outcome only, such as 404, 4xx or pending.
--last N           | 10 | So many of those that happened.
--seconds DURATION |    | Stop after so long.
"""),
    )
    output = options("--output FILE | | disbursement-ID.pdf otherwise.")
    yield _command("proof", "saves the transfer proof of a completed payout", save_proof, argument("id"), *output)
    yield _command("run", "carries out the triggers and calls of a file", run_file, argument("file"))
    yield _command("snapshot", "saves the whole state, with all secrets, as a file", save_snapshot, argument("file"))
    yield _command("restore", "returns to the state of a snapshot", restore_snapshot, argument("file"))
    yield click.Command(
        "try-unknowns",
        help="runs a shop's tests under each value of the switches",
        callback=try_unknowns,
        params=[
            argument("program", "PROGRAM...", nargs=-1, required=True, type=click.UNPROCESSED),
            option("--only", metavar="NAME", multiple=True, help="A switch; may be repeated."),
        ],
    )


@click.pass_context
def _serve(context: click.Context, /, **arguments: Any) -> str | int:
    if context.invoked_subcommand is not None:
        return 0
    if arguments["list_unknowns"]:
        return (
            json.dumps([asdict(unknown) for unknown in ASSUMPTIONS], indent=2)
            if arguments["json"]
            else assumptions_as_text()
        )
    # Imported here because the command that serves needs these names.
    from flask_paycheckout.sandbox.command import serve

    with suppress(KeyboardInterrupt):
        return serve(**arguments)
    return 0


COMMANDS = {command.name: command for command in _commands()}
cli = CommandLine(
    "sandbox",
    callback=_serve,
    invoke_without_command=True,
    help="Serve a sandbox until Ctrl-C, or run a command against one that is running.",
    commands=list(COMMANDS.values()),
    params=[
        *options("""
--host ADDRESS          | 127.0.0.1 | Address to listen on.
--port N                | 8790      | Port to listen on; 0 takes a free one.
--webhook-url URL       |           | Where webhooks are sent.
--clock CLOCK           | running   | running, frozen, or frozen@2026-01-01T00:00:00Z.
--worlds N              | 200       | The most worlds below /w/.
--seed SEED             |           | Makes identifiers repeatable.
--list-unknowns         |           | Print the switches, defaults first, and stop.
--base-url URL          |           | What checkout addresses begin with.
--allow-remote-control  |           | Others use this sandbox, directly or through a proxy.
--trusted-proxies N     | 0         | How many proxies are in front.
--allow-remote-webhooks |           | Let webhooks leave this machine.
"""),
        option(
            *("--database",),
            metavar="URL",
            envvar="SANDBOX_DATABASE",
            default="sqlite://",
            help="SQLite in memory unless given, here or in SANDBOX_DATABASE.",
        ),
        option(
            "--unknown", "unknowns", metavar="NAME=VALUE", multiple=True, help="A switch; may be repeated.", **CHANGES
        ),
        option("--allow-host", "allow_hosts", metavar="NAME", multiple=True, help="A host name to answer to."),
        *COMMON,
    ],
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a sandbox, or carry out one command; returns the exit code of the process."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        result = cli.main(words, PROGRAM, standalone_mode=False)
        if isinstance(result, str):
            click.echo(result)
        return result if isinstance(result, int) else 0
    except BrokenPipeError:
        # The reading program, such as `head`, has ended. The interpreter would report an error when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except click.UsageError as error:
        failed = CommandFailed(error.format_message(), WRONG_USE)
    except CommandFailed as error:
        failed = error
    except click.Abort:
        return 130
    message = write_json({"error": str(failed), "exitCode": failed.code}) if "--json" in words else str(failed)
    click.echo(message, err=True)
    return failed.code

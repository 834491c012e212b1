"""The command line: the options that start a sandbox, and the commands that drive a running one.

Most commands are calls of the control interface, made from their declarations; see `control/calls.py`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import groupby
from typing import Any

import click

from flask_paycheckout.sandbox.control.calls import CALLS, ControlCall
from flask_paycheckout.sandbox.terminal.connection import (
    DEFAULT_URL,
    MAX_EVENTS,
    NOT_ALLOWED,
    REFUSED,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    WRONG_USE,
    CommandFailed,
    Connection,
    Event,
    Given,
    Shown,
    event,
    fields,
    follow,
    segment,
    table,
    value_of,
)
from flask_paycheckout.sandbox.terminal.files import restore_snapshot, run_file, save_proof, save_snapshot, try_unknowns
from flask_paycheckout.sandbox.wire.field_types import DeclaredField
from flask_paycheckout.sandbox.world.assumptions import (
    ASSUMPTIONS,
    assumptions_as_text,
    did_you_mean,
)
from flask_paycheckout.sandbox.world.exact_json import read_json, write_json

PROGRAM = "python -m flask_paycheckout.sandbox"
CarryOut = Callable[[Connection, Given], Shown]

_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([smhd]?)")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds_of(text: str) -> float:
    """The seconds of `90`, `90s`, `15m`, `2h` or `1d`. :raises BadParameter: it is none of these."""
    read = _DURATION.fullmatch(text)
    if read is None:
        raise click.BadParameter(f"{text!r} is no duration; write 90s, 15m, 2h or 1d")
    return float(read[1]) * _UNITS[read[2] or "s"]


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


CHANGES: dict[str, Any] = {"type": change_of, "shell_complete": _changes}
FLAG: dict[str, Any] = {"is_flag": True}


def option(*names: str, **how: Any) -> click.Option:
    return click.Option(names, **how)


def argument(name: str, metavar: str | None = None, **how: Any) -> click.Argument:
    return click.Argument([name], metavar=metavar, **how)


_DATABASE = "SQLite in memory unless given, here or in SANDBOX_DATABASE."
COMMON = (
    option("--url", help=f"Address of the sandbox ({URL_VARIABLE}, or {DEFAULT_URL})."),
    option("--control-token", metavar="TOKEN", help=f"Better set {TOKEN_VARIABLE}."),
    option("--json", **FLAG, help="Print for a program."),
)
FIELD = option("--field", metavar="NAME", help="Print this field alone, such as id or deposit.status.")


def _command(name: str, help: str, carry_out: CarryOut, *parameters: click.Parameter) -> click.Command:  # noqa: A002
    def callback(field: str | None, **given: Any) -> str | int:
        outer = click.get_current_context().find_root().params
        given |= {key: given[key] or outer.get(key) for key in ("url", "control_token", "json")}
        token = given["control_token"] or os.environ.get(TOKEN_VARIABLE, "")
        if not token and carry_out is not try_unknowns:
            remedy = f"set {TOKEN_VARIABLE} to the one that the sandbox printed at its start."
            raise CommandFailed(f"The control token is missing: {remedy}", NOT_ALLOWED)
        shown = carry_out(Connection(given["url"] or os.environ.get(URL_VARIABLE) or DEFAULT_URL, token), given)
        if isinstance(shown, int):
            return shown
        answer, text = shown
        if given["json"]:
            return write_json(answer)
        return text if field is None else value_of(answer, field)

    return click.Command(name, params=[*parameters, *COMMON, FIELD], callback=callback, help=help)


_ARGUMENT = re.compile(r"[<\[](\w+)[>\]]")
_OPTIONS = {"payment_method": "method"}
"""Options that are not named like their field."""


def _command_of(name: str, calls: Sequence[ControlCall]) -> click.Command:
    """The command that makes one of these calls: by its word, its flag, or the arguments that are given."""
    usages = " ".join(one.usage.removeprefix(name) for one in calls)
    positional = tuple(dict.fromkeys(_ARGUMENT.findall(usages)))
    declared = {field.attribute: field for one in calls for field in one.fields}
    words = [word for word in usages.split() if word.isalpha()]
    parameters: list[click.Parameter] = [option(flag, **FLAG) for flag in re.findall("--[a-z]+", usages)]
    if words:
        parameters.append(argument("word", f"[{'|'.join(words)}]", type=click.Choice(words), default=words[0]))
    for place in positional:
        kind: dict[str, Any] = {"type": seconds_of, "metavar": "DURATION"} if place == "advance_seconds" else {}
        parameters.append(argument(place, required=len(calls) == 1 and f"<{place}>" in usages, **kind))
    parameters += [_option(field) for field in declared.values() if field.attribute not in positional]

    def carry_out(sandbox: Connection, given: Given) -> Shown:
        chosen = [one for one in calls if _fits(one, given)][-1]
        return _make(sandbox, chosen, {place: given[place] for place in (*positional, *declared)}, declared)

    return _command(name, calls[0].summary, carry_out, *parameters)


def _fits(one: ControlCall, given: Given) -> bool:
    """Whether the word or the flag of a usage is given, else one of its arguments if it has any."""
    _, *rest = one.usage.split()
    names = [place for place in rest if _ARGUMENT.fullmatch(place)]
    for word in rest:
        if word not in names:
            return bool(given.get("word") == word or given.get(word.removeprefix("--")))
    return not names or any(given[name[1:-1]] is not None for name in names)


def _option(field: DeclaredField) -> click.Option:
    name = _OPTIONS.get(field.attribute) or field.attribute.replace("_", "-")
    return option(f"--{name}", field.attribute, help=f"{field.meta.description}.")


def _make(sandbox: Connection, made: ControlCall, given: Given, declared: dict[str, DeclaredField]) -> Shown:
    in_path = re.findall(r"<(\w+)>", made.path)
    missing = [name for name in in_path if given[name] is None]
    if missing:
        raise CommandFailed(f"This needs {' and '.join(missing).upper()} too.", WRONG_USE)
    path = re.sub(r"<(\w+)>", lambda place: segment(given[place[1]]), made.path)
    sent = {
        declared[name].name: declared[name].parse(value) if isinstance(value, str) else value
        for name, value in given.items()
        if value is not None and name not in in_path
    }
    answer = sandbox.call(made.method, path, sent)
    names = made.shown.split()
    if isinstance(answer, list):
        return answer, table(answer, names)
    return answer, fields({name.rpartition(".")[2]: value_of(answer, name) or None for name in names or answer})


def _unknowns(sandbox: Connection, given: Given) -> Shown:
    asked = dict(given["changes"])
    if given["clear"]:
        listed = sandbox.call("DELETE", "unknowns")
    elif asked:
        listed = [one for one in sandbox.call("POST", "unknowns", asked) if one["name"] in asked]
    else:
        listed = sandbox.call("GET", "unknowns")
    shown = [one | {"alternatives": ", ".join(one["alternatives"])} for one in listed]
    return listed, table(shown, ("name", "value", "startValue", "default", "alternatives"))


def _call(sandbox: Connection, given: Given) -> Shown:
    """Send a call of the service, signed by an account, and print the answer as it is."""
    account = sandbox.call("GET", f"accounts/{segment(given['account'] or 'default')}")
    body = (given["data"] or "").encode()
    status, content = sandbox.signed(given["method"].upper(), given["path"], body, account)
    sys.stdout.buffer.write(content.rstrip(b"\n") + b"\n")
    sys.stdout.flush()
    with suppress(ValueError, AttributeError):
        answer = read_json(content)
        status = int(answer.get("statusCode", answer.get("status", status)))
    return REFUSED if status >= 400 else 0


def _tail(sandbox: Connection, given: Given) -> Shown:
    status = str(given["status"] or "").lower()

    def is_wanted(one: Event) -> bool:
        outcome = str(one["outcome"])
        is_class = status.endswith("xx") and outcome[:1] == status[:1] and outcome.isdigit()
        is_right = given["kind"] in {None, one["kind"]} and (given["path"] or "") in one["text"]
        return is_right and (status in {"", outcome} or is_class)

    with suppress(KeyboardInterrupt):
        for one in follow(sandbox, given["last"], given["account"], given["seconds"], is_wanted=is_wanted):
            click.echo(write_json(one) if given["json"] else event(one))
    return 0


_ACCOUNT = option("--account", metavar="NAME", help="Of this account only, or by it.")


def _commands() -> Iterable[click.Command]:
    """All commands."""
    named = sorted((one for one in CALLS if one.usage), key=lambda one: one.usage.split()[0])
    for name, calls in groupby(named, key=lambda one: one.usage.split()[0]):
        yield _command_of(name, list(calls))
    yield _command(
        *("unknowns", "lists the switches, changes some, or returns all", _unknowns),
        argument("changes", "[NAME=VALUE]...", nargs=-1, **CHANGES),
        option("--clear", **FLAG, help="All to the values at the start."),
    )
    yield _command(
        *("call", "signs a call of the service, sends it and prints the answer", _call),
        *(argument("method"), argument("path"), _ACCOUNT, option("--data", metavar="JSON", help="The body.")),
    )
    yield _command(
        *("tail", "shows calls, moves and webhooks as they happen", _tail),
        _ACCOUNT,
        option("--kind", metavar="KIND", help="call, deposit, disbursement, payment or webhook only."),
        option("--path", metavar="TEXT", help="With this in the address only."),
        option("--status", metavar="STATUS", help="With this outcome only, such as 404, 4xx or pending."),
        option("--last", metavar="N", type=click.IntRange(0, MAX_EVENTS), default=10, show_default=True),
        option("--seconds", metavar="DURATION", type=seconds_of, help="Stop after so long."),
    )
    output = option("--output", metavar="FILE", help="disbursement-ID.pdf otherwise.")
    yield _command("proof", "saves the transfer proof of a completed payout", save_proof, argument("id"), output)
    yield _command("run", "carries out the triggers and calls of a file", run_file, argument("file"))
    yield _command("snapshot", "saves the whole state, with all secrets, as a file", save_snapshot, argument("file"))
    yield _command("restore", "returns to the state of a snapshot", restore_snapshot, argument("file"))
    yield _command(
        *("try-unknowns", "runs a shop's tests under each value of the switches", try_unknowns),
        argument("program", "PROGRAM...", nargs=-1, required=True, type=click.UNPROCESSED),
        option("--only", metavar="NAME", multiple=True, help="A switch; may be repeated."),
    )


class CommandLine(click.Group):
    """The options that start a sandbox, and the commands; one that does not exist is answered with those like it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not ctx.resilient_parsing:
            ctx.fail(f"There is no command {args[0]!r}.{did_you_mean(args[0], self.commands)}")
        return super().resolve_command(ctx, args)


@click.pass_context
def _serve(context: click.Context, /, **given: Any) -> str | int:
    if context.invoked_subcommand is not None:
        return 0
    if given["list_unknowns"]:
        return json.dumps([asdict(one) for one in ASSUMPTIONS], indent=2) if given["json"] else assumptions_as_text()
    # Imported here because the command that serves needs these names.
    from flask_paycheckout.sandbox.command import serve

    with suppress(KeyboardInterrupt):
        return serve(**given)
    return 0


COMMANDS = {command.name: command for command in _commands()}
cli = CommandLine(
    "sandbox",
    callback=_serve,
    invoke_without_command=True,
    help="Serve a sandbox until Ctrl-C, or run a command against one that is running.",
    commands=list(COMMANDS.values()),
    params=[
        option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
        option(
            *("--port",),
            type=click.IntRange(0, 65535),
            default=8790,
            show_default=True,
            help="Port to listen on; 0 takes a free one.",
        ),
        option("--database", metavar="URL", envvar="SANDBOX_DATABASE", default="sqlite://", help=_DATABASE),
        option("--webhook-url", metavar="URL", help="Where webhooks are sent."),
        option("--clock", default="running", metavar="CLOCK", help="running, frozen, or frozen@2026-01-01T00:00:00Z."),
        option("--worlds", type=int, default=200, show_default=True, help="The most worlds below /w/."),
        option("--seed", metavar="N", help="Makes identifiers repeatable."),
        option(
            "--unknown", "unknowns", metavar="NAME=VALUE", multiple=True, help="A switch; may be repeated.", **CHANGES
        ),
        option("--list-unknowns", **FLAG, help="Print the switches, defaults first, and stop."),
        option("--base-url", metavar="URL", help="What checkout addresses begin with."),
        option("--allow-host", "allow_hosts", metavar="NAME", multiple=True, help="A host name to answer to."),
        option("--allow-remote-control", **FLAG, help="Others use this sandbox, directly or through a proxy."),
        option("--trusted-proxies", type=int, default=0, metavar="N", help="How many proxies are in front."),
        option("--allow-remote-webhooks", **FLAG, help="Let webhooks leave this machine."),
        *COMMON,
    ],
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a sandbox, or carry out one command; returns the exit code of the process."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        result = cli.main(given, PROGRAM, standalone_mode=False)
        if isinstance(result, str):
            click.echo(result)
        return result if isinstance(result, int) else 0
    except BrokenPipeError:
        # The program that reads it, such as `head`, has ended. The interpreter would complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except click.UsageError as wrong:
        failed = CommandFailed(wrong.format_message(), WRONG_USE)
    except CommandFailed as wrong:
        failed = wrong
    except click.Abort:
        return 130
    told = write_json({"error": str(failed), "exitCode": failed.code}) if "--json" in given else str(failed)
    click.echo(told, err=True)
    return failed.code

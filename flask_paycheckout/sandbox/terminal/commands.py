"""The commands of `python -m flask_paycheckout.sandbox` that drive a running sandbox.

Most are one call of the control interface, declared in `COMMANDS`. Nothing of the server is imported here, so that a
command starts at once.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flask_paycheckout.sandbox.terminal.connection import (
    DEFAULT_URL,
    NOT_ALLOWED,
    WRONG_USE,
    CommandFailed,
    Connection,
)
from flask_paycheckout.sandbox.terminal.printing import event, fields, plain, table, value_of

_PAUSE = 0.5
Event = dict[str, Any]


def follow(
    connection: Connection,
    last: int,
    account: str | None,
    seconds: float | None,
    *,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
    is_over: Callable[[], bool] = lambda: False,
) -> Generator[Event, None, None]:
    """The newest events, then further ones as they happen, until so many seconds have passed.

    Each question begins where the last but one ended: on PostgreSQL, what several processes write at the same time is
    not always committed in the order of its numbers.
    """
    until = None if seconds is None else now() + seconds
    answer = _ask(connection, None, last, account)
    yield from answer["events"]
    before = cursor = str(answer["cursor"])
    seen = {_name(one) for one in answer["events"]}
    while (until is None or now() < until) and not is_over():
        if not answer["more"]:
            sleep(_PAUSE if until is None else max(0.0, min(_PAUSE, until - now())))
        answer = _ask(connection, before, last, account)
        yield from (one for one in answer["events"] if _name(one) not in seen)
        # No more than two answers hold: a sandbox gives a bounded number of events at once.
        seen = {_name(one) for one in answer["events"]}
        before, cursor = str(answer["cursor"] if answer["more"] else cursor), str(answer["cursor"])


def _ask(connection: Connection, after: str | None, last: int, account: str | None) -> dict[str, Any]:
    asked: Any = connection.call("GET", "events", query={"after": after, "last": last, "account": account})
    return asked if isinstance(asked, dict) else {"events": [], "cursor": after or ""}


def _name(event: Event) -> tuple[Any, ...]:
    # With the time, since numbers begin anew after a reset.
    return event["kind"], event["number"], event["at"]


Options = argparse.Namespace
Told = tuple[Any, str]
Argument = tuple[str, dict[str, Any]]

URL_VARIABLE, TOKEN_VARIABLE = "SANDBOX_URL", "SANDBOX_CONTROL_TOKEN"
MAX_STEPS = 10_000
"""The most steps of a file that is run."""
# Options that may also stand before the command, and whether a value follows.
_COMMON = {"--url": True, "--control-token": True, "--json": False}
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AMOUNT = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?")
_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([smhd]?)")
_KEPT = re.compile(r"\$(\w+)\.([\w.]+)")


def seconds_of(text: str) -> float:
    """The seconds of `90`, `90s`, `15m`, `2h` or `1d`. :raises ArgumentTypeError: it is none of these."""
    read = _DURATION.fullmatch(text)
    if read is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write 90s, 15m, 2h or 1d")
    return float(read[1]) * _UNITS[read[2] or "s"]


def amount_of(text: str) -> Decimal:
    """An amount, exactly as it is written. :raises ArgumentTypeError: it is no number."""
    if not _AMOUNT.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no amount; write 12.50")
    return Decimal(text)


def change_of(text: str) -> tuple[str, str]:
    """The name and value of `NAME=VALUE`. :raises ArgumentTypeError: it is none."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 200):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 to 200")
    return int(text)


def _argument(name: str, metavar: str | None = None, help_: str | None = None, **more: Any) -> Argument:
    return name, {"metavar": metavar, "help": help_} | more


_ID = _argument("id", "ID", "of the checkout")
_OF_PAYOUT = _argument("id", "ID", "of the payout")
_ACCOUNT = _argument("--account", "NAME", "of this account only")
_METHOD = _argument("--method", "CODE", "the payment method; the first usable one otherwise")
_AMOUNT_OPTION = _argument("--amount", "N", "instead of the usual amount", type=amount_of)
_CLEAR = _argument("--clear", action="store_true", help_="back to none, or to the values at the start")
_DEPOSIT = ("deposit.depositId", "deposit.status", "deposit.inputAmount", "deposit.inputCurrency", "paymentMethod")


@dataclass(frozen=True)
class Command:
    """A command: its effect, its arguments, and the call that it makes."""

    help: str
    call: str = ""
    """Method and path below `/_sandbox/`, with arguments in braces."""
    arguments: tuple[Argument, ...] = ()
    body: Mapping[str, str] | None = None
    """The arguments that are fields of the body, by field."""
    query: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    """What people are shown of each item of a list."""
    shown: tuple[str, ...] = ()
    """What people are shown of an object, by path; all of its fields when empty."""
    carry_out: Callable[[Connection, Options], Told] | None = None
    """Makes the calls, where it is not a single one."""


def _carry_out(command: Command, sandbox: Connection, options: Options) -> Told:
    if command.carry_out is not None:
        return command.carry_out(sandbox, options)
    given = vars(options)
    method, path = command.call.format_map({name: _segment(value) for name, value in given.items()}).split()
    body = None if command.body is None else {field: given[name] for field, name in command.body.items()}
    answer = sandbox.call(method, path, body, {name: given[name] for name in command.query})
    return answer, _text(answer, command)


def _text(answer: Any, command: Command) -> str:
    if command.columns:
        return table(answer, command.columns)
    names = command.shown or tuple(answer)
    return fields({name.rpartition(".")[2]: value_of(answer, name) or None for name in names})


def _segment(value: object) -> str:
    """An identifier as one segment of a path."""
    return quote(str(value), safe="")


def _fault(sandbox: Connection, options: Options) -> Told:
    if options.clear:
        return sandbox.call("DELETE", "faults"), "none"
    if options.operation is None:
        armed = sandbox.call("GET", "faults")
        return armed, table(armed, ("id", "operation", "kind", "times", "account"))
    if options.kind is None:
        raise CommandFailed("A fault needs its kind too: fault OPERATION KIND.", WRONG_USE)
    named = {"statusCode": options.status_code, "retryAfter": options.retry_after}
    same = ("operation", "kind", "times", "share", "message", "seconds", "account")
    made = sandbox.call("POST", "faults", named | {name: getattr(options, name) for name in same})
    return made, fields(made)


def _accounts(sandbox: Connection, options: Options) -> Told:
    action, name = options.action, _segment(options.name)
    if action == "list":
        listed = sandbox.call("GET", "accounts")
        return listed, table(listed, ("name", "clientId", "email", "webhookUrl"))
    if options.name is None:
        raise CommandFailed(f"accounts {action} needs the account's name.", WRONG_USE)
    if action == "make":
        shown = sandbox.call("POST", "accounts", {"name": options.name, "webhookUrl": options.webhook_url})
    else:
        calls = {"show": ("GET", ""), "keys": ("POST", "/keys"), "remove": ("DELETE", "")}
        method, ending = calls[action]
        shown = sandbox.call(method, f"accounts/{name}{ending}")
    return shown, fields(shown)


def _worlds(sandbox: Connection, options: Options) -> Told:
    if options.action == "list":
        listed = sandbox.call("GET", "worlds")
        return listed, table(listed, ("name", "baseUrl"))
    if options.name is None:
        raise CommandFailed(f"worlds {options.action} needs the world's name.", WRONG_USE)
    if options.action == "make":
        shown = sandbox.call("POST", "worlds", {"name": options.name})
    else:
        shown = sandbox.call("DELETE", f"worlds/{_segment(options.name)}")
    return shown, fields(shown)


def _unknowns(sandbox: Connection, options: Options) -> Told:
    if options.clear:
        listed = sandbox.call("DELETE", "unknowns")
    elif options.changes:
        asked = dict(options.changes)
        listed = [one for one in sandbox.call("POST", "unknowns", asked) if one["name"] in asked]
    else:
        listed = sandbox.call("GET", "unknowns")
    shown = [one | {"alternatives": ", ".join(one["alternatives"])} for one in listed]
    return listed, table(shown, ("name", "value", "startValue", "default", "alternatives"))


def _proof(sandbox: Connection, options: Options) -> Told:
    content = sandbox.fetch("GET", f"disbursements/{_segment(options.id)}/proof")
    return _saved("proof", Path(options.output or f"disbursement-{_segment(options.id)}.pdf"), content)


def _snapshot(sandbox: Connection, options: Options) -> Told:
    return _saved("snapshot", Path(options.file), sandbox.fetch("GET", "snapshot"))


def _saved(what: str, path: Path, content: bytes) -> Told:
    half = path.with_name(f"{path.name}.part")
    try:
        # For this user only, since a snapshot holds secrets; and never half a file in the place of an earlier one.
        half.unlink(missing_ok=True)
        with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
            opened.write(content)
        half.replace(path)
    except OSError as wrong:
        half.unlink(missing_ok=True)
        raise CommandFailed(f"The {what} cannot be written: {wrong}.", WRONG_USE) from None
    return {"file": str(path), "bytes": len(content)}, plain(str(path))


def _restore(sandbox: Connection, options: Options) -> Told:
    time = json.loads(sandbox.fetch("POST", "restore", _content("snapshot", options.file)))
    return time, fields(time)


def _content(what: str, file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as wrong:
        raise CommandFailed(f"The {what} cannot be read: {wrong}.", WRONG_USE) from None


def _reset(sandbox: Connection, options: Options) -> Told:
    return sandbox.call("POST", "reset"), "The sandbox is in its start state."


def _run(sandbox: Connection, options: Options) -> Told:
    """Carry out the steps of a file: triggers, such as `{"event": "paid", "amount": 5, "as": "order"}`, and calls.

    A call is `{"call": "POST checkouts/$order.id/pick", ...}` with the fields of its body. `as` keeps an answer, and
    `$order.id` stands for a field of it.
    """
    kept: dict[str, Any] = {}
    answers = []
    for number, step in enumerate(_steps(_content("file", options.file)), start=1):
        try:
            given = _filled(step, kept)
            name, call = given.pop("as", None), given.pop("call", "POST trigger")
            method, _, path = call.partition(" ")
            answers.append(sandbox.call(method, path.lstrip("/"), given or None))
        except CommandFailed as failed:
            raise CommandFailed(f"Step {number}: {failed}", failed.code) from None
        if name is not None:
            kept[name] = answers[-1]
    return answers, "\n".join(plain(json.dumps(answer)) for answer in answers)


def _steps(content: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a JSON array, or of lines of JSON."""
    try:
        text = content.decode().strip()
        whole = json.loads(text if text.startswith("[") else f"[{','.join(filter(str.strip, text.splitlines()))}]")
    except ValueError as wrong:
        raise CommandFailed(f"The file is no JSON array and no JSON lines: {wrong}.", WRONG_USE) from None
    if len(whole) > MAX_STEPS or not all(isinstance(step, dict) for step in whole):
        raise CommandFailed(f"The file must have at most {MAX_STEPS} objects.", WRONG_USE)
    yield from whole


def _filled(value: Any, kept: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(one, kept) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, kept) for one in value]
    return _KEPT.sub(lambda found: value_of(kept.get(found[1]), found[2]), value) if isinstance(value, str) else value


def _list(help_: str, call: str, *columns: str, more: tuple[Argument, ...] = ()) -> Command:
    query = ("account", *(name.removeprefix("--") for name, _ in more))
    return Command(help_, call, (_ACCOUNT, *more), query=query, columns=columns)


def _named(*actions: str) -> tuple[Argument, ...]:
    return (
        _argument("action", nargs="?", choices=("list", *actions), default="list"),
        _argument("name", "NAME", nargs="?"),
    )


_TRIGGER = {name: name for name in ("event", "id", "account", "amount", "currency")} | {"paymentMethod": "method"}
COMMANDS = {
    "pick": Command(
        "let the customer pick a payment method",
        "POST checkouts/{id}/pick",
        (_ID, _METHOD, _argument("--reference", "TEXT", "by which the deposit can be read too")),
        {"paymentMethod": "method", "reference": "reference"},
        shown=_DEPOSIT,
    ),
    "pay": Command(
        "let the customer's money arrive",
        "POST checkouts/{id}/pay",
        (_ID, _AMOUNT_OPTION),
        {"amount": "amount"},
        shown=_DEPOSIT,
    ),
    "fail": Command("let the bank refuse the payment", "POST checkouts/{id}/fail", (_ID,), shown=_DEPOSIT),
    "abandon": Command(
        "let the customer leave without picking; the clock moves past the page's end",
        "POST checkouts/{id}/leave",
        (_ID,),
    ),
    "trigger": Command(
        "bring a checkout or a payout into a state, or send a webhook again",
        "POST trigger",
        (
            _argument("event", "EVENT", "such as paid; the documentation lists them"),
            _argument("id", "ID", "of what it happens to; something new otherwise", nargs="?"),
            *(_ACCOUNT, _METHOD, _AMOUNT_OPTION, _argument("--currency", "CODE", "of the new checkout or payout")),
        ),
        _TRIGGER,
    ),
    "finish": Command(
        "let the bank complete a payout, or let it fail",
        "POST disbursements/{id}/finish",
        (_OF_PAYOUT, _argument("status", choices=("completed", "failed"))),
        {"status": "status"},
    ),
    "proof": Command(
        "save the transfer proof of a completed payout",
        arguments=(_OF_PAYOUT, _argument("--output", "FILE", "disbursement-ID.pdf otherwise")),
        carry_out=_proof,
    ),
    "advance": Command(
        "move the clock forward",
        "POST clock",
        (_argument("duration", "DURATION", "90s, 15m, 2h or 1d", type=seconds_of),),
        {"advanceSeconds": "duration"},
    ),
    "clock": Command("show the clock", "GET clock"),
    "fault": Command(
        "arm a fault, list the armed ones, or remove them",
        arguments=(
            _argument("operation", "OPERATION", "such as 'GET /v1/deposit/{id}' or webhook", nargs="?"),
            _argument("kind", "KIND", "such as error or lose_response", nargs="?"),
            *(_CLEAR, _ACCOUNT, _argument("--times", "N", "how often it strikes", type=int)),
            _argument("--share", "S", "strikes only this share of the calls", type=float),
            *(_argument("--status-code", "N", type=int), _argument("--message", "TEXT")),
            *(_argument("--retry-after", "N", type=int), _argument("--seconds", "N", "of a delay", type=float)),
        ),
        carry_out=_fault,
    ),
    "accounts": Command(
        "list, make, show or remove accounts, or give one new keys",
        arguments=(
            *_named("make", "show", "keys", "remove"),
            _argument("--webhook-url", "URL", "where the webhooks of a new account go"),
        ),
        carry_out=_accounts,
    ),
    "worlds": Command("list, make or remove worlds", arguments=_named("make", "remove"), carry_out=_worlds),
    "mails": _list(
        *("list the mails", "GET mails", "sentAt", "to", "subject", "otp"),
        more=(_argument("--to", "ADDRESS", "to this address only"),),
    ),
    "webhooks": _list("list the webhooks", "GET webhooks", "id", "createdAt", "account", "orderId", "state"),
    "requests": _list(
        "list the calls of the service", "GET requests", "id", "at", "status", "method", "target", "account"
    ),
    "disbursements": _list(
        *("list the payouts and refunds", "GET disbursements"),
        *("disbursementId", "account", "status", "amount", "currency", "reference"),
    ),
    "unknowns": Command(
        "list the switches, change some, or return all to the start",
        arguments=(_argument("changes", "NAME=VALUE", "changes this one", nargs="*", type=change_of), _CLEAR),
        carry_out=_unknowns,
    ),
    "tail": Command(
        "follow calls, moves and webhooks as they happen",
        arguments=(
            *(_ACCOUNT, _argument("--last", "N", "events to begin with (%(default)s)", type=_count, default=10)),
            _argument("--seconds", "DURATION", "stop after so long", type=seconds_of),
        ),
    ),
    "run": Command(
        "carry out the triggers and calls of a file",
        arguments=(_argument("file", "FILE", "a JSON array, or lines of JSON"),),
        carry_out=_run,
    ),
    "snapshot": Command(
        "save the whole state as a file, which holds secrets",
        arguments=(_argument("file", "FILE", "to write"),),
        carry_out=_snapshot,
    ),
    "restore": Command(
        "return to the state of a snapshot", arguments=(_argument("file", "FILE", "a snapshot"),), carry_out=_restore
    ),
    "reset": Command("return to the start state", carry_out=_reset),
}
"""The commands, by name."""


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
        return _print(options)
    except CommandFailed as failed:
        print(failed, file=sys.stderr)  # noqa: T201
        return failed.code
    except KeyboardInterrupt:
        return 0 if options.command == "tail" else 130
    except BrokenPipeError:
        # The interpreter would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _print(options: Options) -> int:
    token = options.control_token or os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        raise CommandFailed(
            f"The control token is missing: set {TOKEN_VARIABLE} to the one that the sandbox printed at its start.",
            NOT_ALLOWED,
        )
    sandbox = Connection(options.url or os.environ.get(URL_VARIABLE) or DEFAULT_URL, token)
    if options.command == "tail":
        return _tail(sandbox, options)
    answer, text = _carry_out(COMMANDS[options.command], sandbox, options)
    if options.field is not None:
        text = value_of(answer, options.field)
    print(json.dumps(answer) if options.json else text, flush=True)  # noqa: T201
    return 0


def _tail(sandbox: Connection, options: Options) -> int:
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
    for name, declared in COMMANDS.items():
        command = commands.add_parser(name, help=declared.help, description=declared.help)
        command.add_argument("--url", help=f"address of the sandbox ({URL_VARIABLE}, or {DEFAULT_URL})")
        command.add_argument("--control-token", metavar="TOKEN", help=f"better set {TOKEN_VARIABLE}")
        command.add_argument("--json", action="store_true", help="print for a program")
        command.add_argument("--field", metavar="NAME", help="print this field alone, such as id or deposit.status")
        for argument, how in declared.arguments:
            command.add_argument(argument, **{key: value for key, value in how.items() if value is not None})
    return parser

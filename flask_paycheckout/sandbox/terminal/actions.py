"""The commands of the terminal: each calls the control interface, and returns its answer with the text for people."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flask_paycheckout.sandbox.terminal.connection import WRONG_USE, CommandFailed, Connection
from flask_paycheckout.sandbox.terminal.printing import fields, plain, table

Options = argparse.Namespace
Told = tuple[Any, str]
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AMOUNT = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?")
_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([smhd]?)")


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


def pick(sandbox: Connection, options: Options) -> Told:
    asked = {"paymentMethod": options.method, "reference": options.reference}
    return _deposit(sandbox.call("POST", f"checkouts/{_part(options.id)}/pick", asked))


def pay(sandbox: Connection, options: Options) -> Told:
    return _deposit(sandbox.call("POST", f"checkouts/{_part(options.id)}/pay", {"amount": options.amount}))


def fail(sandbox: Connection, options: Options) -> Told:
    return _deposit(sandbox.call("POST", f"checkouts/{_part(options.id)}/fail"))


def abandon(sandbox: Connection, options: Options) -> Told:
    return _clock(sandbox.call("POST", f"checkouts/{_part(options.id)}/leave"))


def advance(sandbox: Connection, options: Options) -> Told:
    return _clock(sandbox.call("POST", "clock", {"advanceSeconds": options.duration}))


def clock(sandbox: Connection, options: Options) -> Told:
    return _clock(sandbox.call("GET", "clock"))


def fault(sandbox: Connection, options: Options) -> Told:
    if options.clear:
        sandbox.call("DELETE", "faults")
        return [], "none"
    if options.operation is None:
        armed = sandbox.call("GET", "faults")
        return armed, table(armed, ("id", "operation", "kind", "times", "account"))
    if options.kind is None:
        raise CommandFailed("A fault needs its kind too: fault OPERATION KIND.", WRONG_USE)
    made = sandbox.call(
        "POST",
        "faults",
        {
            "operation": options.operation,
            "kind": options.kind,
            "times": options.times,
            "share": options.share,
            "statusCode": options.status_code,
            "message": options.message,
            "retryAfter": options.retry_after,
            "seconds": options.seconds,
            "account": options.account,
        },
    )
    return made, fields(made)


def trigger(sandbox: Connection, options: Options) -> Told:
    caused = sandbox.call(
        "POST",
        "trigger",
        {
            "event": options.event,
            "id": options.id,
            "account": options.account,
            "amount": options.amount,
            "currency": options.currency,
            "paymentMethod": options.method,
        },
    )
    return caused, fields(caused)


def accounts(sandbox: Connection, options: Options) -> Told:
    match options.action, options.name:
        case "list", None:
            listed = sandbox.call("GET", "accounts")
            return listed, table(listed, ("name", "clientId", "email", "webhookUrl"))
        case _, None:
            raise CommandFailed(f"accounts {options.action} needs the account's name.", WRONG_USE)
        case "make", name:
            shown = sandbox.call("POST", "accounts", {"name": name, "webhookUrl": options.webhook_url})
        case "keys", name:
            shown = sandbox.call("POST", f"accounts/{_part(name)}/keys")
        case "remove", name:
            shown = sandbox.call("DELETE", f"accounts/{_part(name)}")
        case _, name:
            shown = sandbox.call("GET", f"accounts/{_part(name)}")
    return shown, fields(shown)


def mails(sandbox: Connection, options: Options) -> Told:
    listed = sandbox.call("GET", "mails", query={"to": options.to, "account": options.account})
    return listed, table(listed, ("sentAt", "to", "subject", "otp"))


def webhooks(sandbox: Connection, options: Options) -> Told:
    listed = sandbox.call("GET", "webhooks", query={"account": options.account})
    return listed, table(listed, ("id", "createdAt", "account", "orderId", "state"))


def requests(sandbox: Connection, options: Options) -> Told:
    listed = sandbox.call("GET", "requests", query={"account": options.account})
    return listed, table(listed, ("id", "at", "status", "method", "target", "account"))


def disbursements(sandbox: Connection, options: Options) -> Told:
    listed = sandbox.call("GET", "disbursements", query={"account": options.account})
    return listed, table(listed, ("disbursementId", "account", "status", "amount", "currency", "reference"))


def finish(sandbox: Connection, options: Options) -> Told:
    made = sandbox.call("POST", f"disbursements/{_part(options.id)}/finish", {"status": options.status})
    return made, fields(made)


def proof(sandbox: Connection, options: Options) -> Told:
    content = sandbox.fetch("GET", f"disbursements/{_part(options.id)}/proof")
    path = Path(options.output or f"disbursement-{_part(options.id)}.pdf")
    try:
        path.write_bytes(content)
    except OSError as wrong:
        raise CommandFailed(f"The proof cannot be written: {wrong}.", WRONG_USE) from None
    return {"file": str(path), "bytes": len(content)}, plain(str(path))


def unknowns(sandbox: Connection, options: Options) -> Told:
    if options.clear:
        listed = sandbox.call("DELETE", "unknowns")
    elif options.changes:
        asked = dict(options.changes)
        listed = sandbox.call("POST", "unknowns", asked)
        listed = [one for one in listed if one["name"] in asked]
    else:
        listed = sandbox.call("GET", "unknowns")
    shown = [one | {"alternatives": ", ".join(one["alternatives"])} for one in listed]
    return listed, table(shown, ("name", "value", "startValue", "default", "alternatives"))


def snapshot(sandbox: Connection, options: Options) -> Told:
    path, content = Path(options.file), sandbox.fetch("GET", "snapshot")
    half = path.with_name(f"{path.name}.part")
    try:
        # For this user only, since a snapshot holds secrets; and never half a file in the place of an earlier one.
        half.unlink(missing_ok=True)
        with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
            opened.write(content)
        half.replace(path)
    except OSError as wrong:
        raise CommandFailed(f"The snapshot cannot be written: {wrong}.", WRONG_USE) from None
    return {"file": str(path), "bytes": len(content)}, plain(str(path))


def restore(sandbox: Connection, options: Options) -> Told:
    try:
        content = Path(options.file).read_bytes()
    except OSError as wrong:
        raise CommandFailed(f"The snapshot cannot be read: {wrong}.", WRONG_USE) from None
    return _clock(json.loads(sandbox.fetch("POST", "restore", content)))


def reset(sandbox: Connection, options: Options) -> Told:
    return sandbox.call("POST", "reset"), "The sandbox is in its start state."


def _deposit(picked: dict[str, Any]) -> Told:
    deposit = picked["deposit"]
    shown = {name: deposit.get(name) for name in ("depositId", "status", "inputAmount", "inputCurrency")}
    return picked, fields(shown | {"paymentMethod": picked["paymentMethod"]})


def _clock(time: dict[str, Any]) -> Told:
    return time, fields(time)


def _part(text: str) -> str:
    """An identifier as one segment of a path."""
    return quote(text, safe="")


ACTIONS: dict[str, Callable[[Connection, Options], Told]] = {
    action.__name__: action
    for action in (
        *(pick, pay, fail, abandon, trigger, finish, proof, advance, clock, fault, accounts),
        *(mails, webhooks, requests, disbursements, unknowns, snapshot, restore, reset),
    )
}

"""`flask paycheckout ...`: thin shells around functions."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import click
from flask.cli import with_appcontext
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.outbox import Delivery
from flask_paycheckout.checkouts.payment_backfill import BackfillReport
from flask_paycheckout.checkouts.reconcile import ReconcileReport
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.client.hidden import Hidden
from flask_paycheckout.client.signing import header_value
from flask_paycheckout.doctor.database import database_text
from flask_paycheckout.doctor.shop import examine, webhook_address
from flask_paycheckout.errors import PayCheckoutError
from flask_paycheckout.rules.text import moment_text, visible
from flask_paycheckout.runtime import runtime
from flask_paycheckout.store.models import CheckoutMixin

__all__ = ["paycheckout"]

_MORE = "; look into it with: flask paycheckout doctor"


class _Plain(click.Group):
    """Refusals with their remedy, in place of the traceback that leads to them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PayCheckoutError as error:
            raise click.ClickException(visible(str(error))) from None
        except SQLAlchemyError as error:
            fault = visible(database_text(error))
            raise click.ClickException(f"{fault}\nTo find the cause and the remedy: flask paycheckout doctor") from None


@click.group(cls=_Plain)
def paycheckout() -> None:
    """Hosted checkout: settle, look into and repair payments."""


@paycheckout.command(short_help="Find payments and deliver events that are due.")
@click.option("--watch", is_flag=True, help="Go on until stopped, a round every --interval seconds.")
@click.option("--interval", type=click.FloatRange(0.1), default=10.0, show_default=True, help="Seconds between rounds.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Read at most this many checkouts a round.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a round, quiet ones too.")
@with_appcontext
def reconcile(watch: bool, interval: float, limit: int | None, as_json: bool) -> None:
    """Settle every checkout that is due and deliver every undelivered event.

    With --watch, a line with its time for each round that changed, delivered or failed something, and none for others.

    Exit code 0: everything could be read and delivered. 1: something could not, and will be tried again.
    """
    if not watch:
        report = _round(limit, as_json, watching=False)
        raise SystemExit(0 if report.clean else 1)
    with _until_stopped() as stopped:
        while True:
            try:
                _round(limit, as_json, watching=True)
            except Exception as error:
                # A database that restarts must not end the one process that finds lost payments.
                said = f"round failed, trying again in {interval:g} s: {type(error).__name__}{_MORE}"
                click.echo(f"{moment_text(runtime().clock())} {said}", err=True)
            if stopped.wait(interval):
                return


@paycheckout.command(short_help="Tell receivers again of what they were not told.")
@click.option("--order", "order_id", metavar="ORDER_ID", default=None, help="Only of this order.")
@click.option("--now", is_flag=True, help="At once, also what is to be tried later.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_appcontext
def deliver(order_id: str | None, now: bool, as_json: bool) -> None:
    """Tell receivers of the events that wait, as reconcile does, without reading any deposit.

    What another process delivers at this moment is left to it. `flask paycheckout show` says why an event waits.

    Exit code 0: nothing waits any more. 1: something still does.
    """
    shop = runtime()
    try:
        done = _deliver(order_id, now)
    except ValueError as error:
        raise click.ClickException(visible(str(error))) from None
    waiting = shop.count_waiting(order_id)
    if as_json:
        click.echo(json.dumps(asdict(done) | {"waiting": waiting}))
    else:
        click.echo(f"delivered {done.delivered}, failed {done.failed}, still waiting {waiting}")
        if waiting and not now:
            click.echo("To try again at once what is to be tried later: flask paycheckout deliver --now")
    raise SystemExit(1 if waiting or done.failed else 0)


def _deliver(order_id: str | None, now: bool) -> Delivery:
    stream = sys.stderr
    waiting = runtime().count_waiting(order_id) if stream.isatty() else 0
    if not waiting:
        return runtime().deliver(order_id, now=now)
    with click.progressbar(length=waiting, label="Delivering events", file=stream) as bar:
        return runtime().deliver(order_id, now=now, progress=lambda turns: bar.update(1))


@paycheckout.command(short_help="Tell the story of an order's payment.")
@click.argument("order_id")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_appcontext
def show(order_id: str, as_json: bool) -> None:
    """Tell the story of an order's payment: every attempt, webhook, read and decision.

    Exit code 0. 1: no attempt of this order is stored. 2: this can be no order id.
    """
    try:
        explanation = runtime().explain(order_id)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="ORDER_ID") from None
    click.echo(json.dumps(explanation.as_dict(), indent=2) if as_json else str(explanation))
    raise SystemExit(0 if explanation.attempts else 1)


@paycheckout.command()
@click.argument("checkout_id")
@click.option("--accept", "decision", flag_value="accept", help="Take the payment as it is.")
@click.option("--reject", "decision", flag_value="reject", help="Refuse the payment.")
@click.option("--by", required=True, metavar="NAME", help="Who decides.")
@click.option("--why", required=True, metavar="TEXT", help="The reason, for the record.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_appcontext
def resolve(checkout_id: str, decision: str | None, by: str, why: str, as_json: bool) -> None:
    """Decide a held payment; who and why are recorded.

    --accept takes the payment as it is: the order is paid, and order_paid fires. This is so for amount_mismatch,
    order_changed, order_not_payable and order_total_failed. For duplicate, or when another payment paid the order
    meanwhile, it means to keep this second payment for now: order_paid does not fire again.

    --reject refuses the payment: it does not pay the order.

    No money is moved by either. A rejected payment, and an accepted second one, stays listed by `flask paycheckout
    report` until `flask paycheckout payback` says whether it was paid back or is kept.

    Exit code 0: decided. 1: no such checkout is stored, or it is not held. 2: the command itself is incomplete.
    """
    if decision is None:
        # Two options and no on-off switch: a switch that was left out would count as one of its sides.
        raise click.UsageError("Say --accept or --reject.")
    try:
        checkout = runtime().resolve(checkout_id, decision == "accept", by, why)
    except (PayCheckoutError, ValueError) as error:
        raise click.ClickException(visible(str(error))) from None
    if as_json:
        _echo_facts(checkout, "reason")
    else:
        click.echo(visible(f"checkout {checkout.checkout_id} of order {checkout.order_id} is {checkout.status}"))


@paycheckout.command(short_help="Say that money was paid back, or is kept.")
@click.argument("checkout_id")
@click.option("--done", "became", flag_value="done", help="The money was paid back.")
@click.option("--kept", "became", flag_value="kept", help="The money is kept.")
@click.option("--by", required=True, metavar="NAME", help="Who says so.")
@click.option("--why", required=True, metavar="TEXT", help="How it was paid back, or why it is kept, for the record.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_appcontext
def payback(checkout_id: str, became: str | None, by: str, why: str, as_json: bool) -> None:
    """Say what became of money that paid no order: a rejected payment, or an accepted second one.

    No money is moved by this; it takes the payment off the list of `flask paycheckout report`.

    Exit code 0: recorded. 1: no such checkout is stored, or its money does not wait. 2: the command itself is
    incomplete.
    """
    if became is None:
        raise click.UsageError("Say --done or --kept.")
    try:
        checkout = runtime().mark_paid_back(checkout_id, by=by, why=why, kept=became == "kept")
    except (PayCheckoutError, ValueError) as error:
        raise click.ClickException(visible(str(error))) from None
    if as_json:
        _echo_facts(checkout, "payback")
        return
    money = f"the money of checkout {checkout.checkout_id} of order {checkout.order_id}"
    click.echo(visible(f"{money} is marked as {'kept' if became == 'kept' else 'paid back'}"))


@paycheckout.command(short_help="Fill in what arrived for payments of older versions.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Read at most this many deposits.")
@click.option("--after", type=click.IntRange(0), default=0, help="Go on where an earlier run ended.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_appcontext
def fill_payments(limit: int | None, after: int, as_json: bool) -> None:
    """Read the deposits of paid, held and rejected checkouts again of which it is not stored what arrived.

    Older versions did not store it. Nothing else of these checkouts changes, nobody is told, and running it again, or
    stopping it, does no harm.

    Exit code 0: what was read is stored. 1: some deposits could not be read, or do not read as completed any more.
    """
    report = _fill_with_progress(limit, after)
    if as_json:
        click.echo(json.dumps(asdict(report)))
    else:
        click.echo(f"filled {report.filled}, unreadable {report.unreadable}, not completed {report.differing}")
        if report.stopped:
            click.echo(f"The service fails. Go on later with: flask paycheckout fill-payments --after {report.after}")
        elif not report.clean:
            click.echo(f"To leave these out: flask paycheckout fill-payments --after {report.after}")
    raise SystemExit(0 if report.clean else 1)


@paycheckout.command(short_help="Tell how payments stand, and what needs a person.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_appcontext
def report(as_json: bool) -> None:
    """Tell how payments stand in the whole shop, and what of it needs a person.

    Counts checkouts by state; lists held payments, events that some receiver was not told of, and paid orders that no
    webhook told of; says when webhooks never arrive, and when reconcile is behind. Nothing is read from the service.

    Exit code 0: nothing needs a person. 1: something does.
    """
    shop = runtime()
    told = shop.report(webhook_address(shop))
    click.echo(json.dumps(told.as_dict(), indent=2) if as_json else str(told))
    raise SystemExit(1 if told.needs_a_person else 0)


@paycheckout.command(short_help="Check shop, database and service; print the webhook URL.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@with_appcontext
def doctor(as_json: bool) -> None:
    """Check that the shop, its database and the service can work together; print the webhook URL to register.

    Looks at the configuration, tables, clock, credentials (by one signed read), the shop's own functions, the webhook's
    route and whether reconcile keeps up. Nothing is changed.

    Exit code 0: nothing failed, though there may be warnings. 1: something failed.
    """
    found = examine(runtime())
    click.echo(json.dumps(found.as_dict(), indent=2) if as_json else str(found))
    raise SystemExit(1 if found.failed else 0)


@paycheckout.command(short_help="Log in to the service; print the access token.")
@click.option("--email", prompt="E-mail", help="The account's e-mail address; asked when left out.")
@click.option("--never-expires", is_flag=True, help="Ask for a token without an end; it cannot be taken back.")
@with_appcontext
def login(email: str, never_expires: bool) -> None:
    """Log in to the service with e-mail, password and one-time password; print the access token.

    The password and the one-time password are only ever asked for, so that no shell remembers them.
    """
    auth = runtime().client.auth
    try:
        verification = auth.login(email, click.prompt("Password", hide_input=True, err=True))
        otp = Hidden(click.prompt(f"One-time password sent to {email}", hide_input=True, err=True).strip())
        token = auth.verify_login(verification, otp, disable_expire=never_expires).access_token
        header_value("the service's access token", token)
    except (PaymentsError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(token)


@paycheckout.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    short_help="Run the payments service's sandbox on this machine.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def sandbox(arguments: tuple[str, ...]) -> None:
    """The same as `python -m flask_paycheckout.sandbox`, with the same options."""
    from flask_paycheckout.sandbox.command import main

    raise SystemExit(main(list(arguments)))


def _echo_facts(checkout: CheckoutMixin, *more: str) -> None:
    facts = ("checkout_id", "order_id", "status", *more)
    click.echo(json.dumps({name: getattr(checkout, name) for name in facts}))


def _round(limit: int | None, as_json: bool, *, watching: bool) -> ReconcileReport:
    if as_json:
        report = runtime().reconcile(limit)
        moment = {"at": runtime().clock().isoformat(timespec="seconds")} if watching else {}
        click.echo(json.dumps(moment | asdict(report)))
        return report
    report = _with_progress(limit)
    if not watching or report.changed or report.delivered or report.failed:
        at = f"{moment_text(runtime().clock())} " if watching else ""
        counts = ", ".join(f"{name} {count}" for name, count in asdict(report).items())
        click.echo(f"{at}{counts}")
    return report


def _with_progress(limit: int | None) -> ReconcileReport:
    """A bar on a terminal only; in a log, one line a round is enough."""
    stream = sys.stderr
    due = runtime().count_due() if stream.isatty() else 0
    if not due:
        return runtime().reconcile(limit)
    with click.progressbar(length=min(due, limit or due), label="Reading deposits", file=stream) as bar:
        return runtime().reconcile_with_progress(limit, lambda report: bar.update(1))


def _fill_with_progress(limit: int | None, after: int) -> BackfillReport:
    """A bar on a terminal only."""
    shop, stream = runtime(), sys.stderr
    waiting = shop.count_unfilled(after) if stream.isatty() else 0
    if not waiting:
        return shop.fill_payments(limit, after)
    with click.progressbar(length=min(waiting, limit or waiting), label="Reading deposits", file=stream) as bar:
        return shop.fill_payments(limit, after, lambda so_far: bar.update(1))


@contextmanager
def _until_stopped() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set, so that a round in progress is finished first."""
    stopped = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: stopped.set())
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""The commands about payments that come in, and about the whole shop."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict

import click

from flask_paycheckout.books.alarms import Severity
from flask_paycheckout.books.report import report as find_report, report_lines
from flask_paycheckout.cli import paycheckout
from flask_paycheckout.cli.options import (
    account_option,
    counts_text,
    decision_options,
    json_option,
    known_account,
    log_in,
    print_facts,
    progress_bar,
    require_one,
    until_stopped,
    usable,
)
from flask_paycheckout.database.database_errors import trouble_of
from flask_paycheckout.rounds.reconcile import Progress, Reconciler, ReconcileReport
from flask_paycheckout.runtime import for_reading, for_writing, runtime
from flask_paycheckout.text import moment_text, visible
from flask_paycheckout.views.order_urls import claim_line, require_address, webhook_address

# Seconds of a week. Python itself can wait for some centuries at most.
_LONGEST_WAIT = 604_800

Round = Callable[[int | None, Progress | None], ReconcileReport]

_COLOURS = {Severity.NOW: "red", Severity.TODAY: "yellow"}
_MORE = "; look into it with: flask paycheckout doctor"


@paycheckout.command(short_help="Find payments, deliver events and send payouts that are due.")
@click.option("--watch", is_flag=True, help="Run until stopped, a round every --interval seconds.")
@click.option(
    "--interval",
    type=click.FloatRange(0.1, _LONGEST_WAIT),
    default=10.0,
    show_default=True,
    help="Seconds between rounds.",
)
@click.option("--limit", type=click.IntRange(1), default=None, help="Read at most this many checkouts in a round.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per round, also when nothing changed.")
def reconcile(watch: bool, interval: float, limit: int | None, as_json: bool) -> None:
    """Settle every checkout that is due, deliver every undelivered event, send payouts and follow them.

    Payouts are sent when PAYCHECKOUT_ACCESS_TOKEN is set.

    With --watch, print a line with the time for each round that changed, delivered or failed anything. A round does not
    wait for payouts of which the service keeps it waiting; they are counted in the round in which they end.

    Exit code 0: everything could be read, delivered and paid out. 1: something could not, and is tried again.
    """
    if math.isnan(interval):
        raise click.BadParameter("nan is no number of seconds.", param_hint="--interval")
    if not watch:
        report = _round(limit, as_json, _reconciler().run, watching=False)
        raise SystemExit(0 if report.clean else 1)
    click.echo(f"Watching: a round every {interval:g} s. Ctrl+C finishes the round and ends it.", err=True)
    with until_stopped() as stopped, ExitStack() as ending:
        rounds = _reconciler().watch()
        # Payouts that are under way end after their present call.
        ending.callback(rounds.stop)
        while True:
            try:
                _round(limit, as_json, rounds.run, watching=True)
            except Exception as error:
                # A restart of the database must not end the only process that finds payments without webhooks.
                trouble = trouble_of(error)
                why = f" ({trouble.found})" if trouble else ""
                message = f"round failed, trying again in {interval:g} s: {type(error).__name__}{why}{_MORE}"
                click.echo(f"{moment_text(runtime().clock())} {message}", err=True)
            if stopped.wait(interval):
                return


@paycheckout.command(short_help="Deliver undelivered events to their receivers.")
@click.option("--order", "order_id", metavar="ORDER_ID", default=None, help="Only events of this order.")
@click.option("--now", is_flag=True, help="Also deliver events whose next try is due later.")
@json_option
def deliver(order_id: str | None, now: bool, as_json: bool) -> None:
    """Deliver undelivered events to their receivers, as reconcile does, without reading deposits.

    Events that another process is delivering are left to it. `flask paycheckout show` says why an event waits.

    Exit code 0: no event waits any more. 1: some still do.
    """
    shop = for_writing("deliver()")
    with usable():
        order_id = None if order_id is None else shop.requests.require_order(order_id)
    done = shop.outbox.deliver_waiting(order_id, now=now)
    waiting = shop.outbox.queue.count_waiting(order_id)
    later = ["To deliver those whose next try is due later: flask paycheckout deliver --now"]
    facts = {"delivered": done.delivered, "failed": done.failed, "waiting": waiting}
    counts = f"delivered {done.delivered}, failed {done.failed}, still waiting {waiting}"
    print_facts(as_json, facts, counts, *(later if waiting and not now else []))
    raise SystemExit(1 if waiting or done.failed else 0)


@paycheckout.command(short_help="Explain the payment of an order.")
@click.argument("order_id")
@json_option
def show(order_id: str, as_json: bool) -> None:
    """Explain the payment of an order: every attempt, webhook, read and decision, and its refunds and payouts.

    Exit code 0: printed. 1: nothing of this order is stored. 2: this is not a valid order id.
    """
    shop = runtime()
    with usable():
        explanation = shop.explain(order_id)
    print_facts(as_json, explanation.as_dict(), *str(explanation).splitlines())
    raise SystemExit(0 if explanation.is_stored else 1)


@paycheckout.command()
@click.argument("checkout_id")
@click.option("--accept", is_flag=True, help="Accept the payment as it is.")
@click.option("--reject", is_flag=True, help="Reject the payment.")
@click.option("--as-part", is_flag=True, help="Accept it as a part of what is left to pay.")
@click.option("--refund-excess", is_flag=True, help="Accept it, and refund what came too much.")
@decision_options
def resolve(
    checkout_id: str,
    accept: bool,
    reject: bool,
    as_part: bool,
    refund_excess: bool,
    by: str,
    why: str,
) -> None:
    """Decide a held payment, and record the person and the reason.

    --accept pays the order with this payment as it is, and order_paid fires. For the reason duplicate, or when another
    payment has paid the order meanwhile, it only accepts a second payment: order_paid does not fire again.

    --accept --as-part pays a part of the order, and the next payment page asks for the rest.

    --accept --refund-excess also stores a refund of what came too much, and prints its link for the customer.

    --reject does not pay the order.

    None of them moves any money at once. A rejected payment, or an accepted second one, stays listed in `flask
    paycheckout report` until it is refunded, or `flask paycheckout keep` records that it is kept.

    Exit code 0: decided. 1: the checkout is not stored, or not held. 2: an option is missing or cannot be used.
    """
    require_one(accept, reject, "--accept or --reject")
    with usable():
        shop = for_writing(f"resolve({checkout_id!r})")
        if refund_excess:
            require_address(shop.checkouts.require(checkout_id).account)
        checkout = shop.resolutions.resolve(checkout_id, accept, by, why, as_part=as_part, refund_excess=refund_excess)
    click.echo(visible(f"checkout {checkout.checkout_id} of order {checkout.order_id} is {checkout.status}"))
    if refund_excess:
        click.echo(claim_line(shop.payouts.of_checkout(checkout_id)[-1].reference))


@paycheckout.command(short_help="Record that money is kept.")
@click.argument("checkout_id")
@decision_options
def keep(checkout_id: str, by: str, why: str) -> None:
    """Record that the money of a rejected payment, of an accepted second one, of a part or of an excess is kept.

    This moves no money; it removes the payment from the list in `flask paycheckout report`. Money that you have given
    back yourself is a refund: flask paycheckout refund CHECKOUT_ID --by-hand.

    Exit code 0: recorded. 1: the checkout is not stored, or its money cannot be kept. 2: an option is missing or cannot
    be used.
    """
    with usable():
        checkout = for_writing(f"keep({checkout_id!r})").paybacks.keep(checkout_id, by, why)
    click.echo(visible(f"the money of checkout {checkout.checkout_id} of order {checkout.order_id} is kept"))


@paycheckout.command(short_help="Report the state of all payments, and what needs a person.")
@account_option
@click.option(
    "--at-least", "least", type=click.Choice([each.value for each in Severity]), default="note", show_default=True
)
@json_option
def report(account: str | None, least: str, as_json: bool) -> None:
    """Report the state of all payments, and the alarms, the most urgent first. The service is not called.

    now: money or sales stand still. today: a person has to decide or repair something. note: nobody has to act.
    --at-least leaves the milder ones out.

    Exit code 2: an alarm of now, or there is no such account. 1: one of today. 0: none of these is listed.
    """
    account_name = known_account(account)
    payments_report = find_report(for_reading("the report").alarm_context(account_name), Severity(least))
    if as_json:
        facts = payments_report.as_dict() | {"webhook_url": webhook_address(runtime(), masked=True)}
        click.echo(json.dumps(facts, indent=2))
    else:
        for severity, line in report_lines(payments_report):
            click.secho(line, fg=severity and _COLOURS.get(severity), bold=severity is not None)
    raise SystemExit(payments_report.exit_code)


@paycheckout.command(short_help="Log in to the service; print the access token.")
@click.option("--email", help="The account's e-mail address; asked for when left out.")
@click.option("--never-expires", is_flag=True, help="Request a token that never expires; it cannot be revoked.")
def login(email: str | None, never_expires: bool) -> None:
    """Log in to the service with e-mail, password and one-time password; print the access token.

    The password and the one-time password are always prompted for, so that no shell history contains them.
    """
    click.echo(log_in(email, never_expires=never_expires))


@paycheckout.command(
    short_help="Run the payments service's sandbox on this machine.",
    with_appcontext=False,
    add_help_option=False,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def sandbox(words: tuple[str, ...]) -> None:
    """Hand the words to the sandbox's own command line."""
    # Import it only when it is used.
    from flask_paycheckout.sandbox.terminal.commands import main

    raise SystemExit(main(words))


def _round(limit: int | None, as_json: bool, run: Round, *, watching: bool) -> ReconcileReport:
    """Run one round, with a progress bar on a terminal; a log gets only one line."""
    shop = runtime()
    due = (lambda: 0) if as_json else lambda: min(shop.checkouts.count_due(shop.clock()), limit or sys.maxsize)
    with progress_bar("Reading deposits", due) as update:
        report = run(limit, update and (lambda report: update(1)))
    if as_json:
        moment = {"at": shop.clock().isoformat(timespec="seconds")} if watching else {}
        click.echo(json.dumps(moment | asdict(report)))
        return report
    paid_out = report.payouts.changed or report.payouts.failed_calls > 0
    if not watching or report.changed or report.delivered or report.failed or paid_out:
        at = f"{moment_text(shop.clock())} " if watching else ""
        counts = asdict(report)
        payouts = counts.pop("payouts")
        more = f"; payouts: {counts_text(payouts)}" if paid_out or report.payouts.left else ""
        click.echo(f"{at}{counts_text(counts)}{more}")
    return report


def _reconciler() -> Reconciler:
    return for_writing("reconcile()").reconciler

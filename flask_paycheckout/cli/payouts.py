"""The commands about money that goes out: refunds and payouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click
from flask.cli import with_appcontext

from flask_paycheckout.books.explain import payout_facts
from flask_paycheckout.books.lists import page_of_payouts
from flask_paycheckout.books.payout_alarms import missing_token_text, ready_payouts
from flask_paycheckout.books.periods import Period
from flask_paycheckout.cli import paycheckout
from flask_paycheckout.cli.options import (
    account_option,
    by_option,
    counts_text,
    decision_options,
    json_option,
    known_account,
    limit_option,
    log_in,
    print_facts,
    print_page,
    read_amount,
    require_one,
    usable,
)
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.client.hidden import concealed
from flask_paycheckout.errors import payout_status_text
from flask_paycheckout.payouts.decisions import PayoutDecisions
from flask_paycheckout.payouts.destinations import ByHand, facts_in
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.runtime import for_reading, for_writing, runtime
from flask_paycheckout.text import (
    account_text,
    moment_text,
    payout_sum_text,
    table_lines,
    visible,
)
from flask_paycheckout.views.order_urls import claim_line, claim_url, require_address


@paycheckout.command(short_help="Pay a customer's money back.")
@click.argument("checkout_id")
@click.option(
    "--amount",
    metavar="AMOUNT",
    help="The amount, in the currency that was paid; all that is left by default.",
)
@click.option(
    "--send",
    nargs=2,
    metavar="AMOUNT CURRENCY",
    help="Pay out this instead, such as 12.40 usdc-polygon; --amount is what it counts.",
)
@click.option("--by-hand", is_flag=True, help="You have given the money back yourself; nothing is sent.")
@click.option("--reference", metavar="TEXT", help="Your own name of this refund: the same again makes no second one.")
@click.option("--replaces", metavar="REFERENCE", help="The failed refund in whose place this one is made.")
@decision_options
@json_option
def refund(
    checkout_id: str,
    amount: str | None,
    send: tuple[str, str] | None,
    by_hand: bool,
    reference: str | None,
    replaces: str | None,
    by: str,
    why: str,
    as_json: bool,
) -> None:
    """Pay the money of a checkout back, all of it or a part; print the refund's reference and its link.

    Send the link to the customer, who says on its page where the money goes. Then a person approves it. A held payment
    is rejected by a refund. --by-hand records money that you have given back in cash, or by your own bank: the refund
    is completed at once.

    Exit code 0: stored. 1: there is no such money, less of it is left, or the reference belongs to another refund. 2:
    an argument cannot be used.
    """
    amount = amount and read_amount(amount)
    send = send and (read_amount(send[0], "send"), send[1])
    with usable():
        shop = for_writing(f"refund({checkout_id!r})")
        if not by_hand:
            paid = shop.checkouts.find(checkout_id)
            require_address("" if paid is None else paid.account)
        more = {"to": ByHand() if by_hand else None, "send": send, "reference": reference, "replaces": replaces}
        stored = shop.refunds.refund_now(checkout_id, amount, by, why, **more)
    lines = [f"refund {stored.reference} of {payout_sum_text(stored)} {payout_status_text(stored.status)}"]
    lines += [] if by_hand else [claim_line(stored.reference)]
    print_facts(
        as_json, payout_facts(stored) | {"refund_url": None if by_hand else claim_url(stored.reference)}, *lines
    )


@paycheckout.group(invoke_without_command=True, short_help="List payouts and refunds, send them, decide on them.")
@click.option("--status", type=click.Choice([each.value for each in PayoutStatus]), help="Only payouts in this state.")
@account_option
@limit_option
@json_option
@click.pass_context
@with_appcontext
def payouts(context: click.Context, status: str | None, account: str | None, limit: int, as_json: bool) -> None:
    """List payouts and refunds, newest first; the commands below send them and record decisions.

    Exit code 0: listed. 2: there is no such account.
    """
    if context.invoked_subcommand is not None:
        return
    account_name = known_account(account)
    shop = for_reading("the list of payouts")
    state = PayoutStatus(status) if status else None
    page = page_of_payouts(shop.payouts, state, limit=limit, period=Period(account=account_name))
    none = f"There are no payouts of the state {status}." if status else "There are no payouts."
    print_page(as_json, page, payout_facts, _table, none)


def _table(payouts: Sequence[PayoutMixin]) -> Iterator[str]:
    """A table of payouts, each with its destination and problem below."""
    rows = [["REFERENCE", "KIND", "ORDER", "STATUS", "SINCE", "AMOUNT"]]
    for payout in payouts:
        seen = f" (--seen {payout.revision})" if payout.status == PayoutStatus.WAITING else ""
        status = payout_status_text(payout.shown_status) + seen
        about = [payout.reference + account_text(payout.account), payout.kind, payout.order_id or ""]
        rows.append([*map(visible, about), status, moment_text(payout.moved_at), payout_sum_text(payout)])
    heading, *lines = table_lines(rows, left=5)
    yield heading
    for line, payout in zip(lines, payouts, strict=True):
        yield line
        yield from (f"  {label}: {visible(value)}" for label, value in facts_in(payout.destination).items())
        if payout.problem:
            yield f"  Problem: {visible(' '.join(payout.problem.split()))}"


@payouts.command(short_help="Send payouts that are ready; follow those under way.")
@click.option("--login", is_flag=True, help="Ask for e-mail, password and one-time password; nothing is stored.")
@json_option
def send(login: bool, as_json: bool) -> None:
    """Send what is ready and follow what is under way, as reconcile does when an access token is configured.

    Exit code 0: nothing failed. 1: a payout failed or is unknown, or no access token is configured and payouts wait.
    """
    token = log_in() if login else None
    report = for_writing("send_payouts()").payout_sender.run(concealed(token))[0]
    facts = asdict(report)
    print_facts(as_json, facts, counts_text(facts))
    if not report.clean:
        click.echo("What to do about it: flask paycheckout report", err=True)
        raise SystemExit(1)
    payers, _ = ready_payouts(runtime().alarm_context(), lacks_token=True)
    without = sorted({payer for payer in payers.values() if payer or token is None})
    if without:
        click.echo(visible(f"Payouts are left. {missing_token_text(without)}"), err=True)
        raise SystemExit(1)
    if report.left:
        click.echo("Payouts are left. See why: flask paycheckout payouts --status ready", err=True)


@payouts.command(short_help="Release a payout that waits for a person.")
@click.argument("reference")
@click.option(
    "--seen", type=click.IntRange(0), required=True, help="The revision that you saw; the list of payouts names it."
)
@by_option
@click.option("--why", metavar="TEXT", help="A remark, for the record.")
@click.option("--over-limit", is_flag=True, help="Let it exceed the daily limit.")
def approve(reference: str, seen: int, by: str, why: str | None, over_limit: bool) -> None:
    """Release a payout or refund to the destination that you saw.

    A destination that has changed since is refused: look at it again, and approve what you see then.

    Exit code 0: approved. 1: not stored, does not wait, or has changed. 2: an argument cannot be used.
    """
    _decide(lambda decisions: decisions.approve(reference, by, why, seen, over_limit=over_limit))


@payouts.command(short_help="Cancel a payout of which nothing was sent.")
@click.argument("reference")
@decision_options
def cancel(reference: str, by: str, why: str) -> None:
    """Cancel a payout or refund of which nothing was sent.

    Exit code 0: cancelled. 1: not stored, or sent already. 2: an argument cannot be used.
    """
    _decide(lambda decisions: decisions.cancel(reference, by, why))


@payouts.command(short_help="Have a payout that failed sent again.")
@click.argument("reference")
@decision_options
def retry(reference: str, by: str, why: str) -> None:
    """Have a payout or refund that failed sent again, to the same destination.

    Exit code 0: it is ready. 1: not stored, has not failed, or its money is refunded otherwise. 2: an argument cannot
    be used.
    """
    _decide(lambda decisions: decisions.retry(reference, by, why))


@payouts.command(short_help="Record whether a payout was sent, or came back.")
@click.argument("reference")
@click.option("--sent", is_flag=True, help="It was sent; with the amount that the service reports.")
@click.option("--not-sent", is_flag=True, help="It was not sent, and is sent (again); one that was sent came back.")
@decision_options
def resolve(reference: str, sent: bool, not_sent: bool, by: str, why: str) -> None:
    """Record whether a payout was sent, as you found out in the service's dashboard or on the chain.

    --not-sent sends an unknown one, so look first: what was sent before would be paid twice. One that is sent or
    completed has failed by it, and the books take it back.

    Exit code 0: recorded. 1: not stored, or its state does not allow it. 2: the command is incomplete.
    """
    require_one(sent, not_sent, "--sent or --not-sent")
    _decide(lambda decisions: decisions.resolve(reference, sent, by, why))


@payouts.command(short_help="Save the transfer proof of a completed bank transfer.")
@click.argument("reference")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def proof(reference: str, file: Path) -> None:
    """Save the transfer proof of a completed bank transfer, a PDF of the service, in FILE.

    Exit code 0: saved. 1: there is none, the service did not answer, or FILE cannot be written.
    """
    try:
        shop = for_reading("the transfer proof")
        file.write_bytes(shop.payout_calls.proof(reference))
    except (PaymentsError, OSError) as error:
        raise click.ClickException(visible(str(error))) from None
    click.echo(visible(f"the transfer proof of {reference} is in {file}"))


def _decide(decision: Callable[[PayoutDecisions], PayoutMixin]) -> None:
    with usable():
        payout = decision(for_writing("the decision on a payout").payout_decisions)
    click.echo(visible(f"{payout.kind} {payout.reference} is {payout.status}"))

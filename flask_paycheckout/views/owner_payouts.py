"""The owner's pages about money that goes out: payouts and refunds, decisions on them, and new refunds."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

from flask import abort, request
from werkzeug.wrappers import Response

from flask_paycheckout.books.explain import payout_story
from flask_paycheckout.books.lists import page_of_payouts
from flask_paycheckout.checkouts.payments import Amount, sums_of
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.config.checks import PayoutFees
from flask_paycheckout.errors import NothingToRefund, PaybackRefused, PayoutRefused, UnknownCheckout
from flask_paycheckout.payouts.calls import error_text
from flask_paycheckout.payouts.paybacks import refundable
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PAYOUT_TRANSITIONS, PayoutEvidence, PayoutKind, PayoutStatus
from flask_paycheckout.payouts.requests import UnseenRefund
from flask_paycheckout.runtime import runtime
from flask_paycheckout.service.calls import ESTIMATE
from flask_paycheckout.totals import is_token, positive_amount
from flask_paycheckout.views.language import decimal_mark
from flask_paycheckout.views.order_urls import claim_url
from flask_paycheckout.views.owner_books import sums_of_days
from flask_paycheckout.views.owner_forms import (
    Fault,
    Page,
    asked_for,
    choice_given,
    chosen,
    faults,
    form,
    form_url,
    go_to,
    number_given,
    owner,
    owner_page,
    text_given,
    to_save,
    why_given,
)

_Sum = tuple[Decimal, str]

_COSTS = {
    PayoutFees.ON_TOP: "A refund costs you its amount, and the fee of the transfer on top.",
    PayoutFees.INCLUDED: "A refund costs you its amount. The fee of the transfer is taken off it, so that the customer"
    " receives less.",
}
_UNSEEN = (
    "Nothing was refunded now: there is a refund that you had not seen, perhaps of this same form. Look at the refunds"
    " below; send the form again if you want another one."
)

_DECISIONS = {
    "approve": (PayoutEvidence.APPROVED, "Approve it: the money goes to the destination above"),
    "over_limit": (PayoutEvidence.APPROVED, "Approve it beyond the daily limit: the money goes out today"),
    "cancel": (PayoutEvidence.CANCELLED, "Cancel it: nothing is sent, now or later"),
    "retry": (PayoutEvidence.RETRIED, "Try again: it is sent to the same destination"),
    "sent": (PayoutEvidence.SEEN_SENT, "It was sent, as the service's dashboard or the chain shows"),
    "not_sent": (PayoutEvidence.SEEN_UNSENT, "It was not sent: it is sent (again), so be sure"),
    "amended": (PayoutEvidence.AMENDED, "It is right so: it was sent as the service reports it"),
    "returned": (PayoutEvidence.RETURNED, "It came back, or never left: it has failed"),
}
"""The decisions of the form: the evidence that each is, and its words."""

_APPROVING = ("approve", "over_limit")


def list_payouts() -> Page:
    """List payouts and refunds, newest first."""
    status, kind, asked = chosen(PayoutStatus, "status"), chosen(PayoutKind, "kind"), asked_for()
    page = page_of_payouts(runtime().payouts, status, kind, request.args.get("after"), period=asked.period)
    runtime().looked(owner(), "payouts")
    return owner_page(
        "payouts",
        page=page,
        listed=sums_of(Amount(each.amount, each.currency) for each in page.rows),
        sums=sums_of_days(asked),
        asked=asked,
        status=status,
        kind=kind,
        statuses=list(PayoutStatus),
        kinds=list(PayoutKind),
    )


def show_payout() -> Page:
    """Show one payout with its history, and a form for the decisions that its state allows."""
    return _shown(request.args.get("reference", ""))


def _shown(reference: str, fault: Fault | None = None) -> Page:
    payout = runtime().payouts.require(reference)
    status = payout.status
    runtime().looked(owner(), payout.reference, payout.order_id)
    return owner_page(
        "payout",
        fault,
        payout=payout,
        steps=payout_story(payout).happenings,
        choices=_choices(payout),
        # A choice that was refused is taken back: what it was made for is no longer shown.
        chosen=request.form.get("decision") if fault and fault.code == 400 else None,
        action=form_url("decide_payout", payout.reference),
        refund_url=claim_url(payout.reference) if status == PayoutStatus.CLAIMABLE else None,
        can_refund=status == PayoutStatus.FAILED and payout.kind == PayoutKind.REFUND,
        has_proof=status == PayoutStatus.COMPLETED and not payout.is_token and payout.disbursement_id,
    )


def _choices(payout: PayoutMixin) -> dict[str, str]:
    """The words of the decisions that the payout's state allows to this person."""
    status, may_approve = PayoutStatus(payout.status), runtime().payout_decisions.may_approve(payout, owner())
    refused = {
        "approve": payout.waits_for_day or not may_approve,
        "over_limit": not payout.waits_for_day or not may_approve,
        "amended": payout.reported_amount is None,
        "cancel": payout.doubted,
        "retry": payout.to_details is None,
    }
    return {
        name: words
        for name, (said, words) in _DECISIONS.items()
        if (status, said) in PAYOUT_TRANSITIONS and not refused.get(name)
    }


@form(_shown)
def decide_payout(reference: str) -> Response:
    """Record a person's decision on a payout: approve, cancel, try again, sent or not sent."""
    payout, decision = runtime().payouts.require(reference), choice_given("decision", _DECISIONS)
    approves = decision in _APPROVING
    why = why_given(required=not approves)
    decisions = runtime().payout_decisions
    if approves:
        # A form without a revision shows nothing, so it approves nothing.
        seen = request.form.get("seen", -1, type=int)
        decisions.approve(reference, owner(), why or None, seen, over_limit=decision == "over_limit")
    elif decision not in _choices(payout):
        # A decision means something else in another state: what was not sent is sent, what came back is not.
        raise PayoutRefused(reference, payout.status, decision, "See below.")
    elif decision == "cancel":
        decisions.cancel(reference, owner(), why)
    elif decision == "retry":
        decisions.retry(reference, owner(), why)
    else:
        decisions.resolve(reference, decision in ("sent", "amended"), owner(), why)
    return go_to("show_payout", reference=reference)


def give_proof() -> Response | Page:
    """Give the service's transfer proof of a completed bank transfer, as a PDF to save."""
    payout = runtime().payouts.require(request.args.get("reference", ""))
    try:
        document = runtime().payout_calls.proof(payout.reference)
    except PayoutRefused:
        fault = Fault("There is no transfer proof: only a completed bank transfer has one.", 409)
    except PaymentsError as error:
        fault = Fault(f"The service gave no transfer proof: {error}. Try again later.", 502)
    else:
        runtime().looked(owner(), payout.reference, payout.order_id)
        return to_save(document, "application/pdf", f"transfer-proof-{payout.reference}.pdf")
    return _shown(payout.reference, fault)


def ask_for_refund() -> Page:
    """Show how much of a payment can be refunded, with a form to do it."""
    return _refund_form(request.args.get("checkout", ""))


def _refund_form(checkout_id: str, fault: Fault | None = None, send: _Sum | None = None) -> Page:
    try:
        payment = refundable(runtime().checkouts.require(checkout_id))
    except (UnknownCheckout, NothingToRefund, PaybackRefused):
        abort(404, "No money of such a payment can be refunded.")
    money, given = payment.checkout.payment, request.values
    received = money and money.received
    token = received.currency if received and is_token(received.currency) else ""
    return owner_page(
        "refund",
        fault,
        payment=payment,
        refunds=runtime().payouts.of_checkout(checkout_id),
        costs=_COSTS[runtime().settings.payout_fees],
        amount=request.form.get("amount", _proposed(payment.left)),
        # A customer who paid from a wallet can be paid back to one.
        offers_tokens=(money and money.method == "crypto") or given.get("send_amount"),
        send={"amount": given.get("send_amount", ""), "currency": given.get("send_currency", token)},
        estimate=send and _estimate(payment.checkout.account, *send),
        action=form_url("refund", checkout_id),
    )


@form(_refund_form)
def refund(checkout_id: str) -> Response | Page:
    """Refund a payment, or a part of it, once for each form that was shown."""
    with faults("send_amount"):
        send = _sum_to_send()
    if "estimate" in request.form:
        return _refund_form(checkout_id, send=send)
    requests, seen = runtime().payout_requests, request.form.get("seen", "")
    paid_in = refundable(runtime().checkouts.require(checkout_id)).arrived.currency
    with faults("amount"):
        try:
            made = requests.refund_now(checkout_id, number_given("amount", paid_in), owner(), why_given(), seen, send)
        except UnseenRefund:
            raise Fault(_UNSEEN, 409) from None
    return go_to("show_payout", reference=made.reference)


def _sum_to_send() -> _Sum | None:
    """The sum in the posted form that is sent in place of the currency that was paid; None without one.

    :raises ValueError: it cannot be sent.
    """
    if not text_given("send_amount"):
        return None
    currency = text_given("send_currency")
    return positive_amount(number_given("send_amount", currency), currency, "send"), currency


def _estimate(account: str, amount: Decimal, currency: str) -> str:
    """The service's estimate of the fee, for people, or why there is none; asked outside of any transaction."""
    if not is_token(currency):
        return "The service estimates fees for tokens only."
    # It estimates whole numbers only.
    whole = amount.to_integral_value(ROUND_CEILING)
    try:
        with runtime().service.permit(ESTIMATE, account) as permit:
            told = permit.ask(lambda client: client.crypto_disbursements.estimate(currency, whole))
    except PaymentsError as error:
        return f"The service gave no estimate of the fee: {error_text(error)}"
    return f"The service estimates a fee of {told.fee.normalize():f} {currency} for sending {whole:f}."


def _proposed(left: Amount) -> str:
    """The amount to begin with, with the decimal mark of the browser's language: what was asked, or all that is left.

    A refund that failed is made anew with its own amount.
    """
    try:
        asked = positive_amount(request.args.get("amount", ""), left.currency)
    except ValueError:
        asked = left.amount
    amount = min(asked, left.amount)
    return f"{amount:f}".replace(".", decimal_mark())

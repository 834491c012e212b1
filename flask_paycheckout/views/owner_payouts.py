"""The owner's pages about money that goes out: payouts and refunds, decisions on them, and new refunds."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

from flask import abort, make_response, redirect, request, url_for
from werkzeug.wrappers import Response

from flask_paycheckout.books.explain import payout_story
from flask_paycheckout.books.lists import page_of_payouts
from flask_paycheckout.checkouts.payments import Amount, sums_of
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.config.checks import PayoutFees
from flask_paycheckout.errors import (
    NothingToRefund,
    PaybackRefused,
    PayoutRefused,
    RefundTooLarge,
    UnknownCheckout,
    UnknownPayout,
)
from flask_paycheckout.payouts.calls import error_text
from flask_paycheckout.payouts.paybacks import RefundablePayment, refundable
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutKind, PayoutStatus
from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.signed_links import PAYOUT, RESOLVE
from flask_paycheckout.service.calls import ESTIMATE
from flask_paycheckout.text import trimmed, visible
from flask_paycheckout.totals import is_token, positive_amount
from flask_paycheckout.views import language
from flask_paycheckout.views.order_urls import claim_url
from flask_paycheckout.views.owner_books import sums_of_days
from flask_paycheckout.views.owner_forms import (
    asked_for,
    chosen,
    fault_text,
    file_name,
    form_url,
    number_given,
    owner,
    owner_page,
    subject_of_form,
    why_given,
)

_Page = str | tuple[str, int] | Response
_Sum = tuple[Decimal, str]

_COSTS = {
    PayoutFees.ON_TOP: "A refund costs you its amount, and the fee of the transfer on top.",
    PayoutFees.INCLUDED: "A refund costs you its amount. The fee of the transfer is taken off it, so that the customer"
    " receives less.",
}
_LISTED = 25


_CHOICES = {
    "approve": "Approve it: the money goes to the destination above",
    "over_limit": "Approve it beyond the daily limit: the money goes out today",
    "cancel": "Cancel it: nothing is sent, now or later",
    "retry": "Try again: it is sent to the same destination",
    "sent": "It was sent, as the service's dashboard or the chain shows",
    "not_sent": "It was not sent: it is sent (again), so be sure",
    "amended": "It is right so: the amount that the service reports was sent",
    "returned": "It came back, or never left; it can be tried again then",
}
"""The words of each decision, as a choice of the form."""

_APPROVING = ("approve", "over_limit")
_ALLOWED = {
    PayoutStatus.CLAIMABLE: ("cancel",),
    PayoutStatus.WAITING: ("approve", "over_limit", "cancel"),
    PayoutStatus.READY: ("cancel",),
    PayoutStatus.FAILED: ("retry",),
    PayoutStatus.UNKNOWN: ("sent", "not_sent"),
    PayoutStatus.SENT: ("amended", "returned"),
    PayoutStatus.COMPLETED: ("returned",),
}


def list_payouts() -> str:
    """List payouts and refunds, newest first."""
    status, kind, asked = chosen(PayoutStatus, "status"), chosen(PayoutKind, "kind"), asked_for()
    page = page_of_payouts(runtime().payouts, status, kind, request.args.get("after"), _LISTED, asked.period)
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


def show_payout() -> _Page:
    """Show one payout with its history, and a form for the decisions that its state allows."""
    return _shown(_require_payout(request.args.get("reference", "")))


def decide_payout(token: str) -> _Page:
    """Record a person's decision on a payout: approve, cancel, try again, sent or not sent."""
    payout = _require_payout(subject_of_form(PAYOUT, token))
    decision, why = request.form.get("decision", ""), why_given()
    approves = decision in _APPROVING
    if decision not in _CHOICES or not (why or approves):
        return _shown(payout, "Choose one, and say why.", 400)
    try:
        _record(payout, decision, why)
    except PayoutRefused as refused:
        again = _require_payout(payout.reference)
        changed = approves and again.status == PayoutStatus.WAITING
        # The choice is taken back: what it was made for is no longer shown.
        return _shown(again, f"Nothing was recorded: {refused}", 409, keep_choice=not changed)
    except RefundTooLarge as refused_refund:
        left = f"{refused_refund.rest} {refused_refund.currency}"
        return _shown(payout, f"Nothing was recorded: only {left} of the payment are left for refunds.", 409)
    return redirect(_url_of(payout.reference), 303)


def _record(payout: PayoutMixin, decision: str, why: str) -> None:
    """Record a decision.

    :raises PayoutRefused: the payout's state does not allow it, or its destination is not the one that was shown.
    """
    reference, seen = payout.reference, request.form.get("seen", "")
    decisions = runtime().for_writing(f"the decision on {reference!r}").payout_decisions
    if decision in _APPROVING:
        # A form without a revision shows nothing, so it approves nothing.
        revision = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else -1
        decisions.approve(reference, owner(), why or None, revision, over_limit=decision == "over_limit")
    elif decision not in _allowed(payout):
        # The same word means something else in another state: what was not sent is sent, what came back is not.
        raise PayoutRefused(reference, payout.status, decision, "See below.")
    elif decision == "cancel":
        decisions.cancel(reference, owner(), why)
    elif decision == "retry":
        decisions.retry(reference, owner(), why)
    else:
        decisions.resolve(reference, decision in ("sent", "amended"), owner(), why)


def give_proof() -> _Page:
    """Give the service's transfer proof of a completed bank transfer, as a PDF to save."""
    payout = _require_payout(request.args.get("reference", ""))
    try:
        document = runtime().payout_calls.proof(payout.reference)
    except PayoutRefused:
        return _shown(payout, "There is no transfer proof: only a completed bank transfer has one.", 409)
    except PaymentsError as error:
        return _shown(payout, f"The service gave no transfer proof: {visible(str(error))}. Try again later.", 502)
    runtime().looked(owner(), payout.reference, payout.order_id)
    response = make_response(document)
    response.mimetype = "application/pdf"
    name = file_name(payout.reference) or "payout"
    response.headers["Content-Disposition"] = f'attachment; filename="transfer-proof-{name}.pdf"'
    return response


def ask_for_refund() -> _Page:
    """Show how much of a payment can be refunded, with a form to do it."""
    return _refund_form(_require_refundable(request.args.get("checkout", "")))


def refund(token: str) -> _Page:
    """Refund a payment, or a part of it, once for each form that was shown."""
    checkout_id = subject_of_form(RESOLVE, token)
    payment = _require_refundable(checkout_id)
    why, wrong = why_given(), "send_amount"
    try:
        send = _sum_to_send()
        if "estimate" in request.form:
            return _refund_form(payment, send=send)
        wrong = "amount"
        amount = number_given("amount")
        if not why:
            return _refund_form(payment, "Say why, for the record.", 400, "why")
        requests = runtime().for_writing(f"refund({checkout_id!r})").payout_requests
        made = requests.refund_now(checkout_id, amount, owner(), why, request.form.get("seen", ""), send)
    except ValueError as error:
        return _refund_form(payment, fault_text(error), 400, wrong)
    except RefundTooLarge as refused:
        left = f"Only {refused.rest} {refused.currency} of it are left."
        return _refund_form(_require_refundable(checkout_id), left, 409, wrong="amount")
    except (NothingToRefund, PaybackRefused) as refused_all:
        abort(409, visible(str(refused_all)))
    if made is None:
        changed = (
            "Nothing was refunded now: there is a refund that you had not seen, perhaps of this same form."
            " Look at the refunds below; send the form again if you want another one."
        )
        return _refund_form(_require_refundable(checkout_id), changed, 409)
    return redirect(_url_of(made.reference), 303)


def _shown(payout: PayoutMixin, fault: str | None = None, code: int = 200, *, keep_choice: bool = True) -> _Page:
    status = payout.status
    runtime().looked(owner(), payout.reference, payout.order_id)
    shown = owner_page(
        "payout",
        payout=payout,
        steps=payout_story(payout).happenings,
        fault=fault,
        choices={name: _CHOICES[name] for name in _allowed(payout)},
        chosen=request.form.get("decision") if keep_choice else None,
        why=request.form.get("why", ""),
        action=form_url("decide_payout", PAYOUT, payout.reference),
        refund_url=claim_url(payout.reference) if status == PayoutStatus.CLAIMABLE else None,
        can_refund=status == PayoutStatus.FAILED and payout.kind == PayoutKind.REFUND,
        has_proof=status == PayoutStatus.COMPLETED and not payout.is_token and payout.disbursement_id,
    )
    return shown, code


def _allowed(payout: PayoutMixin) -> list[str]:
    """The decisions that the payout's state allows to this person."""
    refused = {"approve" if payout.waits_for_day else "over_limit"}
    if not runtime().payout_decisions.may_approve(payout, owner()):
        refused = {"approve", "over_limit"}
    refused |= set() if payout.reported_amount is not None else {"amended"}
    return [name for name in _ALLOWED.get(PayoutStatus(payout.status), ()) if name not in refused]


def _refund_form(
    payment: RefundablePayment, fault: str | None = None, code: int = 200, wrong: str = "", send: _Sum | None = None
) -> _Page:
    money, given = payment.checkout.payment, request.values
    received = money and money.received
    token = received.currency if received and is_token(received.currency) else ""
    shown = owner_page(
        "refund",
        payment=payment,
        refunds=runtime().payouts.of_checkout(payment.checkout.checkout_id),
        fault=fault,
        wrong=wrong,
        costs=_COSTS[runtime().settings.payout_fees],
        amount=request.form.get("amount", _proposed(payment.left)),
        # Who paid from a wallet can be paid back to one.
        offers_tokens=(money and money.method == "crypto") or given.get("send_amount"),
        send={"amount": given.get("send_amount", ""), "currency": given.get("send_currency", token)},
        estimate=send and _estimate(payment, *send),
        why=request.form.get("why", ""),
        action=form_url("refund", RESOLVE, payment.checkout.checkout_id),
    )
    return shown, code


def _sum_to_send() -> _Sum | None:
    """The sum in the posted form that is sent in place of the currency that was paid; None without one.

    :raises ValueError: it cannot be sent.
    """
    if not trimmed(request.form.get("send_amount", "")):
        return None
    currency = trimmed(request.form.get("send_currency", ""))
    return positive_amount(number_given("send_amount"), currency, "send"), currency


def _estimate(payment: RefundablePayment, amount: Decimal, currency: str) -> str:
    """The service's estimate of the fee, for people, or why there is none; asked outside of any transaction."""
    if not is_token(currency):
        return "The service estimates fees for tokens only."
    # It estimates whole numbers only.
    whole = amount.to_integral_value(ROUND_CEILING)
    try:
        with runtime().service.permit(ESTIMATE, payment.checkout.account) as permit:
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
    return f"{amount:f}".replace(".", language.decimal_mark(language.of_page().tag))


def _require_payout(reference: str) -> PayoutMixin:
    payout = runtime().payouts.find(reference)
    if payout is None:
        raise UnknownPayout(reference)
    return payout


def _require_refundable(checkout_id: str) -> RefundablePayment:
    try:
        return refundable(runtime().checkouts.require(checkout_id))
    except (UnknownCheckout, NothingToRefund, PaybackRefused):
        abort(404, "No money of such a payment can be refunded.")


def _url_of(reference: str) -> str:
    return url_for("paycheckout_owner.show_payout", reference=reference)

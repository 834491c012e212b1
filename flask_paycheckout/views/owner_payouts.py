"""The owner's pages about money that goes out: payouts and refunds, decisions on them, and new refunds."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, Decimal, InvalidOperation
from operator import itemgetter

from flask import abort, request
from werkzeug.wrappers import Response

from flask_paycheckout.books.customers import Described
from flask_paycheckout.books.happenings import happenings_of
from flask_paycheckout.books.ledger import MONEY_OUT
from flask_paycheckout.books.lists import deeds_about, page_of_payouts, tokens_used
from flask_paycheckout.checkouts.payments import EXACT, Amount, Payment, amount_of, sums_of
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.config.checks import PayoutFees
from flask_paycheckout.errors import NothingToRefund, PayoutRefused, UnknownCheckout
from flask_paycheckout.payouts.calls import error_text
from flask_paycheckout.payouts.destinations import ByHand
from flask_paycheckout.payouts.paybacks import is_excess, refunds_to_make, waits_for_payback
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import RELEASING, PayoutEvidence, PayoutKind, PayoutState, PayoutStatus
from flask_paycheckout.payouts.refund_limits import refundable
from flask_paycheckout.payouts.refunds import UnseenRefund
from flask_paycheckout.runtime import runtime
from flask_paycheckout.service.calls import ESTIMATE
from flask_paycheckout.text import payout_sum_text, unjoined
from flask_paycheckout.totals import amount_to_type, is_token, positive_amount, typed_amount
from flask_paycheckout.views.language import sum_in_sentence
from flask_paycheckout.views.order_urls import claim_url
from flask_paycheckout.views.owner_forms import (
    CLAIM_MAIL,
    choice_given,
    faults,
    form,
    form_url,
    mail_with,
    number_given,
    text_given,
    to_save,
    why_given,
)
from flask_paycheckout.views.owner_page import (
    Fault,
    Page,
    asked_for,
    chosen,
    destination,
    go_to,
    owner,
    owner_page,
    person,
)
from flask_paycheckout.views.owner_story import links_told, story_of_payout

_Sum = tuple[Decimal, str]

_COSTS = {
    PayoutFees.ON_TOP: "A refund costs you its amount, and the fee of the transfer on top.",
    PayoutFees.INCLUDED: "A refund costs you its amount. The fee of the transfer is taken off it, so that the customer"
    " receives less.",
}
# Fewer decimals than tokens have, and more than a bank's currency.
_TOKEN_PLACES = 6
_MAX_AMOUNT = 100
_NOT_CHANGED = (
    "Nothing was refunded yet: you changed the amount, so the sum to send was proposed for another one. It is changed"
    " now. Look at it, and send the form again."
)
_UNSEEN = (
    "Nothing was refunded now: there is a refund that you had not seen, perhaps of this same form. Look at the refunds"
    " below; send the form again if you want another one."
)

_DECISIONS = {
    "approve": (PayoutEvidence.APPROVED, "Approve it: the money goes to the destination above"),
    "over_limit": (PayoutEvidence.RELEASED, "Approve it beyond the daily limit: the money goes out today"),
    "cancel": (PayoutEvidence.CANCELLED, "Cancel it: nothing is sent, now or later"),
    "give_up": (PayoutEvidence.GIVEN_UP, "Give it up: it is not paid, now or later"),
    "retry": (PayoutEvidence.RETRIED, "Try again: it is sent to the same destination"),
    "sent": (PayoutEvidence.SEEN_SENT, "It was sent, as the service's dashboard or the chain shows"),
    "not_sent": (PayoutEvidence.SEEN_UNSENT, "It was not sent: it is sent (again), so be sure"),
    "amended": (PayoutEvidence.AMENDED, "It is right so, as the service or the chain shows it"),
    "returned": (PayoutEvidence.RETURNED, "It came back, or never left: it has failed"),
}
"""The decisions of the form: the evidence that each is, and its words."""

_APPROVING = ("approve", "over_limit")


def list_payouts() -> Page:
    """List payouts and refunds, newest first."""
    status, kind, asked = chosen(PayoutStatus, "status"), chosen(PayoutKind, "kind"), asked_for()
    shop = runtime()
    page = page_of_payouts(shop.payouts, status, kind, request.args.get("after"), period=asked.period)
    approvals = deeds_about(shop.engine(), shop.models, "approved", [each.reference for each in page.rows])
    return owner_page(
        "payouts",
        page=page,
        # The last one of each counts.
        approvers={reference: by for _, by, reference in approvals},
        listed=_listed_sums(page.rows),
        sums=shop.books.sums(asked.period) if asked.period.is_limited else None,
        asked=asked,
        status=status,
        kind=kind,
        statuses=list(PayoutStatus),
        kinds=list(PayoutKind),
    )


def _listed_sums(payouts: Sequence[PayoutMixin]) -> dict[str, Sequence[Amount]]:
    """The sums of payouts by what became of them, without what none has."""
    found: dict[str, list[Amount | None]] = {"Went out": [], "Not sent yet": [], "Not paid": []}
    for each in payouts:
        name = "Went out" if each.status in MONEY_OUT else "Not paid" if each.status in RELEASING else "Not sent yet"
        found[name].append(amount_of(each.exact_amount, each.currency))
    return {name: sums for name, amounts in found.items() if (sums := sums_of(amounts))}


def show_payout() -> Page:
    """Show one payout with its history, and a form for the decisions that its state allows."""
    return _shown(request.args.get("reference", ""))


def _shown(reference: str, fault: Fault | None = None) -> Page:
    shop = runtime()
    payout = shop.payouts.require(reference)
    status, order_id, decisions = payout.status, payout.order_id, shop.payout_decisions
    described = shop.customers.described([order_id]).get(order_id) if order_id else None
    is_stopped = shop.payouts.is_stopped(payout)
    may_link = status == PayoutStatus.CLAIMABLE and not is_stopped and "refund" in person().may
    # Whoever has been shown the link cannot approve, so it is shown to those who ask for it, or cannot anyway.
    asks_for_link = may_link and "link" not in request.args and shop.settings.approve_by_another
    asks_for_link = asks_for_link and decisions.may_approve(payout, owner())
    url = claim_url(payout.reference) if may_link and not asks_for_link else None
    steps, choices = happenings_of(payout), _choices(payout)
    approves = not choices.keys().isdisjoint(_APPROVING)
    waits = status == PayoutStatus.WAITING and not (approves or is_stopped) and "approve" in person().may
    return owner_page(
        "payout",
        fault,
        payout=payout,
        described=described,
        payee=_payee_text(payout, described) if approves else "",
        # This person asked for it, or has seen its link.
        for_another=waits and not decisions.may_approve(payout, owner()),
        steps=steps,
        trouble=payout.problem and _trouble_text(payout),
        asked_why=next((each.facts.get("why") for each in steps), None),
        story=sorted([*story_of_payout(payout, steps), *links_told([payout])], key=itemgetter(0)),
        choices=choices,
        # A choice that was refused is taken back: what it was made for is no longer shown.
        chosen=request.form.get("decision") if fault and fault.code == 400 else None,
        action=form_url("decide_payout", payout.reference),
        asks_for_link=asks_for_link,
        refund_url=url,
        mail=url and mail_with(url, payout.order_id, payout.account, described, CLAIM_MAIL),
        is_stopped=is_stopped,
        can_refund=payout.state == PayoutState.FAILED and payout.kind == PayoutKind.REFUND and not is_stopped,
        has_proof=status == PayoutStatus.COMPLETED and not payout.is_token and payout.disbursement_id,
    )


_TROUBLES = {
    PayoutStatus.UNKNOWN: "Nobody here knows whether it went out. Look at the payments service, and say what it says.",
    PayoutStatus.READY: "It could not be sent yet, and is tried again.",
    PayoutStatus.SENDING: "The payments service has not said yet whether it was sent.",
    PayoutStatus.SENT: "It was sent, and there is no certain news of it.",
}


def _trouble_text(payout: PayoutMixin) -> str:
    """What is wrong with a payout, and what to do, for its owner."""
    problem = payout.problem or ""
    if payout.status in (PayoutStatus.WAITING, PayoutStatus.CLAIMABLE):
        return f"{problem[:1].upper()}{problem[1:]}{'' if problem.endswith('.') else '.'}"
    if payout.status == PayoutStatus.SENT and payout.is_token:
        return (
            "It was sent after a person said that it, or a refund before it, had come back, so it may have been paid"
            " twice. Compare both transfers with the chain, and say what you found."
        )
    if payout.status != PayoutStatus.FAILED:
        return _TROUBLES.get(PayoutStatus(payout.status), "It needs a look.")
    other = "refund it to another destination" if payout.refund_of else "pay it to another account"
    bank = destination(payout).get("Bank")
    if bank and payout.disbursement_id is None:
        return f"It was not sent. The payments service may not pay to {bank}: {other}, try it again, or give it up."
    return f"It did not arrive. Try it again, {other}, or give it up."


def _payee_text(payout: PayoutMixin, described: Described | None) -> str:
    """The question of an approval: the sum and the payee, beside the order's customer."""
    facts = destination(payout)
    name, bank = facts.get("Name"), facts.get("Bank")
    whom = name or ("the wallet above" if payout.is_token else "the account above")
    question = f"Send {payout_sum_text(payout, sum_in_sentence)} to {whom}?"
    if bank and runtime().banks.lacks(payout.account, payout.currency, bank):
        question += f" The payments service does not list {bank} among the banks that it pays to."
    customer = described and described.customer
    if not name or not customer:
        return question
    is_same = unjoined(name).casefold() == unjoined(customer).casefold()
    return f"{question} The order's customer, {customer}, has {'the same' if is_same else 'another'} name."


def _choices(payout: PayoutMixin) -> dict[str, str]:
    """The words of the decisions that the payout's state allows to this person."""
    open_now = runtime().payout_decisions.open_to(payout, owner())
    if payout.state == PayoutState.WAITING:
        # Whether it would exceed the limit shows when it is sent.
        open_now.discard(PayoutEvidence.RELEASED)
    return {name: words for name, (said, words) in _DECISIONS.items() if said in open_now}


@form(_shown)
def decide_payout(reference: str) -> Response:
    """Record a person's decision on a payout: approve, cancel, try again, sent or not sent."""
    shop, decision = runtime(), choice_given("decision", _DECISIONS)
    approves = decision in _APPROVING
    why, decisions = why_given(required=not approves), shop.payout_decisions
    if approves:
        # A form without a revision shows nothing, so it approves nothing.
        seen = request.form.get("seen", -1, type=int)
        decisions.approve(reference, owner(), why or None, seen, over_limit=decision == "over_limit")
    elif decision not in _choices(payout := shop.payouts.require(reference)):
        # A decision means something else in another state: what was not sent is sent, what came back is not.
        raise PayoutRefused(reference, payout.status, decision, "See below.")
    elif decision in ("cancel", "give_up"):
        decisions.cancel(reference, owner(), why)
    elif decision == "retry":
        decisions.retry(reference, owner(), why)
    else:
        decisions.resolve(reference, decision in ("sent", "amended"), owner(), why)
    return go_to("payout", reference=reference, done=decision)


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
        return to_save(document, "application/pdf", f"transfer-proof-{payout.reference}.pdf")
    return _shown(payout.reference, fault)


def ask_for_refund() -> Page:
    """Show how much of a payment can be refunded, with a form to do it."""
    return _refund_form(request.args.get("checkout", ""))


def _refund_form(checkout_id: str, fault: Fault | None = None, send: _Sum | None = None) -> Page:
    shop = runtime()
    try:
        payment = refundable(shop.checkouts.require(checkout_id))
    except (UnknownCheckout, NothingToRefund):
        abort(404, "No money of such a payment can be refunded.")
    money, given, refunds = payment.checkout.payment, request.values, shop.payouts.of_checkout(checkout_id)
    attempts = shop.checkouts.of_order(payment.checkout.order_id)
    waiting = [each for each in attempts if waits_for_payback(each)]
    exceeding = next(filter(is_excess, waiting), None)
    back = [] if exceeding is None else refunds_to_make(exceeding, attempts)
    # The part of this payment that goes back because more arrived than its order costs.
    excess = next((amount for paid, amount in back if paid.id == payment.checkout.id), None)
    # A new refund beside one that failed, and that somebody tries again, would give the same money back twice.
    failed = next((each for each in reversed(refunds) if each.state == PayoutState.FAILED), None)
    usual = excess or (failed and amount_of(failed.exact_counts, failed.counts_currency)) or payment.left
    amount = request.form.get("amount", _proposed(usual, payment.left))
    token, share = _token_of(money), _share(money, amount)
    sum_to_send = share if _was_offered_for_another() else given.get("send_amount", share)
    return owner_page(
        "refund",
        fault,
        payment=payment,
        refunds=refunds,
        # A person who refunds a payment of the order may have meant one of these, which paid none.
        others=[] if waits_for_payback(payment.checkout) else [each for each in waiting if not is_excess(each)],
        costs=_COSTS[shop.settings.payout_fees],
        excess=excess,
        amount=amount,
        # A customer who paid from a wallet can be paid back to one.
        offers_tokens=(tokens := (money and money.method == "crypto") or given.get("send_amount")),
        token=money and money.token,
        tokens=tokens_used(shop.engine(), shop.models) if tokens else (),
        send={"amount": sum_to_send, "currency": given.get("send_currency", token)},
        estimate=send and _estimate(payment.checkout.account, *send),
        replaces=given.get("replaces", failed.reference if failed else ""),
        by_hand="by_hand" in given,
        action=form_url("refund", checkout_id),
    )


@form(_refund_form)
def refund(checkout_id: str) -> Response | Page:
    """Refund a payment, or a part of it, once for each form that was shown."""
    to = ByHand() if "by_hand" in request.form else None
    if to is None and _was_offered_for_another():
        raise Fault(_NOT_CHANGED, 409, "send_amount")
    with faults("send_amount"):
        # What is given back by hand is not sent, though the proposal to send tokens stands in the form.
        send = None if to else _sum_to_send()
    if "estimate" in request.form:
        return _refund_form(checkout_id, send=send)
    more = {"to": to, "send": send, "replaces": text_given("replaces") or None, "seen": request.form.get("seen", "")}
    with faults("amount"):
        try:
            made = runtime().refunds.refund_now(checkout_id, number_given("amount"), owner(), why_given(), **more)
        except UnseenRefund:
            raise Fault(_UNSEEN, 409) from None
    return go_to("payout", reference=made.reference, done="by_hand" if to else "refunded")


def _token_of(money: Payment | None) -> str:
    """The token that is proposed to be sent: what the customer paid with, else what the shop received; "" for none."""
    known = (money and money.token) or (money and money.received)
    return known.currency if known and is_token(known.currency) else ""


def _share(money: Payment | None, amount: str) -> str:
    """The share of the tokens that the customer paid, for this amount of the payment; "" where nobody knows."""
    if money is None or money.token is None or money.paid is None or is_token(money.paid.currency):
        return ""
    try:
        counted = positive_amount(typed_amount(amount[:_MAX_AMOUNT]), money.paid.currency)
    except ValueError:
        return ""
    places = max(_TOKEN_PLACES, -int(money.token.amount.as_tuple().exponent))
    share = EXACT.divide(EXACT.multiply(money.token.amount, counted), money.paid.amount)
    share = share.quantize(Decimal(1).scaleb(-places), ROUND_DOWN, EXACT)
    return amount_to_type(Decimal(f"{share:f}".rstrip("0").rstrip("."))) if share else ""


def _was_offered_for_another() -> bool:
    """Whether the posted form has another amount than the page that proposed the sum to send, and still that sum."""
    offered, _, send = text_given("offered").partition(" ")
    if not send or text_given("send_amount") != send:
        return False
    try:
        return Decimal(number_given("amount")) != Decimal(typed_amount(offered[:_MAX_AMOUNT]))
    except (ValueError, InvalidOperation):
        return False


def _sum_to_send() -> _Sum | None:
    """The sum in the posted form that is sent in place of the currency that was paid; None without one.

    :raises ValueError: it cannot be sent.
    """
    if not text_given("send_amount"):
        return None
    currency = text_given("send_currency")
    return positive_amount(number_given("send_amount"), currency, "send"), currency


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


def _proposed(usual: Amount, left: Amount) -> str:
    """The amount to begin with: that of the address, such as of a refund that failed and is made anew; else the usual.

    Never more than is left.
    """
    try:
        amount = positive_amount(request.args.get("amount", ""), left.currency)
    except ValueError:
        amount = usual.amount
    return amount_to_type(min(amount, left.amount))

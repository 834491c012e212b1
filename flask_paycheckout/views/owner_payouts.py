"""The owner's pages about money that goes out: payouts and refunds, and decisions on them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from flask import request
from werkzeug.wrappers import Response

from flask_paycheckout.books.customers import Described
from flask_paycheckout.books.happenings import happenings_of
from flask_paycheckout.books.ledger import MONEY_OUT
from flask_paycheckout.books.lists import deeds_about, page_of_payouts
from flask_paycheckout.checkouts.payments import sums_of
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.errors import PayoutRefused
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import RELEASING, PayoutEvidence, PayoutKind, PayoutState, PayoutStatus
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import payout_sum_text, unjoined
from flask_paycheckout.totals import Amount, amount_of
from flask_paycheckout.views.language import sum_in_sentence
from flask_paycheckout.views.order_urls import claim_url
from flask_paycheckout.views.owner_forms import (
    CLAIM_MAIL,
    choice_given,
    form,
    form_url,
    mail_with,
    to_save,
    why_given,
)
from flask_paycheckout.views.owner_page import (
    Fault,
    Page,
    chosen,
    destination,
    go_to,
    owner,
    owner_page,
    person,
    requested_filters,
)
from flask_paycheckout.views.owner_story import links_told, story_of_payout

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
"""The decisions of the form: the evidence of each, and its words."""

_APPROVING = ("approve", "over_limit")


def list_payouts() -> Page:
    """List payouts and refunds, newest first."""
    status, kind, filters = chosen(PayoutStatus, "status"), chosen(PayoutKind, "kind"), requested_filters()
    shop = runtime()
    page = page_of_payouts(shop.payouts, status, kind, request.args.get("after"), period=filters.period)
    approvals = deeds_about(shop.engine(), shop.models, "approved", [each.reference for each in page.rows])
    return owner_page(
        "payouts",
        page=page,
        # The last approval of each payout counts.
        approvers={reference: by for _, by, reference in approvals},
        orders=shop.customers.described([each.order_id for each in page.rows if each.refund_of and each.order_id]),
        listed=_listed_sums(page.rows),
        sums=shop.books.sums(filters.period) if filters.period.is_limited else None,
        asked=filters,
        status=status,
        kind=kind,
        statuses=list(PayoutStatus),
        kinds=list(PayoutKind),
    )


def _listed_sums(payouts: Sequence[PayoutMixin]) -> dict[str, Sequence[Amount]]:
    """The sums of payouts by outcome, without outcomes that no payout has."""
    outcomes: dict[str, list[Amount | None]] = {"Went out": [], "Not sent yet": [], "Not paid": []}
    for each in payouts:
        name = "Went out" if each.status in MONEY_OUT else "Not paid" if each.status in RELEASING else "Not sent yet"
        outcomes[name].append(amount_of(each.exact_amount, each.currency))
    return {name: sums for name, amounts in outcomes.items() if (sums := sums_of(amounts))}


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
    # A person who has seen the link cannot approve. Show it only on request, or to a person who cannot approve anyway.
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
        # This person requested the payout, or has seen its link.
        for_another=waits and not decisions.may_approve(payout, owner()),
        steps=steps,
        trouble=payout.problem and _trouble_text(payout),
        asked_why=next((each.facts.get("why") for each in steps), None),
        story=sorted([*story_of_payout(payout, steps), *links_told([payout])], key=itemgetter(0)),
        choices=choices,
        # A refused choice is not preselected, because the page now shows another state of the payout.
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
    """The problem of a payout and its remedy, in the owner's words."""
    problem = payout.problem or ""
    if payout.status in (PayoutStatus.WAITING, PayoutStatus.CLAIMABLE):
        return f"{problem[:1].upper()}{problem[1:]}{'' if problem.endswith('.') else '.'}"
    may_be_late = payout.status in RELEASING or (payout.earlier and not payout.is_token)
    if payout.reported_amount is not None and may_be_late:
        return f"Money may have left twice: {problem}. Ask the payments service, and say what you found."
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
    """The question of an approval: the sum, the payee, and whether the payee is the order's customer."""
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
    """The decisions that the payout's state allows this person, with their words."""
    allowed = runtime().payout_decisions.open_to(payout, owner())
    if payout.state == PayoutState.WAITING:
        # The limit is checked when the payout is sent.
        allowed.discard(PayoutEvidence.RELEASED)
    return {name: words for name, (evidence, words) in _DECISIONS.items() if evidence in allowed}


@form(_shown)
def decide_payout(reference: str) -> Response:
    """Record a person's decision on a payout: approve, cancel, try again, sent or not sent."""
    shop, decision = runtime(), choice_given("decision", _DECISIONS)
    approves = decision in _APPROVING
    why, decisions = why_given(required=not approves), shop.payout_decisions
    if approves:
        # A form without a revision showed no destination, so it approves none.
        revision = request.form.get("seen", -1, type=int)
        decisions.approve(reference, owner(), why or None, revision, over_limit=decision == "over_limit")
    elif decision not in _choices(payout := shop.payouts.require(reference)):
        # A decision means something else in another state: "not sent" makes an unknown payout be sent (again), while
        # "returned" makes it fail.
        raise PayoutRefused(reference, payout.status, decision, "See below.")
    elif decision in ("cancel", "give_up"):
        decisions.cancel(reference, owner(), why)
    elif decision == "retry":
        decisions.retry(reference, owner(), why)
    else:
        decisions.resolve(reference, decision in ("sent", "amended"), owner(), why)
    return go_to("payout", reference=reference, done=decision)


def give_proof() -> Response | Page:
    """Return the service's transfer proof of a completed bank transfer, as a PDF to save."""
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

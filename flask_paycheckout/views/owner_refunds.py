"""The owner's page that refunds a payment: the sum that can be refunded, and the form."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_DOWN, Decimal, InvalidOperation

from flask import abort, request
from werkzeug.wrappers import Response

from flask_paycheckout.books.lists import tokens_used
from flask_paycheckout.checkouts.payments import Payment
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.config.checks import PayoutFees
from flask_paycheckout.errors import NothingToRefund, UnknownCheckout
from flask_paycheckout.payouts.calls import error_text
from flask_paycheckout.payouts.destinations import ByHand
from flask_paycheckout.payouts.paybacks import is_excess, refunds_to_make, waits_for_payback
from flask_paycheckout.payouts.payout_states import PayoutState
from flask_paycheckout.payouts.refund_limits import refundable
from flask_paycheckout.payouts.refunds import UnseenRefund
from flask_paycheckout.runtime import runtime
from flask_paycheckout.service.calls import ESTIMATE
from flask_paycheckout.totals import EXACT, Amount, amount_of, amount_to_type, is_token, positive_amount, typed_amount
from flask_paycheckout.views.owner_forms import (
    MAX_AMOUNT,
    faults,
    form,
    form_url,
    money_text,
    number_given,
    require_money_seen,
    text_given,
    why_given,
)
from flask_paycheckout.views.owner_page import (
    Fault,
    Page,
    go_to,
    owner,
    owner_page,
)

_Sum = tuple[Decimal, str]

_COSTS = {
    PayoutFees.ON_TOP: "A refund costs you its amount, and the fee of the transfer on top.",
    PayoutFees.INCLUDED: "A refund costs you its amount. The fee of the transfer is taken off it, so that the customer"
    " receives less.",
}
# The proposed sum of tokens has these decimals: fewer than tokens have, and more than a currency of banks has.
_TOKEN_PLACES = 6
_NOT_CHANGED = (
    "Nothing was refunded yet: you changed the amount, so the sum to send was proposed for another one. It is changed"
    " now. Look at it, and send the form again."
)
_UNSEEN = (
    "Nothing was refunded now: there is a refund that you had not seen, perhaps of this same form. Look at the refunds"
    " below; send the form again if you want another one."
)


def ask_for_refund() -> Page:
    """Show how much of a payment can be refunded, with a form to do it."""
    return _refund_form(request.args.get("checkout", ""))


def _refund_form(checkout_id: str, fault: Fault | None = None, send: _Sum | None = None) -> Page:
    shop = runtime()
    try:
        payment = refundable(shop.checkouts.require(checkout_id))
    except (UnknownCheckout, NothingToRefund):
        abort(404, "No money of such a payment can be refunded.")
    money, values, refunds = payment.checkout.payment, request.values, shop.payouts.of_checkout(checkout_id)
    attempts = shop.checkouts.of_order(payment.checkout.order_id)
    waiting = [each for each in attempts if waits_for_payback(each)]
    exceeding = next(filter(is_excess, waiting), None)
    back = [] if exceeding is None else refunds_to_make(exceeding, attempts)
    # The part of this payment to be refunded because more arrived than the order costs.
    excess = next((amount for paid, amount in back if paid.id == payment.checkout.id), None)
    # The new refund replaces a failed one. Otherwise a retry of the failed refund would pay the same money back twice.
    failed = next((each for each in reversed(refunds) if each.state == PayoutState.FAILED), None)
    usual = excess or (failed and amount_of(failed.exact_counts, failed.counts_currency)) or payment.left
    amount = request.form.get("amount", _proposed(usual, payment.left))
    token, share = _token_of(money), _share(money, amount)
    sum_to_send = share if _was_offered_for_another() else values.get("send_amount", share)
    return owner_page(
        "refund",
        fault,
        payment=payment,
        refunds=refunds,
        # The person may have meant one of these payments, which did not pay the order.
        others=[] if waits_for_payback(payment.checkout) else [each for each in waiting if not is_excess(each)],
        costs=_COSTS[shop.settings.payout_fees],
        excess=excess,
        amount=amount,
        # A customer who paid from a wallet can be paid back to a wallet.
        offers_tokens=(tokens := (money and money.method == "crypto") or values.get("send_amount")),
        token=money and money.token,
        tokens=tokens_used(shop.engine(), shop.models) if tokens else (),
        send={"amount": sum_to_send, "currency": values.get("send_currency", token)},
        estimate=send and _estimate(payment.checkout.account, *send),
        replaces=values.get("replaces", failed.reference if failed else ""),
        by_hand="by_hand" in values,
        action=form_url("refund", checkout_id, seen=money_text(payment.checkout)),
    )


@form(_refund_form)
def refund(checkout_id: str) -> Response | Page:
    """Refund a payment, or a part of it, once for each form that was shown."""
    require_money_seen(checkout_id)
    to = ByHand() if "by_hand" in request.form else None
    if to is None and _was_offered_for_another():
        raise Fault(_NOT_CHANGED, 409, "send_amount")
    with faults("send_amount"):
        # A refund by hand sends nothing, although the form contains the proposal to send tokens.
        send = None if to else _sum_to_send()
    if "estimate" in request.form:
        return _refund_form(checkout_id, send=send)
    more = {"to": to, "send": send, "replaces": text_given("replaces") or None, "seen": request.form.get("seen", "")}
    with faults("amount"):
        try:
            payout = runtime().refunds.refund_now(checkout_id, number_given("amount"), owner(), why_given(), **more)
        except UnseenRefund:
            raise Fault(_UNSEEN, 409) from None
    return go_to("payout", reference=payout.reference, done="by_hand" if to else "refunded")


def _token_of(money: Payment | None) -> str:
    """The token that the form proposes: the customer's, else the one that the shop received, else ""."""
    amount = (money and money.token) or (money and money.received)
    return amount.currency if amount and is_token(amount.currency) else ""


def _share(money: Payment | None, amount: str) -> str:
    """The share of the customer's tokens that corresponds to this amount of the payment; "" if it is unknown."""
    if money is None or money.token is None or money.paid is None or is_token(money.paid.currency):
        return ""
    try:
        counted = positive_amount(typed_amount(amount[:MAX_AMOUNT]), money.paid.currency)
    except ValueError:
        return ""
    places = max(_TOKEN_PLACES, -int(money.token.amount.as_tuple().exponent))
    share = EXACT.divide(EXACT.multiply(money.token.amount, counted), money.paid.amount)
    share = share.quantize(Decimal(1).scaleb(-places), ROUND_DOWN, EXACT)
    return amount_to_type(Decimal(f"{share:f}".rstrip("0").rstrip("."))) if share else ""


def _was_offered_for_another() -> bool:
    """Whether the posted form changed the amount, but kept the sum to send that was proposed for the earlier amount."""
    offered, _, send = text_given("offered").partition(" ")
    if not send or text_given("send_amount") != send:
        return False
    try:
        return Decimal(number_given("amount")) != Decimal(typed_amount(offered[:MAX_AMOUNT]))
    except (ValueError, InvalidOperation):
        return False


def _sum_to_send() -> _Sum | None:
    """The sum in the posted form that is sent in another currency than the payment's; None without one.

    :raises ValueError: this sum cannot be sent.
    """
    if not text_given("send_amount"):
        return None
    currency = text_given("send_currency")
    return positive_amount(number_given("send_amount"), currency, "send"), currency


def _estimate(account: str, amount: Decimal, currency: str) -> str:
    """The service's estimate of the fee, in words, or why there is none; called outside of any transaction."""
    if not is_token(currency):
        return "The service estimates fees for tokens only."
    # The service estimates whole numbers only.
    whole = amount.to_integral_value(ROUND_CEILING)
    try:
        with runtime().service.permit(ESTIMATE, account) as permit:
            estimate = permit.ask(lambda client: client.crypto_disbursements.estimate(currency, whole))
    except PaymentsError as error:
        return f"The service gave no estimate of the fee: {error_text(error)}"
    return f"The service estimates a fee of {estimate.fee.normalize():f} {currency} for sending {whole:f}."


def _proposed(usual: Amount, left: Amount) -> str:
    """The form's first amount: from the query, such as a failed refund's, else the usual; never more than is left."""
    try:
        amount = positive_amount(request.args.get("amount", ""), left.currency)
    except ValueError:
        amount = usual.amount
    return amount_to_type(min(amount, left.amount))

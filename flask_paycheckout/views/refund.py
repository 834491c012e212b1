"""The page of a refund, or of another payout that its receiver claims: its destination and its state."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from flask import Response, redirect, request, url_for
from msgspec.structs import replace
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.client import Invalid, PaymentsError
from flask_paycheckout.errors import PayoutRefused, ReceiverFailed
from flask_paycheckout.payouts.claims import (
    ACCOUNT_NUMBER,
    RefundForm,
    TooManyClaims,
    can_be_claimed,
    claims_left,
    fields_of,
    max_length,
    read_form,
)
from flask_paycheckout.payouts.payout_model import PayoutMixin, about_payout
from flask_paycheckout.payouts.payout_states import PayoutState, PayoutStatus
from flask_paycheckout.runtime import for_writing, runtime
from flask_paycheckout.security.signed_links import REFUND
from flask_paycheckout.views import language, refund_text as texts
from flask_paycheckout.views.headers import may_use_links
from flask_paycheckout.views.language import country_names
from flask_paycheckout.views.page_text import when_text
from flask_paycheckout.views.pages import (
    Answer,
    Code,
    bad_link,
    cross_origin,
    log_failure,
    negotiated,
    page,
    problem,
    seconds_to_wait,
)

_MAX_BODY = 64 * 1024
_REMEDY = "Please open the link that the shop sent you again, and use its own form."
# Attributes that help browsers to fill in the fields. Browsers should not keep an account number.
_ATTRIBUTES: dict[str, dict[str, str]] = {
    "account_name": {"autocomplete": "name"},
    ACCOUNT_NUMBER: {"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false", "maxlength": "64"},
    "bank_name": {"autocomplete": "off", "list": "paycheckout-banks"},
    "country": {"autocomplete": "country-name"},
    "email": {"autocomplete": "email", "type": "email", "inputmode": "email"},
    "address": {"autocomplete": "address-line1"},
    "city": {"autocomplete": "address-level2"},
    "post_code": {"autocomplete": "postal-code", "autocapitalize": "characters"},
    "wallet_address": {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"},
}
_EMPTY = RefundForm({}, {})


class _Field(msgspec.Struct, frozen=True):
    """A field of the form, as the template shows it."""

    name: str
    label: str
    hint: str
    fault: str
    value: str
    attributes: Mapping[str, str]
    focused: bool
    choices: Mapping[str, str]
    """The texts of a list by the value that is sent; empty for a text field."""


@negotiated
def refund(token: str) -> Answer:
    """Show a refund, and receive the form in which the customer says where it goes."""
    posted = request.method == "POST"
    reference = runtime().signed_links.read(REFUND, token)
    payout = None if reference is None else runtime().refund_claims.find(reference)
    if payout is not None:
        language.use_settings(partial(runtime().settings_of, payout.account))
    if posted and not may_use_links():
        return cross_origin(_REMEDY)
    if payout is None:
        return bad_link()
    return _claim(payout, read_form(payout.currency, _typed()), token) if posted else _state(payout)


def _typed() -> Mapping[str, str]:
    """The posted fields with text values, from a form or from JSON."""
    request.max_content_length = _MAX_BODY
    if not request.is_json:
        return request.form
    try:
        fields = msgspec.json.decode(request.get_data(cache=False), type=dict[str, object])
    except (ValueError, RecursionError):
        return {}
    return {name: typed for name, typed in fields.items() if isinstance(typed, str)}


def _is_stopped(payout: PayoutMixin) -> bool:
    """Whether the destination is no longer asked for, because the refund's payment was taken back."""
    return can_be_claimed(payout) and runtime().payouts.is_stopped(payout)


def _claim(payout: PayoutMixin, form: RefundForm, token: str) -> Answer:
    if form.faults or _is_stopped(payout):
        return _refused(payout, form)
    try:
        claimed = for_writing("the refund page").refund_claims.claim(payout.reference, form)
    except (PaymentsError, PayoutRefused, ReceiverFailed, SQLAlchemyError, TooManyClaims) as error:
        return _refused(payout, form, error)
    stored = _state(claimed)
    return replace(stored, page=lambda: redirect(url_for("paycheckout.refund", token=token), 303))


def _refused(payout: PayoutMixin, form: RefundForm, error: Exception | None = None) -> Answer:
    """The answer to a form that changed nothing; it is shown again while it can be corrected or sent again.

    :param error: why it was not stored; None for the faults of the form.
    """
    payout = runtime().refund_claims.find(payout.reference) or payout
    code, why, wait, detail = Code.INVALID, texts.FAULTS, None, ""
    if not can_be_claimed(payout) or _is_stopped(payout):
        code, why = Code.TOO_LATE, texts.TOO_LATE
    elif not claims_left(payout):
        code, why = Code.TOO_MANY_ATTEMPTS, texts.TOO_OFTEN
    elif isinstance(error, Invalid):
        why, detail = texts.REFUSED, error.message or ""
    elif error is not None:
        line = "the destination of refund %s was not stored: %s"
        log_failure("destinations of refunds", line, payout.reference, error, about_payout(payout))
        why = texts.WALLET_UNREACHABLE if payout.is_token else texts.UNREACHABLE
        code, wait = Code.TRY_LATER, seconds_to_wait(error)
    title, when = language.gettext(why), "" if wait is None else when_text(wait)
    more: dict[str, Any] = {"detail": detail} if detail else {}
    if code is Code.INVALID:
        more["errors"] = {field.name: field.fault for field in _fields(payout, form) if field.fault}
    return problem(code, title, partial(_page, payout, form, problem=title, detail=detail, when=when), wait, **more)


def _state(payout: PayoutMixin) -> Answer:
    """The answer with the refund's state."""
    return Answer(partial(_page, payout), partial(_facts, payout), language=language.of_page().code)


def _facts(payout: PayoutMixin) -> dict[str, Any]:
    return {
        "status": payout.status,
        "amount": f"{payout.amount:f}",
        "currency": payout.currency,
        "fields": [
            {"name": field.name, "label": field.label, "required": True}
            for field in ([] if _is_stopped(payout) else _fields(payout))
        ],
    }


def _page(payout: PayoutMixin, form: RefundForm = _EMPTY, **problem: str) -> Response:
    state, stopped = PayoutStatus(payout.status), _is_stopped(payout)
    # A transfer of tokens cannot be followed further.
    sent_for_good = state is PayoutStatus.SENT and payout.is_token
    return page(
        "refund.html",
        payout.order_id,
        replace(texts.refund_text(payout, stopped=stopped), **problem),
        state=state,
        final=sent_for_good
        or state in (PayoutStatus.COMPLETED, PayoutStatus.CANCELLED)
        or payout.state == PayoutState.REPLACED,
        fields=(fields := [] if stopped else _fields(payout, form)),
        banks=_banks(payout) if fields else [],
    )


def _banks(payout: PayoutMixin) -> list[str]:
    """The bank names that a browser proposes."""
    return [] if payout.is_token else sorted({*runtime().banks.named(payout.account, payout.currency).values()})


def _fields(payout: PayoutMixin, form: RefundForm = _EMPTY) -> list[_Field]:
    """The fields of the form with the values that were sent; empty if it cannot be sent any more."""
    if not claims_left(payout):
        return []
    first = next(iter(form.faults), None)
    return [
        _Field(
            name,
            *texts.field_text(name, form.faults.get(name), payout.currency, again=bool(form.values)),
            "" if name == ACCOUNT_NUMBER else form.values.get(name, ""),
            _ATTRIBUTES[name]
            if name == "country"
            else {"type": "text", "maxlength": str(max_length(name))} | _ATTRIBUTES[name],
            name == first,
            _choices(form.values.get(name, "")) if name == "country" else {},
        )
        for name in fields_of(payout.currency)
    ]


def _choices(selected: str) -> dict[str, str]:
    """The list of countries: the service expects English names; the customer reads names in the page's language."""
    listed = country_names()
    return {"": ""} | listed | {selected: listed.get(selected, selected)}

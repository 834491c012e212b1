"""What the operations on payments take."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from flask_paycheckout.sandbox.email_addresses import EmailAddress
from flask_paycheckout.sandbox.kinds import Amount, Choice, Flag, Number, Prose, Text
from flask_paycheckout.sandbox.paging import PageQuery
from flask_paycheckout.sandbox.payments.tables import MOST_ADDRESS, MOST_TEXT, STATUSES

US_NETWORKS = ("ach", "wire")


@dataclass(frozen=True)
class QuoteQuery:
    """What is to be exchanged for what, and whether the daily limit is looked at."""

    amount: Annotated[Decimal, Amount()]
    input_currency: Annotated[str, Text()]
    output_currency: Annotated[str, Text()]
    with_limit: Annotated[bool | None, Flag()] = None


@dataclass(frozen=True)
class PaymentQuery(PageQuery):
    """Which payments are listed: those that every given filter lets through.

    `search` is found anywhere in a name or e-mail address of sender or receiver, `receiverName` is the whole name,
    both without regard to case; amounts are compared as numbers, bounds included.
    """

    search: Annotated[str | None, Prose()] = None
    status: Annotated[str | None, Choice(STATUSES)] = None
    reason: Annotated[str | None, Prose(MOST_TEXT)] = None
    min_input_amount: Annotated[Decimal | None, Number()] = None
    max_input_amount: Annotated[Decimal | None, Number()] = None
    min_output_amount: Annotated[Decimal | None, Number()] = None
    max_output_amount: Annotated[Decimal | None, Number()] = None
    organization_id: Annotated[str | None, Text()] = None
    organization_name: Annotated[str | None, Prose()] = None
    blockchain: Annotated[str | None, Text()] = None
    receiver_name: Annotated[str | None, Prose()] = None


@dataclass(frozen=True)
class NewPayment:
    """What `POST /v2/payment` sends."""

    wallet_address: Annotated[str, Text(MOST_ADDRESS)]
    input_amount: Annotated[Decimal, Amount()]
    sender_name: Annotated[str, Prose()]
    sender_email: Annotated[str, EmailAddress()]
    receiver_id: Annotated[str, Text()]
    input_currency: Annotated[str, Text()]
    output_currency: Annotated[str, Text()]
    reason: Annotated[str | None, Prose(MOST_TEXT)] = None
    description: Annotated[str | None, Prose(MOST_TEXT)] = None
    us_network: Annotated[str | None, Choice(US_NETWORKS)] = None

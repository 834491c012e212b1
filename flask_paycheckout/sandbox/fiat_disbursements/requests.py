"""What the operations of fiat disbursements take."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from flask_paycheckout.sandbox.disbursements.batches import MOST_ITEMS
from flask_paycheckout.sandbox.disbursements.tables import MOST_NOTE, MOST_REFERENCE, STATUSES
from flask_paycheckout.sandbox.kinds import Amount, Choice, Part, Parts, Prose, Text
from flask_paycheckout.sandbox.paging import PageQuery

#: The name of the list of items in both bodies.
ITEMS = "disburseData"


@dataclass(frozen=True)
class FiatPaymentV1:
    """An item of the first version: a saved recipient, and a currency of its own."""

    currency: Annotated[str, Text()]
    recipient_id: Annotated[str, Text()]
    amount: Annotated[Decimal, Amount()]
    reference: Annotated[str | None, Text(MOST_REFERENCE)] = None
    note: Annotated[str | None, Prose(MOST_NOTE)] = None


@dataclass(frozen=True)
class NewFiatDisbursementsV1:
    """The body of `POST /v1/disbursement/fiat`."""

    disburse_data: Annotated[list[FiatPaymentV1], Parts(FiatPaymentV1, MOST_ITEMS)]


@dataclass(frozen=True)
class GivenBank:
    """The bank account of a recipient that is given with the request."""

    bank_name: Annotated[str, Prose()]
    account_name: Annotated[str, Prose()]
    account_number: Annotated[str, Text()]
    bank_code: Annotated[str, Text()]


@dataclass(frozen=True)
class GivenRecipient:
    """A recipient that is given with the request and not saved."""

    bank: Annotated[GivenBank, Part(GivenBank)]
    email: Annotated[str | None, Text()] = None
    name: Annotated[str | None, Prose()] = None


@dataclass(frozen=True)
class FiatPaymentV2:
    """An item of the second version: a saved recipient or a given one."""

    amount: Annotated[Decimal, Amount()]
    recipient_id: Annotated[str | None, Text()] = None
    recipient: Annotated[GivenRecipient | None, Part(GivenRecipient)] = None
    reference: Annotated[str | None, Text(MOST_REFERENCE)] = None
    note: Annotated[str | None, Prose(MOST_NOTE)] = None


@dataclass(frozen=True)
class NewFiatDisbursementsV2:
    """The body of `POST /v2/disbursement/fiat`."""

    currency: Annotated[str, Text()]
    disburse_data: Annotated[list[FiatPaymentV2], Parts(FiatPaymentV2, MOST_ITEMS)]


@dataclass(frozen=True)
class FiatMethodQuery:
    """The query of the list of payment methods."""

    currency: Annotated[str | None, Text()] = None


@dataclass(frozen=True)
class FiatListQuery(PageQuery):
    """The query of the list of disbursements; the filters that are given must all hold."""

    disbursement_id: Annotated[str | None, Text()] = None
    status: Annotated[str | None, Choice(STATUSES)] = None
    currency: Annotated[str | None, Text()] = None

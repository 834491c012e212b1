"""Fiat disbursements: bank transfers to recipients, in batches."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Unpack

from typing_extensions import deprecated

from flask_paycheckout.client.awaited import W
from flask_paycheckout.client.bodies import batch, query_text, text, texts
from flask_paycheckout.client.errors import Invalid
from flask_paycheckout.client.paging import Listing, Page, walk
from flask_paycheckout.client.records import DisbursementStatus, Record, Sort
from flask_paycheckout.client.resource import Resource, each, method
from flask_paycheckout.client.resources.fiat_records import (
    FiatBatch,
    FiatBatchV1,
    FiatDisbursement,
    FiatItem,
    FiatItemV1,
    FiatPaymentMethod,
    created_at_of,
)
from flask_paycheckout.client.sending import MEBIBYTE, Access, Operation
from flask_paycheckout.client.waiting import CallOptions

_HOW = "look with fiat_disbursements.find(references); without references, compare recipients and amounts in iterate"

_GET = Operation("GET", "/v1/disbursement/fiat/{id}", FiatDisbursement)
_CREATE = Operation("POST", "/v2/disbursement/fiat", FiatBatch, may_move_money=True, access=Access.BEARER, lookup=_HOW)
_CREATE_V1 = Operation(
    "POST", "/v1/disbursement/fiat", FiatBatchV1, may_move_money=True, access=Access.BEARER, lookup=_HOW
)
_METHODS = Operation("GET", "/v1/disbursement/fiat/payment-method", FiatPaymentMethod, access=Access.BEARER)
_REPORT = Operation(
    "GET",
    "/v1/disbursement/fiat/{id}/report",
    Record,
    max_bytes=16 * MEBIBYTE,
    accept="application/pdf, application/json",
)
# The page size that a lookup tries first, and the maximum number of pages that it reads.
_LARGE_PAGE = 100
_MOST_PAGES = 1000
# The time before the known disbursement within which the service may have listed a later disbursement.
_LOOK_BACK = timedelta(hours=1)
# Not retried: setting a status twice is harmless, but every update sends a webhook.
_SANDBOX_UPDATE = Operation(
    "PATCH",
    "/v1/disbursement/{id}",
    Record,
    may_move_money=True,
    access=Access.BEARER,
    lookup="see with fiat_disbursements.get whether the status was set",
)


class FiatDisbursementFilters(CallOptions, total=False):
    """The filters and the order of `list` and `iterate`.

    :ivar limit: the page size; the service's default is 10.
    """

    limit: int | None
    sort: Sort | None
    disbursement_id: str | None
    status: DisbursementStatus | None
    currency: str | None


_LIST = Listing(
    Operation("GET", "/v1/disbursement/fiat", FiatDisbursement),
    FiatDisbursementFilters,
    lambda made: made.disbursement_id,
    is_open=True,
)


class FiatDisbursements(Resource[W]):
    """`client.fiat_disbursements`. `create` requires an access token, see `client.auth`.

    If the answer to a batch is lost, look up its references to see whether it was carried out. A payout that is not
    found may still be under way: look again later, and then send it again with the same references, which the service
    accepts only once.

    >>> from flask_paycheckout.client import FiatItem, NewRecipient, PaymentsError, PayoutBank
    >>> payouts = client.fiat_disbursements
    >>> bank = payouts.payment_methods("USD")[0]
    >>> account = PayoutBank(
    ...     bank_name=bank.bank_name, bank_code=bank.bank_code, account_name="Bo", account_number="4000123412"
    ... )
    >>> items = [FiatItem(amount="12.50", recipient=NewRecipient(bank=account, name="Bo"), reference="refund-1")]
    >>> try:
    ...     made = payouts.create("USD", items).disburse_data
    ... except PaymentsError as error:
    ...     if error.carried_out == "no":
    ...         raise
    ...     made = list(payouts.find(["refund-1"]).values())
    >>> for payout in made:
    ...     print(payout.reference, payout.amount, payout.currency, payout.status)
    refund-1 12.50 USD pending

    To wait for it, poll `iterate(status="pending")`. A completed payout has a transfer proof:

    >>> payouts.sandbox_update(made[0].disbursement_id, "completed")
    >>> payouts.get(made[0].disbursement_id).status
    'completed'
    >>> payouts.report(made[0].disbursement_id)[:4]
    b'%PDF'
    """

    @method
    async def list(
        self, *, page: int | None = None, **filters: Unpack[FiatDisbursementFilters]
    ) -> Page[FiatDisbursement]:
        """One page of the disbursements.

        The interface does not show whether the service answers in pages or with a plain array, and its sample shows
        one record. Each form is returned as a page; `paging.page_of_array` explains the page of an array. If an answer
        has only one record, each further record takes a call.

        :param page: the page number; the first is 1.
        :param filters: see `FiatDisbursementFilters`.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.page(_LIST, filters, page)

    @each
    def iterate(self, **filters: Unpack[FiatDisbursementFilters]) -> AsyncGenerator[FiatDisbursement, None]:
        """Every disbursement, page after page; each page is read when its first record is needed.

        :param filters: see `FiatDisbursementFilters`.
        :raises TransportFailed: while iterating: the pages do not end.
        :raises PaymentsError: while iterating; see `errors`.
        """
        return self._caller.iterate(_LIST, filters)

    @method
    async def find(
        self, references: Iterable[str], *, after: str | None = None, **options: Unpack[CallOptions]
    ) -> dict[str, FiatDisbursement]:
        """The disbursements that were created with these references, by reference and in the order of the references.

        The newest disbursements are read first, and no further page once all are found, so a lookup soon after a lost
        answer takes one call. A reference that is missing in the result had no disbursement when the lookup began; a
        create that is under way may still make one. New records during the lookup do not hide others.

        :param references: the references of the created items; without references there is no call.
        :param after: the reference of a disbursement that was certainly created earlier, so that the lookup of a
            missing reference does not read the whole past. It ends one hour before that disbursement by the service's
            own times, independent of the caller's clock.
        :raises TransportFailed: not all are among the newest 1,000 pages, which are 100,000 records with pages of 100.
        :raises TypeError: `references` is one string, or a reference is no string.
        :raises PaymentsError: see `errors`; a page could not be read, so missing references remain unknown.
        """
        if isinstance(references, str):
            raise TypeError("references must be several strings, not one")
        reference_list = [text(f"references[{index}]", reference) for index, reference in enumerate(references)]
        if not reference_list:
            return {}
        try:
            disbursements = await self._search(set(reference_list), after, {"sort": "-createdAt", "limit": _LARGE_PAGE})
        except Invalid:
            # The interface shows neither the maximum page size nor the error for a larger one.
            disbursements = await self._search(set(reference_list), after, {"sort": "-createdAt"})
        return {reference: disbursements[reference] for reference in reference_list if reference in disbursements}

    @method
    async def get(self, disbursement_id: str, **options: Unpack[CallOptions]) -> FiatDisbursement:
        """Reads the disbursement.

        :raises NotFound: there is no such disbursement.
        :raises ValueError: the id is invalid.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(_GET, requested_id=disbursement_id)

    @method
    async def create(self, currency: str, items: Iterable[FiatItem], **options: Unpack[CallOptions]) -> FiatBatch:
        """Sends money to every item's recipient. Never retried after it was sent; give each item a `reference`.

        :param currency: the currency of every item's amount.
        :raises Invalid: the service refuses the batch; no part of it is carried out.
        :raises OutcomeUnknown: the answer was lost, and money may move: look the `references` up with `find`.
        :raises ServiceFault: the service failed, and money may also move.
        :raises TypeError: an item or its amount has the wrong type; the text names it.
        :raises ValueError: an item cannot be sent; the text names it.
        :raises PaymentsError: see `errors`.
        """
        text("currency", currency)
        entries, references = batch("items", items, FiatItem, currency)
        for index, item in enumerate(entries):
            if ("recipientId" in item) == ("recipient" in item):
                place = f"items[{index}].recipient"
                raise ValueError(f"{place}_id or {place} must be given, and not both")
        body = {"currency": currency, "disburseData": entries}
        return await self._caller.record(_CREATE, body=body, references=references)

    @deprecated("client.fiat_disbursements.create_v1 is deprecated: use client.fiat_disbursements.create")
    @method
    async def create_v1(self, items: Iterable[FiatItemV1], **options: Unpack[CallOptions]) -> FiatBatchV1:
        """The deprecated form of `create`: each item has a currency, and its recipient must exist.

        :raises OutcomeUnknown: the answer was lost, and money may move: look the `references` up with `find`.
        :raises PaymentsError: see `errors`. The other errors are the same as for `create`.
        """
        entries, references = batch("items", items, FiatItemV1)
        return await self._caller.record(_CREATE_V1, body={"disburseData": entries}, references=references)

    @method
    async def payment_methods(
        self, currency: str | None = None, **options: Unpack[CallOptions]
    ) -> tuple[FiatPaymentMethod, ...]:
        """The banks to which transfers can go, with their limits and fees; of one currency, or of all.

        :raises PaymentsError: see `errors`.
        """
        return await self._caller.records(_METHODS, query=query_text(texts(currency=currency)))

    @method
    async def report(self, disbursement_id: str, **options: Unpack[CallOptions]) -> bytes:
        """The transfer proof of a completed disbursement: a PDF of at most 16 MiB.

        :raises NotFound: there is no such disbursement.
        :raises TransportFailed: the answer is no PDF.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.pdf(_REPORT, requested_id=disbursement_id)

    @method
    async def sandbox_update(
        self, disbursement_id: str, status: DisbursementStatus, **options: Unpack[CallOptions]
    ) -> None:
        """Sets the status of a fiat or crypto disbursement, only in the service's sandbox. Not retried.

        The sandbox also sends the webhook.

        :raises Invalid: there is no such disbursement.
        :raises OutcomeUnknown: the answer was lost; `get` shows whether the status was set.
        :raises PaymentsError: see `errors`.
        """
        await self._caller.data(
            _SANDBOX_UPDATE, requested_id=disbursement_id, body={"status": status}, references=(disbursement_id,)
        )

    async def _search(
        self, references: set[str], after: str | None, filters: FiatDisbursementFilters
    ) -> dict[str, FiatDisbursement]:
        """The disbursements with these references, by reference, searched in a list with the newest records first."""
        disbursements = dict[str, FiatDisbursement]()
        since: datetime | None = None
        # Without a filter on a changing field, such as the status, no disbursement leaves the list.
        async for disbursement in walk(
            _LIST,
            partial(self._caller.fetch, _LIST, filters, may_be_blank=False),
            _MOST_PAGES,
            only_grows=True,
        ):
            created_at = created_at_of(disbursement)
            if since and created_at and created_at < since:
                break
            if after and disbursement.reference == after and created_at:
                since = created_at - _LOOK_BACK
            if disbursement.reference in references:
                disbursements[disbursement.reference] = disbursement
            if len(disbursements) == len(references):
                break
        return disbursements

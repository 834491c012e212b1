"""Recipients: people and businesses who are paid, with their bank accounts."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NotRequired, Unpack

from flask_paycheckout.client.awaited import W
from flask_paycheckout.client.bodies import fields_of
from flask_paycheckout.client.hidden import AccountNumber, Hidden
from flask_paycheckout.client.paging import Listing, Page
from flask_paycheckout.client.records import GIVEN, RecipientType, Record, Sort, given_as
from flask_paycheckout.client.resource import Resource, each, method
from flask_paycheckout.client.sending import Operation
from flask_paycheckout.client.waiting import CallOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class BankDetails:
    """A recipient's bank account, to be sent.

    :ivar currency: required to create a recipient.
    :ivar country: required to create a recipient.
    :ivar account_type: `Checking` or `Savings`.
    :ivar ifsc: not in the interface's list of fields, but in its sample request.
    """

    account_name: str
    currency: str | None = None
    country: str | None = None
    bank_name: str | None = None
    account_number: str | None = field(default=None, repr=False)
    payment_code: str | None = None
    ach_number: str | None = None
    fedwire_number: str | None = None
    iban_number: str | None = field(default=None, repr=False)
    account_type: str | None = None
    ifsc: str | None = None


class RecipientBank(Record, frozen=True):
    """A recipient's bank account, stored by the service."""

    id: str = given_as("_id")
    account_name: str = GIVEN
    bank_name: str | None = None
    payment_code: str | None = None
    currency: str = GIVEN
    country: str = GIVEN
    ach_number: str | None = None
    fedwire_number: str | None = None
    iban_number: Hidden | None = None
    account_number: AccountNumber | None = None
    account_type: str | None = None
    ifsc: str | None = None


class Recipient(Record, frozen=True):
    """A person or business who is paid.

    :ivar recipient_type: `Individual` or `Business`.
    :ivar bank: the bank accounts; a request has one account, an answer has a list.
    :ivar reference: free additional information.
    """

    id: str
    name: str = GIVEN
    recipient_type: str | None = None
    email: str = GIVEN
    organization_id: str | None = None
    user_id: str = GIVEN
    created_at: datetime = GIVEN
    updated_at: datetime = GIVEN
    bank: tuple[RecipientBank, ...] = ()
    city: str = GIVEN
    address: str = GIVEN
    post_code: str = GIVEN
    reference: str | None = None


_GET = Operation("GET", "/v1/recipient/{id}", Recipient)
# None of these moves money, but none is retried after it was sent: a second create would make a second recipient.
_CREATE = Operation("POST", "/v1/recipient", Recipient)
_UPDATE = Operation("PATCH", "/v1/recipient/{id}", Recipient)
_DELETE = Operation("DELETE", "/v1/recipient/{id}", Recipient, sample="/v1/recipient?id={id}")


class RecipientFilters(CallOptions, total=False):
    """The filters and the order of `list` and `iterate`.

    :ivar limit: the page size; the service's default is 10.
    :ivar search: a name or an e-mail address.
    :ivar country: the country of the bank account.
    :ivar currency: the currency of the bank account.
    """

    limit: int | None
    sort: Sort | None
    search: str | None
    country: str | None
    currency: str | None


class RecipientFields(CallOptions):
    """A recipient to be sent.

    :ivar bank: the bank account; a new recipient's needs currency and country, an update's at least the account name.
    :ivar recipient_type: `Individual` or `Business`.
    :ivar reference: free additional information.
    """

    name: str
    email: str
    address: str
    city: str
    post_code: str
    bank: BankDetails
    recipient_type: NotRequired[RecipientType | None]
    organization_id: NotRequired[str | None]
    reference: NotRequired[str | None]


_LIST = Listing(Operation("GET", "/v1/recipient", Recipient), RecipientFilters, lambda found: found.id)


class Recipients(Resource[W]):
    """`client.recipients`.

    >>> from flask_paycheckout.client import BankDetails
    >>> account = BankDetails(
    ...     account_name="Zoë Quist",
    ...     currency="USD",
    ...     country="United States",
    ...     bank_name="First Sandbox Bank",
    ...     account_number="4000123412",
    ... )
    >>> address = {"address": "1 Main Street", "city": "Springfield", "post_code": "12345"}
    >>> zoe = client.recipients.create(name="Zoë Quist", email="zoe@example.com", bank=account, **address)
    >>> zoe.bank[0].account_number  # never shown by accident
    '***'
    >>> client.recipients.update(zoe.id, name="Zoë Nowak", email="zoe@example.com", bank=account, **address).name
    'Zoë Nowak'
    >>> [found.name for found in client.recipients.iterate(search="nowak", currency="USD")]
    ['Zoë Nowak']
    >>> client.recipients.delete(zoe.id).id == zoe.id
    True
    """

    @method
    async def list(self, *, page: int | None = None, **filters: Unpack[RecipientFilters]) -> Page[Recipient]:
        """One page of the recipients.

        :param page: the page number; the first is 1.
        :param filters: see `RecipientFilters`.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.page(_LIST, filters, page)

    @each
    def iterate(self, **filters: Unpack[RecipientFilters]) -> AsyncGenerator[Recipient, None]:
        """Every recipient, page after page; each page is read when its first record is needed.

        :param filters: see `RecipientFilters`.
        :raises TransportFailed: while iterating: the pages do not end.
        :raises PaymentsError: while iterating; see `errors`.
        """
        return self._caller.iterate(_LIST, filters)

    @method
    async def get(self, recipient_id: str, **options: Unpack[CallOptions]) -> Recipient:
        """Reads the recipient.

        :raises NotFound: there is no such recipient.
        :raises ValueError: the id is invalid.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(_GET, requested_id=recipient_id)

    @method
    async def create(self, **fields: Unpack[RecipientFields]) -> Recipient:
        """Creates a recipient with one bank account.

        :param fields: see `RecipientFields`.
        :raises Invalid: the service refuses a field.
        :raises TypeError: a field is missing, or has the wrong type.
        :raises ValueError: the bank account has no currency or country.
        :raises PaymentsError: see `errors`. After a `TransportFailed` whose `request_sent` is True, the recipient may
            exist: `list(search=...)` shows it.
        """
        body = fields_of(RecipientFields).body(fields)
        for name in ("currency", "country"):
            if name not in body["bank"]:
                raise ValueError(f"bank.{name} is missing: a new recipient's bank account needs it")
        return await self._caller.record(_CREATE, body=body)

    @method
    async def update(self, recipient_id: str, **fields: Unpack[RecipientFields]) -> Recipient:
        """Changes a recipient. The service requires all fields again, and at present changes only the name.

        :param fields: see `RecipientFields`.
        :raises NotFound: there is no such recipient.
        :raises Invalid: the service refuses a field.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(
            _UPDATE, requested_id=recipient_id, body=fields_of(RecipientFields).body(fields)
        )

    @method
    async def delete(self, recipient_id: str, **options: Unpack[CallOptions]) -> Recipient:
        """Deletes a recipient, and returns the deleted record.

        :raises NotFound: there is no such recipient.
        :raises PaymentsError: see `errors`.
        """
        return await self._caller.record(_DELETE, requested_id=recipient_id)

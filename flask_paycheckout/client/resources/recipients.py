"""Recipients: people and businesses who are paid, with their bank accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

from flask_paycheckout.client.bodies import needed, query_string, secret, texts
from flask_paycheckout.client.filters import Filters
from flask_paycheckout.client.operations import Operation, segment
from flask_paycheckout.client.records.reading import RecordReader
from flask_paycheckout.client.records.recipients import BankDetails, Recipient
from flask_paycheckout.client.vocabulary import RecipientType, Sort

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask_paycheckout.client.calls import Caller
    from flask_paycheckout.client.envelope import JsonObject
    from flask_paycheckout.client.paging import Page

__all__ = ["RecipientFilters", "Recipients"]

_LIST = Operation("GET", "/v1/recipient", repeatable=True)
_GET = Operation("GET", "/v1/recipient/{id}", repeatable=True)
# None of these moves money; still each is sent once, since a second create would make a second recipient.
_CREATE = Operation("POST", "/v1/recipient")
_UPDATE = Operation("PATCH", "/v1/recipient/{id}")
_DELETE = Operation("DELETE", "/v1/recipient/{id}")
_DELETE_BY_QUERY = Operation("DELETE", "/v1/recipient")

_RECIPIENT = RecordReader(Recipient)


class RecipientFilters(TypedDict, total=False):
    """Which recipients `list` and `iterate` give, and in which order.

    :ivar limit: page size; the service's default is 10.
    :ivar search: a name or an e-mail address.
    :ivar country: of the bank account.
    :ivar currency: of the bank account.
    """

    limit: int | None
    sort: Sort | None
    search: str | None
    country: str | None
    currency: str | None


_FILTERS = Filters(RecipientFilters)


class Recipients:
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

    __slots__ = ("_caller",)

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(
        self, *, page: int | None = None, timeout: float | None = None, **filters: Unpack[RecipientFilters]
    ) -> Page[Recipient]:
        """One page of the recipients.

        :param page: the first is 1.
        :param filters: see `RecipientFilters`.
        :raises PaymentsError: see `errors`.
        """
        return self._caller.page(_LIST, _RECIPIENT, query=_FILTERS.query(filters, page), timeout=timeout)

    def iterate(self, *, timeout: float | None = None, **filters: Unpack[RecipientFilters]) -> Iterator[Recipient]:
        """Every recipient, page after page, each page read when its first record is wanted.

        :param filters: see `RecipientFilters`.
        :raises TransportFailed: while iterating: the pages would not come to an end.
        :raises PaymentsError: while iterating; see `errors`.
        """
        return self._caller.iterate(
            _LIST,
            _RECIPIENT,
            lambda found: found.id,
            lambda number: _FILTERS.query(filters, number),
            sort=filters.get("sort"),
            timeout=timeout,
        )

    def get(self, recipient_id: str, *, timeout: float | None = None) -> Recipient:
        """The recipient.

        :raises NotFound: there is none.
        :raises ValueError: the id cannot be one.
        :raises PaymentsError: see `errors`.
        """
        return self._caller.record(_GET, _RECIPIENT, ids={"id": recipient_id}, timeout=timeout)

    def create(
        self,
        *,
        name: str,
        email: str,
        address: str,
        city: str,
        post_code: str,
        bank: BankDetails,
        recipient_type: RecipientType | None = None,
        organization_id: str | None = None,
        reference: str | None = None,
        timeout: float | None = None,
    ) -> Recipient:
        """Makes a recipient with one bank account.

        :param bank: with its currency and country.
        :param recipient_type: `Individual` or `Business`.
        :param reference: free additional information.
        :raises Invalid: the service refuses a field.
        :raises ValueError: the bank account has no currency or country.
        :raises PaymentsError: see `errors`. After a `TransportFailed` whose `request_sent` is True the recipient may
            exist: `list(search=...)` tells.
        """
        _of_bank(bank)
        for field in ("currency", "country"):
            if getattr(bank, field) is None:
                raise ValueError(f"bank.{field} is missing: a new recipient's bank account needs it")
        body = _fields(name, email, address, city, post_code, bank, recipient_type, organization_id, reference)
        return self._caller.record(_CREATE, _RECIPIENT, body=body, timeout=timeout)

    def update(
        self,
        recipient_id: str,
        *,
        name: str,
        email: str,
        address: str,
        city: str,
        post_code: str,
        bank: BankDetails,
        recipient_type: RecipientType | None = None,
        organization_id: str | None = None,
        reference: str | None = None,
        timeout: float | None = None,
    ) -> Recipient:
        """Changes a recipient. The service wants the fields again, and at present changes the name only.

        :param bank: at least its account name.
        :raises NotFound: there is no such recipient.
        :raises Invalid: the service refuses a field.
        :raises PaymentsError: see `errors`.
        """
        body = _fields(name, email, address, city, post_code, bank, recipient_type, organization_id, reference)
        return self._caller.record(_UPDATE, _RECIPIENT, ids={"id": recipient_id}, body=body, timeout=timeout)

    def delete(self, recipient_id: str, *, timeout: float | None = None) -> Recipient:
        """Deletes a recipient, and gives what was deleted.

        :raises NotFound: there is no such recipient.
        :raises PaymentsError: see `errors`.
        """
        if self._caller.forms.recipient_delete == "query":
            # Checked as one that stands in a path, so that both forms take the same ids.
            segment(recipient_id)
            return self._caller.record(
                _DELETE_BY_QUERY, _RECIPIENT, query=query_string({"id": recipient_id}), timeout=timeout
            )
        return self._caller.record(_DELETE, _RECIPIENT, ids={"id": recipient_id}, timeout=timeout)


def _fields(
    name: str,
    email: str,
    address: str,
    city: str,
    post_code: str,
    bank: BankDetails,
    recipient_type: RecipientType | None,
    organization_id: str | None,
    reference: str | None,
) -> JsonObject:
    """A recipient's body on the wire."""
    body: JsonObject = needed(name=name, email=email, address=address, city=city, post_code=post_code)
    body["bank"] = _bank(bank)
    return body | texts(recipient_type=recipient_type, organization_id=organization_id, reference=reference)


def _bank(bank: BankDetails) -> JsonObject:
    _of_bank(bank)
    body: JsonObject = needed("bank.", account_name=bank.account_name)
    body |= texts(
        "bank.",
        currency=bank.currency,
        country=bank.country,
        bank_name=bank.bank_name,
        payment_code=bank.payment_code,
        ach_number=bank.ach_number,
        fedwire_number=bank.fedwire_number,
        account_type=bank.account_type,
        ifsc=bank.ifsc,
    )
    if bank.account_number is not None:
        body["accountNumber"] = secret("bank.account_number", bank.account_number)
    if bank.iban_number is not None:
        body["ibanNumber"] = secret("bank.iban_number", bank.iban_number)
    return body


def _of_bank(bank: object) -> None:
    if not isinstance(bank, BankDetails):
        raise TypeError(f"bank must be a BankDetails, not {type(bank).__name__}")

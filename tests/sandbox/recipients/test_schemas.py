"""Records of recipients, and the fields of an update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.sandbox.actors import Answer, Merchant
from tests.sandbox.recipients.payees import START, adds, bank, changes, creates, deletes, reads

FIELDS = {
    *("id", "name", "email", "userId", "bank", "city", "address", "postCode", "createdAt", "updatedAt"),
    *("recipientType", "organizationId", "reference"),
}
BANK_FIELDS = {
    *("_id", "accountName", "currency", "country", "bankName", "accountNumber", "paymentCode", "achNumber"),
    *("fedwireNumber", "ibanNumber", "accountType", "ifsc"),
}
OPTIONAL = ("recipientType", "organizationId", "reference")
OPTIONAL_OF_BANK = sorted(BANK_FIELDS - {"_id", "accountName"})

#: One that reads as a number, and one that would lose its zeros.
each_number = pytest.mark.parametrize("number", ["4000123412", "007"])


def everything(number: str) -> dict[str, Any]:
    """All that a recipient can be made with."""
    details = {name: f"{name} 1" for name in ("bankName", "paymentCode", "achNumber", "fedwireNumber", "ibanNumber")}
    account = bank(**details, ifsc="SAND0001", accountType="Savings", accountNumber=number)
    return {"recipientType": "Business", "organizationId": "org-7", "reference": "free text", "bank": account}


def expect_every_field(recipient: dict[str, Any]) -> None:
    assert set(recipient) == FIELDS
    assert [set(account) for account in recipient["bank"]] == [BANK_FIELDS]


@pytest.mark.rule("A recipient is read with these fields, its bank account in an array.")
@each_number
def test_a_recipient_is_answered_and_read_with_every_field(merchant: Merchant, number: str) -> None:
    made = creates(merchant, **everything(number)).data
    expect_every_field(made)
    assert reads(merchant, made["id"]).data == made


@pytest.mark.rule("Recipients are listed in pages, each as it is read.")
@each_number
def test_a_listed_recipient_is_the_one_that_is_read(merchant: Merchant, number: str) -> None:
    made = adds(merchant, name="Somebody Rare", **everything(number))
    (listed,) = merchant.calls("GET", "/v1/recipient?search=somebody%20rare").data["docs"]
    assert listed == reads(merchant, made).data
    expect_every_field(listed)


def _changes(merchant: Merchant, recipient_id: str) -> Answer:
    return changes(merchant, recipient_id)


def _deletes_by_query(merchant: Merchant, recipient_id: str) -> Answer:
    return merchant.calls("DELETE", f"/v1/recipient?id={recipient_id}")


@pytest.mark.rule("An update answers the recipient.")
@each_number
@pytest.mark.parametrize("call", [_changes, deletes, _deletes_by_query])
def test_updating_and_deleting_answer_every_field(
    merchant: Merchant, call: Callable[[Merchant, str], Answer], number: str
) -> None:
    made = creates(merchant, **everything(number)).data
    answered = call(merchant, made["id"]).data
    expect_every_field(answered)
    assert answered | {"updatedAt": made["updatedAt"]} == made


@pytest.mark.parametrize(
    "fields",
    [*({name: 5} for name in OPTIONAL), *({"bank": bank(**{name: 5})} for name in OPTIONAL_OF_BANK)],
    ids=[*OPTIONAL, *OPTIONAL_OF_BANK],
)
def test_an_update_refuses_what_creating_refuses(merchant: Merchant, fields: dict[str, Any]) -> None:
    refused = changes(merchant, START[0], **fields)
    assert (refused.code, refused.message) == (400, creates(merchant, **fields).message)

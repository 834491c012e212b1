"""`/v1/recipient`: every field, the fields that can change, search and filters, and the start state."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.sandbox.actors import Answer, Merchant, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.recipients.payees import adds, bank, changes, creates, deletes, found, reads

pytestmark = pytest.mark.on_each_database

TEXTS_OF_BANK = ("bankName", "paymentCode", "achNumber", "fedwireNumber", "ibanNumber", "ifsc")
OWN = {"recipientType": "Business", "organizationId": "org-7", "reference": "free text"}


def deletes_by_query(merchant: Merchant, recipient_id: str) -> Answer:
    return merchant.calls("DELETE", f"/v1/recipient?id={recipient_id}")


@pytest.mark.parametrize("delete", [deletes, deletes_by_query])
def test_every_operation_answers_every_field(merchant: Merchant, delete: Any) -> None:
    fields = bank(**{name: f"{name} 1" for name in TEXTS_OF_BANK}, accountType="Savings", accountNumber="007")
    recipient = creates(merchant, name="Somebody Rare", bank=fields, **OWN).data
    assert {name: recipient[name] for name in OWN} == OWN
    (account,) = recipient["bank"]
    assert account == fields | {"_id": account["_id"]}
    assert reads(merchant, recipient["id"]).data == recipient
    assert merchant.calls("GET", "/v1/recipient?search=somebody%20rare").data["docs"] == [recipient]
    changed = changes(merchant, recipient["id"], name="Somebody Rare").data
    assert changed | {"updatedAt": recipient["updatedAt"]} == recipient
    deleted = delete(merchant, recipient["id"])
    assert (deleted.code, deleted.data) == (200, changed)
    assert reads(merchant, recipient["id"]).code == delete(merchant, recipient["id"]).code == 404


@pytest.mark.parametrize(
    ("number", "written"),
    [("4000123412", 4000123412), ("12 34", "12 34"), ("٣", "٣"), ("0", "0")],
)
def test_an_account_number_is_answered_as_a_number_where_nothing_is_lost(
    merchant: Merchant, number: str, written: object
) -> None:
    assert creates(merchant, bank=bank(accountNumber=number)).data["bank"][0]["accountNumber"] == written


OTHERS = {
    **{"name": "Somebody Else", "email": "else@example.com", "address": "7 Other Road", "city": "Bonn"},
    **{"postCode": "53111", "recipientType": "Business", "organizationId": "org-8", "reference": "r"},
}


def test_a_patch_changes_the_name_and_leaves_everything_else_as_it_is(merchant: Merchant, tester: Tester) -> None:
    recipient = creates(merchant).data
    assert (recipient["userId"], recipient["organizationId"]) == (
        "5a6d00000000000000000001",
        "5a6d00000000000000000002",
    )
    tester.advances(minutes=1)
    changed = changes(merchant, recipient["id"], **OTHERS, bank=bank(accountName="Other", ibanNumber="X")).data
    assert changed["name"] == OTHERS["name"]
    assert changed["updatedAt"] > recipient["updatedAt"]
    assert changed | {"name": recipient["name"], "updatedAt": recipient["updatedAt"]} == recipient
    assert reads(merchant, recipient["id"]).data == changed


def test_unknown_recipient_changes_applied(make_sandbox: MakeSandbox) -> None:
    merchant = Merchant(make_sandbox(recipient_changes="applied"))
    recipient = creates(merchant).data
    details = dict.fromkeys(("accountName", "accountNumber", *TEXTS_OF_BANK), "Other")
    details |= {"country": "France", "currency": "USD", "accountType": "Savings"}
    changed = changes(merchant, recipient["id"], bank=details, **OTHERS).data
    assert {name: changed[name] for name in OTHERS} == OTHERS
    assert changed["bank"][0] == recipient["bank"][0] | details
    assert merchant.calls("GET", "/v1/recipient?search=ELSE%40").data["totalDocs"] == 1


def test_unknown_recipient_changes_refused(make_sandbox: MakeSandbox) -> None:
    merchant = Merchant(make_sandbox(recipient_changes="refused"))
    recipient = creates(merchant).data
    wrong: dict[str, Any] = {"city": {"city": "Bonn"}, "bank.ibanNumber": {"bank": bank(ibanNumber="X")}}
    for named, fields in wrong.items():
        assert changes(merchant, recipient["id"], name="New", **fields).message.startswith(f"{named} cannot be changed")
    assert reads(merchant, recipient["id"]).data == recipient


def test_an_unknown_recipient_is_not_found(merchant: Merchant) -> None:
    for call in (reads, changes, deletes, deletes_by_query):
        refused = call(merchant, "5a6d00000000000000000999")
        assert (refused.code, refused.message) == (404, "Recipient not found")


def test_search_looks_into_name_and_email(merchant: Merchant) -> None:
    for search in ("Ada", "ADA EX", "example.com"):
        assert found(merchant, f"search={quote(search)}") == ["Ada Example"]
    assert found(merchant, "search=accounts%40brunel") == ["Brunel Works Ltd"]
    for name in ("Émilie Exemple", "砂場商事株式会社"):
        assert (
            found(merchant, f"search={quote(name)}") == found(merchant, f"search={quote(name[:2].lower())}") == [name]
        )
    # Wildcards have no meaning, and the city is not searched.
    assert [name for search in ("%", "a_a", "Bristol") for name in found(merchant, f"search={quote(search)}")] == []


def test_country_and_currency_filter_by_the_bank_and_together_with_a_search(merchant: Merchant) -> None:
    adds(merchant, name="Ada Second", bank=bank(currency="USD", country="Ecuador"))
    assert found(merchant, "country=France") == ["Émilie Exemple"]
    assert found(merchant, "country=Atlantis") == found(merchant, "currency=CHF") == []
    assert found(merchant, "currency=JPY") == ["砂場商事株式会社"]
    assert found(merchant, "search=ada&currency=USD") == ["Ada Example", "Ada Second"]
    assert found(merchant, "search=ada&currency=USD&country=Ecuador") == ["Ada Second"]

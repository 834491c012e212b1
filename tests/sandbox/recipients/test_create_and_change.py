"""`POST`, `PATCH` and `DELETE`: each field rule, and what a change may change."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.recipients.payees import START, adds, bank, changes, creates, deletes, reads

pytestmark = pytest.mark.each_database

OPTIONAL = ["organizationId", "reference"]
OPTIONAL_OF_BANK = ["bankName", "accountNumber", "paymentCode", "achNumber", "fedwireNumber", "ibanNumber", "ifsc"]
NO_TEXT = [None, "", "  ", 5, ["x"], "a\nb", "x" * 300]


def test_every_field_that_is_sent_is_answered(merchant: Merchant) -> None:
    given = bank(**{name: f"{name} 1" for name in OPTIONAL_OF_BANK}, accountType="Savings")
    own = {"recipientType": "Business", "organizationId": "org-7", "reference": "free text"}
    made = creates(merchant, bank=given, **own).data
    assert {name: made[name] for name in own} == own
    assert {name: value for name, value in made["bank"][0].items() if name != "_id"} == given


@pytest.mark.rule("An update sends name, e-mail address, address, city and post code again; none of them may be empty.")
@pytest.mark.rule("Name, e-mail address, address, city and post code are required.")
@pytest.mark.parametrize("call", [creates, lambda merchant, **fields: changes(merchant, START[0], **fields)])
def test_name_email_address_city_and_post_code_are_required(merchant: Merchant, call: Any) -> None:
    wrong = [(field, value) for field in ("name", "email", "address", "city", "postCode") for value in (..., 5)]
    for field, value in [*wrong, *(("name", value) for value in NO_TEXT)]:
        refused = call(merchant, **{field: value})
        assert (refused.code, refused.body["error"]) == (400, "Bad Request")
        assert refused.message.startswith(f"{field} "), value


@pytest.mark.parametrize("field", ["accountName", "currency", "country"])
def test_account_name_currency_and_country_of_the_bank_are_required(merchant: Merchant, field: str) -> None:
    for value in (..., 5, ""):
        refused = creates(merchant, bank=bank(**{field: value}))
        assert refused.code == 400
        assert refused.message.startswith(f"bank.{field} "), value


@pytest.mark.rule("Of the bank an update has to send the account's name only.")
@pytest.mark.rule("One bank object is sent, which names account, currency and country.")
@pytest.mark.parametrize("value", [..., None, "x", [bank()], 5], ids=repr)
def test_the_bank_is_a_required_object(merchant: Merchant, value: Any) -> None:
    assert creates(merchant, bank=value).message.startswith("bank ")
    assert changes(merchant, START[0], bank=value).message.startswith("bank ")


@pytest.mark.rule("Organization and a free reference may be told.")
@pytest.mark.parametrize("field", OPTIONAL)
def test_organization_and_reference_are_optional_strings(merchant: Merchant, field: str) -> None:
    assert creates(merchant, **{field: None}).code == 200
    assert creates(merchant, **{field: 5}).message.startswith(f"{field} ")


@pytest.mark.rule("The other details of the bank may be told, ifsc among them.")
@pytest.mark.parametrize("field", OPTIONAL_OF_BANK)
def test_the_other_bank_details_are_optional_strings(merchant: Merchant, field: str) -> None:
    assert creates(merchant, bank=bank(**{field: None})).code == 200
    assert creates(merchant, bank=bank(**{field: 5})).message.startswith(f"bank.{field} ")


@pytest.mark.rule("A recipient may be called an individual or a business.")
@pytest.mark.parametrize(("value", "code"), [("Individual", 200), ("Business", 200), (None, 200)], ids=repr)
def test_recipient_type_is_individual_or_business(merchant: Merchant, value: Any, code: int) -> None:
    made = creates(merchant, recipientType=value)
    assert (made.code, made.data.get("recipientType")) == (code, value)


@pytest.mark.rule("The account may be for checking or for savings.")
@pytest.mark.parametrize("value", ["Checking", "Savings"])
def test_account_type_is_checking_or_savings(merchant: Merchant, value: str) -> None:
    assert creates(merchant, bank=bank(accountType=value)).data["bank"][0]["accountType"] == value


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"email": "nobody"}, "email must be an e-mail address"),
        ({"recipientType": "individual"}, "recipientType must be one of"),
        ({"bank": bank(accountType="checking")}, "bank.accountType must be one of"),
        ({"bank": bank(currency="eur")}, "bank.currency must be a currency code"),
        ({"bank": bank(currency="usdc-polygon")}, "bank.currency must be a currency code"),
    ],
)
def test_a_word_of_another_kind_is_refused(merchant: Merchant, fields: dict[str, Any], told: str) -> None:
    assert creates(merchant, **fields).message.startswith(told)


def test_unknown_email_format_any_takes_any_text(make_sandbox: MakeSandbox) -> None:
    assert creates(Merchant(make_sandbox(email_format="any")), email="nobody").code == 200


@pytest.mark.rule("A recipient belongs to the caller's user and organization.")
def test_a_recipient_belongs_to_the_callers_user_and_organization(merchant: Merchant) -> None:
    made = creates(merchant).data
    assert (made["userId"], made["organizationId"]) == ("5a6d00000000000000000001", "5a6d00000000000000000002")


@pytest.mark.rule("An account number is sent as a text, and answered as a number where it is one.")
@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("4000123412", 4000123412),
        ("007", "007"),
        ("DE12", "DE12"),
        ("12 34", "12 34"),
        ("٣", "٣"),
        ("0", "0"),
        ("9" * 34, int("9" * 34)),
    ],
)
def test_an_account_number_is_answered_as_a_number_where_nothing_is_lost(
    merchant: Merchant, number: str, written: object
) -> None:
    assert creates(merchant, bank=bank(accountNumber=number)).data["bank"][0]["accountNumber"] == written


def test_unknown_account_number_type_string(make_sandbox: MakeSandbox) -> None:
    made = creates(Merchant(make_sandbox(account_number_type="string")), bank=bank(accountNumber="4000123412")).data
    assert made["bank"][0]["accountNumber"] == "4000123412"


def test_unknown_bank_ifsc_hidden(make_sandbox: MakeSandbox) -> None:
    made = creates(Merchant(make_sandbox(bank_ifsc="hidden")), bank=bank(ifsc="SAND0001")).data
    assert "ifsc" not in made["bank"][0]


def test_unknown_absent_fields_null(make_sandbox: MakeSandbox) -> None:
    made = creates(Merchant(make_sandbox(absent_fields="null"))).data
    assert made["recipientType"] is None
    assert made["bank"][0]["ibanNumber"] is None


@pytest.mark.rule("Which success number creating a recipient has is open.")
def test_unknown_recipient_status_code(make_sandbox: MakeSandbox) -> None:
    answer = creates(Merchant(make_sandbox(recipient_status_code="201")))
    assert (answer.http_status, answer.code) == (201, 201)


@pytest.mark.rule("An update changes the name, and at present nothing else.")
def test_a_patch_changes_the_name(merchant: Merchant, tester: Tester) -> None:
    made = creates(merchant).data
    tester.advances(minutes=1)
    changed = changes(merchant, made["id"], name="Grace B. Exemplar").data
    assert changed["name"] == "Grace B. Exemplar"
    assert changed["updatedAt"] > made["updatedAt"]
    assert changed | {"name": made["name"], "updatedAt": made["updatedAt"]} == made
    assert reads(merchant, made["id"]).data == changed


OTHERS = {
    **{"name": "Somebody Else", "email": "else@example.com", "address": "7 Other Road", "city": "Bonn"},
    **{"postCode": "53111", "recipientType": "Business", "organizationId": "org-8", "reference": "r"},
}


def test_a_patch_leaves_everything_but_the_name_as_it_is(merchant: Merchant) -> None:
    made = creates(merchant).data
    changed = changes(merchant, made["id"], bank=bank(accountName="Other", ibanNumber="X", country="France"), **OTHERS)
    assert changed.code == 200
    assert changed.data | {"name": made["name"], "updatedAt": made["updatedAt"]} == made


def test_a_patch_needs_no_more_of_the_bank_than_the_account_name(merchant: Merchant) -> None:
    assert changes(merchant, START[0], bank={"accountName": "Ada Example"}).code == 200
    refused = changes(merchant, START[0], bank={"currency": "USD"})
    assert refused.message == "bank.accountName is required."


@pytest.mark.rule("Everything else may be sent in an update, as when creating.")
def test_unknown_recipient_changes_applied(make_sandbox: MakeSandbox) -> None:
    merchant = Merchant(make_sandbox(recipient_changes="applied"))
    made = creates(merchant).data
    details = dict.fromkeys(("accountName", *OPTIONAL_OF_BANK), "Other") | {"country": "France", "currency": "USD"}
    details["accountType"] = "Savings"
    changed = changes(merchant, made["id"], bank=details, **OTHERS).data
    assert {name: changed[name] for name in OTHERS} == OTHERS
    assert changed["bank"][0] == made["bank"][0] | details
    assert merchant.calls("GET", "/v1/recipient?search=ELSE%40").data["totalDocs"] == 1


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"city": "Bonn"}, "city"),
        ({"postCode": "53111"}, "postCode"),
        ({"reference": "new"}, "reference"),
        ({"bank": bank(accountName="Other")}, "bank.accountName"),
        ({"bank": bank(ibanNumber="X")}, "bank.ibanNumber"),
    ],
    ids=str,
)
def test_unknown_recipient_changes_refused(make_sandbox: MakeSandbox, fields: dict[str, Any], named: str) -> None:
    merchant = Merchant(make_sandbox(recipient_changes="refused"))
    made = creates(merchant).data
    refused = changes(merchant, made["id"], name="New", **fields)
    assert refused.code == 400
    assert refused.message.startswith(f"{named} cannot be changed")
    assert reads(merchant, made["id"]).data == made
    assert changes(merchant, made["id"], name="New").data["name"] == "New"


@pytest.mark.rule("Deleting answers the recipient a last time, and it is gone.")
def test_a_deleted_recipient_is_answered_a_last_time_and_gone(merchant: Merchant) -> None:
    made = creates(merchant).data
    deleted = deletes(merchant, made["id"])
    assert (deleted.code, deleted.data) == (200, made)
    assert reads(merchant, made["id"]).code == 404
    assert deletes(merchant, made["id"]).code == 404


@pytest.mark.rule("The id may stand in the query when deleting.")
def test_the_query_form_deletes_too(merchant: Merchant) -> None:
    made = creates(merchant).data
    assert merchant.calls("DELETE", f"/v1/recipient?id={made['id']}").data == made
    assert reads(merchant, made["id"]).code == 404
    assert merchant.calls("DELETE", "/v1/recipient").message == "id is required."


@pytest.mark.parametrize("call", [reads, changes, deletes])
def test_an_unknown_recipient_is_not_found(merchant: Merchant, call: Any) -> None:
    refused = call(merchant, "5a6d00000000000000000999")
    assert (refused.code, refused.body["error"], refused.message) == (404, "Not Found", "Recipient not found")


def test_unknown_recipient_not_found(make_sandbox: MakeSandbox) -> None:
    assert reads(Merchant(make_sandbox(recipient_not_found="400")), "nothing").code == 400


def test_another_accounts_recipients_are_not_there(sandbox: Flask, merchant: Merchant) -> None:
    from flask_paycheckout.sandbox.auth.rules import add_account
    from flask_paycheckout.sandbox.world.database import transaction

    with sandbox.app_context(), transaction() as session:
        account = add_account(session)
        other = Merchant(sandbox, account.client_secret, account.client_id)
    mine, theirs = adds(merchant), adds(other)
    assert other.calls("GET", "/v1/recipient").data["totalDocs"] == 1
    for code in (
        reads(other, mine).code,
        changes(other, mine).code,
        deletes(other, mine).code,
        reads(merchant, theirs).code,
    ):
        assert code == 404

"""Rules of creating fiat disbursements, in both versions, and of the sandbox's update."""

from __future__ import annotations

from tests.rules.fiat_disbursements import ACTIVITIES, MONEY, PAID, READ
from tests.rules.rule import Lines, Rule, answered, tests_of, under

V1, V2 = "POST /v1/disbursement/fiat", "POST /v2/disbursement/fiat"
UPDATE = "PATCH /v1/disbursement/{disbursementId}"

_v1 = tests_of("sandbox/fiat_disbursements/test_creating_v1.py")
_v2 = tests_of("sandbox/fiat_disbursements/test_creating.py")
_records = tests_of("sandbox/fiat_disbursements/test_schemas.py")
_update = tests_of("sandbox/disbursements/test_update.py")
_references = tests_of("sandbox/disbursements/test_references.py")
_amounts = tests_of("sandbox/disbursements/test_amounts.py")
_client = tests_of("client/test_fiat_disbursements.py")

_ITEM_V1: Lines = (*MONEY, *PAID, "note?: string")
_ITEM_V2: Lines = (*MONEY, *PAID, *ACTIVITIES, "groupId: string")
_SUMS_V1: Lines = (
    "sumFees: array",
    "sumFees[].currency: string",
    "sumFees[].totalAmount: number",
    "sumAmount: array",
    "sumAmount[].currency: string",
    "sumAmount[].totalAmount: number",
)
_CREATED_V1 = answered("totalRecipient: integer", "disburseData: array", *under("disburseData[].", _ITEM_V1), *_SUMS_V1)
_CREATED_V2 = answered(
    *("totalRecipient: integer", "sumFees: number", "sumAmount: number"),
    *("disburseData: array", *under("disburseData[].", _ITEM_V2)),
)
_LATER = ("statusCode: 201",)

RULES = (
    Rule(
        id="fiat.v1.items",
        says="The first version takes a list of items, each with a currency, a saved recipient and an amount.",
        on=(V1,),
        takes=(
            "disburseData: array",
            "disburseData[].currency: string",
            "disburseData[].recipientId: string",
            "disburseData[].amount: number",
        ),
        shown_by=(
            *_v1("test_a_wrong_item_is_refused_and_nothing_is_made", "test_the_answer_sums_up_each_currency"),
            *_records("test_the_list_of_items_is_required_and_not_empty"),
        ),
    ),
    Rule(
        id="fiat.v1.reference-and-note",
        says="An item may carry a reference and a note.",
        on=(V1,),
        takes=("disburseData[].reference?: string", "disburseData[].note?: string"),
        shown_by=_v1("test_an_item_shows_reference_and_note_and_no_group", "test_the_answer_sums_up_each_currency"),
    ),
    Rule(
        id="fiat.v1.no-payment-method",
        says="No item names a payment method: the recipient's bank is enough.",
        on=(V1,),
        shown_by=_v1("test_the_answer_sums_up_each_currency"),
    ),
    Rule(
        id="fiat.v1.answer",
        says="The first version answers the items without group and history, and the sums of each currency.",
        on=(V1,),
        gives=_CREATED_V1,
        shown_by=_v1("test_the_answer_sums_up_each_currency", "test_an_item_shows_reference_and_note_and_no_group"),
        kept_by_client=_client("test_the_deprecated_create_sums_by_currency"),
    ),
    Rule(
        id="fiat.v1.sums",
        says="Each sum is that of the items in its currency.",
        on=(V1,),
        shown_by=_amounts("test_the_sums_of_the_first_version_by_currency"),
    ),
    Rule(
        id="fiat.v1.begins-pending",
        says="What the first version creates is pending, and so is its history.",
        on=(V1,),
        shown_by=_records("test_what_the_first_version_creates_begins_with_a_pending_history"),
    ),
    Rule(
        id="fiat.create.code",
        says="Which success number a create has is open.",
        on=(V1, V2),
        gives=_LATER,
        shown_by=_v2("test_unknown_disbursement_status_code"),
    ),
    Rule(
        id="fiat.v2.batch",
        says="The second version takes one currency for all items, and a list of them.",
        on=(V2,),
        takes=("currency: string", "disburseData: array", "disburseData[].amount: number"),
        shown_by=_v2(
            "test_a_wrong_body_is_refused_naming_the_field",
            "test_a_wrong_item_is_refused_naming_the_field",
            "test_the_answer_holds_the_batch",
        ),
    ),
    Rule(
        id="fiat.v2.one-recipient",
        says="Each item has a saved recipient or a given one, not both and not neither.",
        on=(V2,),
        takes=("disburseData[].recipientId?: string", "disburseData[].recipient?: object"),
        shown_by=_v2("test_a_wrong_item_is_refused_naming_the_field", "test_the_answer_holds_the_batch"),
        kept_by_client=_client("test_a_wrong_item_is_named_and_nothing_is_sent"),
    ),
    Rule(
        id="fiat.v2.saved-recipient",
        says="A saved recipient is one that exists, and is shown with its bank.",
        on=(V2,),
        shown_by=_v2("test_a_saved_recipient_is_shown_with_its_bank", "test_a_wrong_item_is_refused_naming_the_field"),
    ),
    Rule(
        id="fiat.v2.given-recipient",
        says="A given recipient may leave out name and e-mail address, but not the bank.",
        on=(V2,),
        takes=(
            "disburseData[].recipient.email?: string",
            "disburseData[].recipient.name?: string",
            "disburseData[].recipient.bank: object",
        ),
        shown_by=_v2(
            "test_a_given_recipient_shows_what_it_was_given_with",
            "test_the_answer_holds_the_batch",
            "test_a_wrong_item_is_refused_naming_the_field",
        ),
        kept_by_client=_client("test_a_recipient_who_was_named_in_the_disbursement_may_lack_fields"),
    ),
    Rule(
        id="fiat.v2.given-bank",
        says="The bank of a given recipient is told in full.",
        on=(V2,),
        takes=under(
            "disburseData[].recipient.bank.",
            ("bankName: string", "accountName: string", "accountNumber: string", "bankCode: string"),
        ),
        shown_by=_v2(
            "test_a_given_bank_needs_all_of_its_fields", "test_a_given_recipient_shows_what_it_was_given_with"
        ),
    ),
    Rule(
        id="fiat.v2.bank-code",
        says="A bank code is one of the list of payment methods.",
        on=(V2,),
        shown_by=_v2("test_the_bank_code_must_be_of_the_method_list_of_the_currency"),
    ),
    Rule(
        id="fiat.v2.reference-and-note",
        says="An item may carry a reference and a note here too.",
        on=(V2,),
        takes=("disburseData[].reference?: string", "disburseData[].note?: string"),
        shown_by=_v2("test_the_answer_holds_the_batch"),
    ),
    Rule(
        id="fiat.v2.answer",
        says="The second version answers the items with group and history, and one sum of each kind.",
        on=(V2,),
        gives=_CREATED_V2,
        shown_by=_v2("test_the_answer_holds_the_batch", "test_a_saved_recipient_is_shown_with_its_bank"),
    ),
    Rule(
        id="fiat.v2.sums",
        says="The sums are those of the items.",
        on=(V2,),
        shown_by=_amounts("test_the_sums_of_the_second_version"),
    ),
    Rule(
        id="fiat.v2.group",
        says="The items of one request share a group id, and no other request has it.",
        on=(V2,),
        shown_by=_v2("test_a_batch_shares_one_group_and_the_next_has_another"),
    ),
    Rule(
        id="fiat.v2.begins-pending",
        says="What the second version creates is pending; its history begins with the request and the recipient.",
        on=(V2,),
        shown_by=_v2("test_a_new_disbursement_is_pending_and_so_is_its_history"),
    ),
    Rule(
        id="disbursement.id",
        says="Every disbursement of every create has an id of its own.",
        on=(V1, V2, "POST /v1/disbursement/crypto"),
        shown_by=_records("test_every_disbursement_has_an_id_of_its_own"),
    ),
    Rule(
        id="disbursement.reference",
        says="A reference is used once in an account, by whichever create; any number of items may have none.",
        on=(V1, V2, "POST /v1/disbursement/crypto"),
        shown_by=_references(
            "test_a_reference_is_refused_a_second_time",
            "test_every_create_looks_at_the_references_of_all",
            "test_a_reference_twice_in_one_batch_is_refused",
            "test_any_number_of_items_may_be_without",
        ),
    ),
    Rule(
        id="disbursement.update.body",
        says="The sandbox's update sends a status, a text.",
        on=(UPDATE,),
        takes=("status: string",),
        shown_by=_update("test_a_pending_disbursement_takes_the_status_sent", "test_the_status_must_be_a_text"),
    ),
    Rule(
        id="disbursement.update.answer",
        says="An update answers number and message and no data.",
        on=(UPDATE,),
        gives=("statusCode: 200", "message: string"),
        shown_by=_update("test_a_pending_disbursement_takes_the_status_sent"),
        kept_by_client=_client("test_an_update_needs_no_data"),
    ),
    Rule(
        id="disbursement.update.move",
        says="A pending disbursement takes the status sent; completed and failed are among them.",
        on=(UPDATE,),
        shown_by=_update("test_a_pending_disbursement_takes_the_status_sent"),
    ),
    Rule(
        id="disbursement.update.kinds",
        says="Both kinds of disbursement are updated here, and each notes it in its own words.",
        on=(UPDATE,),
        shown_by=(
            *_update("test_each_update_sends_a_webhook"),
            *_records("test_an_update_is_noted_in_the_words_of_its_kind"),
        ),
    ),
    Rule(
        id="disbursement.moves.by-itself",
        says="How a disbursement leaves pending without an update is open; by default it stays.",
        on=(READ,),
        shown_by=_update("test_by_default_time_alone_moves_nothing", "test_unknown_disbursement_progress"),
    ),
)

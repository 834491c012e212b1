"""Rules of recipients."""

from __future__ import annotations

from tests.rules.rule import PAGE, SORT, Lines, Rule, answered, tests_of, under

LIST, READ = "GET /v1/recipient", "GET /v1/recipient/{id}"
CREATE, UPDATE = "POST /v1/recipient", "PATCH /v1/recipient/{id}"
DELETE, DELETE_BY_QUERY = "DELETE /v1/recipient/{id}", "DELETE /v1/recipient"

_changes = tests_of("sandbox/recipients/test_create_and_change.py")
_list = tests_of("sandbox/recipients/test_list.py")
_records = tests_of("sandbox/recipients/test_schemas.py")
_paging = tests_of("sandbox/wire/test_paging.py")
_client = tests_of("client/test_recipients.py")

_BANK: Lines = (
    "_id: string",
    "accountName: string",
    "currency: string",
    "country: string",
    "bankName?: string",
    "accountNumber?: integer | string",
    "paymentCode?: string",
    "achNumber?: string",
    "fedwireNumber?: string",
    "ibanNumber?: string",
    "accountType?: string",
    "ifsc?: string",
)
_RECORD: Lines = (
    "id: string",
    "name: string",
    "email: string",
    "userId: string",
    "bank: array",
    *under("bank[].", _BANK),
    "city: string",
    "address: string",
    "postCode: string",
    "createdAt: timestamp",
    "updatedAt: timestamp",
    "recipientType?: string",
    "organizationId?: string",
    "reference?: string",
)
_OPTIONAL_OF_BANK = under(
    "bank.",
    (
        "bankName?: string",
        "accountNumber?: string",
        "paymentCode?: string",
        "achNumber?: string",
        "fedwireNumber?: string",
        "ibanNumber?: string",
        "ifsc?: string",
    ),
)
_WHO: Lines = ("name: string", "email: string", "address: string", "city: string", "postCode: string")

RULES = (
    Rule(
        id="recipient.record",
        says="A recipient is read with these fields, its bank account in an array.",
        on=(READ, CREATE),
        gives=answered(*_RECORD),
        shown_by=_records("test_a_recipient_is_answered_and_read_with_every_field"),
        kept_by_client=_client("test_a_bank_goes_out_as_an_object_and_comes_back_in_a_list"),
    ),
    Rule(
        id="recipient.account-number",
        says="An account number is sent as a text, and answered as a number where it is one.",
        on=(CREATE,),
        shown_by=_changes(
            "test_an_account_number_is_answered_as_a_number_where_nothing_is_lost",
            "test_unknown_account_number_type_string",
        ),
        kept_by_client=_client("test_an_account_number_is_a_string_whatever_it_was"),
    ),
    Rule(
        id="recipient.belongs",
        says="A recipient belongs to the caller's user and organization.",
        on=(CREATE,),
        shown_by=_changes("test_a_recipient_belongs_to_the_callers_user_and_organization"),
    ),
    Rule(
        id="recipient.create.who",
        says="Name, e-mail address, address, city and post code are required.",
        on=(CREATE,),
        takes=_WHO,
        shown_by=_changes(
            "test_name_email_address_city_and_post_code_are_required",
            "test_a_created_recipient_is_answered_and_read_again",
        ),
    ),
    Rule(
        id="recipient.create.bank",
        says="One bank object is sent, which names account, currency and country.",
        on=(CREATE,),
        takes=("bank: object", "bank.accountName: string", "bank.currency: string", "bank.country: string"),
        shown_by=_changes(
            "test_the_bank_is_a_required_object",
            "test_account_name_currency_and_country_of_the_bank_are_required",
            "test_the_bank_is_sent_as_an_object_and_answered_as_an_array",
        ),
    ),
    Rule(
        id="recipient.create.type",
        says="A recipient may be called an individual or a business.",
        on=(CREATE,),
        takes=("recipientType?: Individual | Business",),
        shown_by=_changes("test_recipient_type_is_individual_or_business", "test_another_recipient_type_is_refused"),
    ),
    Rule(
        id="recipient.create.organization-and-reference",
        says="Organization and a free reference may be told.",
        on=(CREATE,),
        takes=("organizationId?: string", "reference?: string"),
        shown_by=_changes(
            "test_organization_and_reference_are_optional_strings", "test_every_field_that_is_sent_is_answered"
        ),
    ),
    Rule(
        id="recipient.create.bank-details",
        says="The other details of the bank may be told, ifsc among them.",
        on=(CREATE,),
        takes=_OPTIONAL_OF_BANK,
        shown_by=_changes(
            "test_the_other_bank_details_are_optional_strings", "test_every_field_that_is_sent_is_answered"
        ),
    ),
    Rule(
        id="recipient.create.account-type",
        says="The account may be for checking or for savings.",
        on=(CREATE,),
        takes=("bank.accountType?: Checking | Savings",),
        shown_by=_changes(
            "test_account_type_is_checking_or_savings",
            "test_another_account_type_is_refused",
            "test_a_created_recipient_is_answered_and_read_again",
        ),
    ),
    Rule(
        id="recipient.create.code",
        says="Which success number creating a recipient has is open.",
        on=(CREATE,),
        gives=("statusCode: 201",),
        shown_by=_changes("test_unknown_recipient_status_code"),
    ),
    Rule(
        id="recipient.update.who",
        says="An update sends name, e-mail address, address, city and post code again; none of them may be empty.",
        on=(UPDATE,),
        takes=_WHO,
        shown_by=_changes("test_name_email_address_city_and_post_code_are_required", "test_a_patch_changes_the_name"),
    ),
    Rule(
        id="recipient.update.bank",
        says="Of the bank an update has to send the account's name only.",
        on=(UPDATE,),
        takes=("bank: object", "bank.accountName: string", "bank.currency?: string", "bank.country?: string"),
        shown_by=_changes(
            "test_the_bank_is_a_required_object",
            "test_a_patch_needs_no_more_of_the_bank_than_the_account_name",
            "test_a_patch_leaves_everything_but_the_name_as_it_is",
        ),
        kept_by_client=_client("test_an_update_wants_a_bank_too"),
    ),
    Rule(
        id="recipient.update.optional",
        says="Everything else may be sent in an update, as when creating.",
        on=(UPDATE,),
        takes=(
            "recipientType?: Individual | Business",
            "organizationId?: string",
            "reference?: string",
            "bank.accountType?: Checking | Savings",
            *_OPTIONAL_OF_BANK,
        ),
        shown_by=_records(
            "test_an_update_may_send_each_optional_field", "test_an_update_refuses_what_creating_refuses"
        ),
    ),
    Rule(
        id="recipient.update.name-only",
        says="An update changes the name, and at present nothing else.",
        on=(UPDATE,),
        shown_by=_changes("test_a_patch_changes_the_name", "test_a_patch_leaves_everything_but_the_name_as_it_is"),
    ),
    Rule(
        id="recipient.update.answer",
        says="An update answers the recipient.",
        on=(UPDATE,),
        gives=answered(*_RECORD),
        shown_by=_records("test_updating_and_deleting_answer_every_field"),
    ),
    Rule(
        id="recipient.delete",
        says="Deleting answers the recipient a last time, and it is gone.",
        on=(DELETE,),
        gives=answered(*_RECORD),
        shown_by=(
            *_changes("test_a_deleted_recipient_is_answered_a_last_time_and_gone"),
            *_records("test_updating_and_deleting_answer_every_field"),
        ),
    ),
    Rule(
        id="recipient.delete.by-query",
        says="The id may stand in the query when deleting.",
        on=(DELETE_BY_QUERY,),
        asks=("id: string",),
        gives=answered(*_RECORD),
        shown_by=(
            *_changes("test_the_query_form_deletes_too"),
            *_records("test_updating_and_deleting_answer_every_field"),
        ),
    ),
    Rule(
        id="recipient.list",
        says="Recipients are listed in pages, each as it is read.",
        on=(LIST,),
        gives=answered(*PAGE, *under("docs[].", _RECORD)),
        shown_by=(
            *_records("test_a_listed_recipient_is_the_one_that_is_read"),
            *_paging("test_a_middle_page_has_both_neighbours", "test_ten_items_are_the_default_page"),
            *_paging("test_the_last_page_holds_the_rest"),
        ),
    ),
    Rule(
        id="recipient.list.limit-and-page",
        says="Ten recipients a page, unless limit and page say otherwise.",
        on=(LIST,),
        asks=("limit?: integer = 10", "page?: integer = 1"),
        shown_by=_paging("test_ten_items_are_the_default_page", "test_a_middle_page_has_both_neighbours"),
    ),
    Rule(
        id="recipient.list.sort",
        says="Recipients are sorted by creation or by change, in either direction, by creation unless told.",
        on=(LIST,),
        asks=(SORT,),
        shown_by=_paging(
            "test_the_default_order_is_by_creation",
            "test_a_leading_minus_reverses_the_order",
            "test_updated_at_sorts_by_the_last_change",
            "test_ten_items_are_the_default_page",
        ),
    ),
    Rule(
        id="recipient.list.search",
        says="A search looks into names and e-mail addresses.",
        on=(LIST,),
        asks=("search?: string",),
        shown_by=_list("test_search_looks_into_name_and_email", "test_a_few_recipients_exist_from_the_start"),
    ),
    Rule(
        id="recipient.list.bank",
        says="Country and currency filter by the bank account.",
        on=(LIST,),
        asks=("country?: string", "currency?: string"),
        shown_by=_list(
            "test_country_filters_by_the_banks_country",
            "test_currency_filters_by_the_banks_currency",
            "test_filters_are_combined",
        ),
    ),
)

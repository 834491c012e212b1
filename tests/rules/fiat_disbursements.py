"""Rules of reading fiat disbursements, of the banks that can be paid, and of transfer proofs."""

from __future__ import annotations

from tests.rules.rule import PAGE, SORT, Lines, Rule, answered, tests_of, under

LIST, READ = "GET /v1/disbursement/fiat", "GET /v1/disbursement/fiat/{disbursementId}"
METHODS = "GET /v1/disbursement/fiat/payment-method"
REPORT = "GET /v1/disbursement/fiat/{disbursementId}/report"

_reading = tests_of("sandbox/fiat_disbursements/test_reading.py")
_methods = tests_of("sandbox/fiat_disbursements/test_methods.py")
_report = tests_of("sandbox/transfer_proofs/test_endpoints.py")
_records = tests_of("sandbox/fiat_disbursements/test_schemas.py")
_client = tests_of("client/test_fiat_disbursements.py")

ACTIVITIES: Lines = (
    "activityHistory: array",
    "activityHistory[].activity: string",
    "activityHistory[].status: string",
    "activityHistory[].description: string",
    "activityHistory[].updatedAt: timestamp",
)
PAID: Lines = (
    "recipient: object",
    "recipient.recipientId?: string",
    "recipient.email?: string",
    "recipient.name?: string",
    "recipient.bank: object",
    "recipient.bank.bankName: string",
    "recipient.bank.accountName: string",
    "recipient.bank.accountNumber?: string",
    "recipient.bank.bankCode: string",
    "recipient.bank.currency: string",
    "recipient.bank.country?: string",
)
MONEY: Lines = (
    "disbursementId: string",
    "amount: number",
    "currency: string",
    "feeAmount: number",
    "feePercentage: number",
    "status: string",
    "reference?: string",
)
_RECORD: Lines = (
    *MONEY,
    *PAID,
    *ACTIVITIES,
    "groupId?: string",
    "createdBy: string",
    "note?: string",
    "createdAt: timestamp",
    "updatedAt: timestamp",
)
_METHOD: Lines = (
    "currency: string",
    "bankCode: string",
    "bankName: string",
    "minAmount: number",
    "maxAmount: number",
    "feeFlat: number",
    "feePercentage: number",
)

RULES = (
    Rule(
        id="fiat.record",
        says="A fiat disbursement is read with all of these fields.",
        on=(READ,),
        gives=answered(*_RECORD),
        shown_by=_reading("test_a_record_holds_every_field"),
        kept_by_client=_client("test_a_disbursement_is_read_the_same_everywhere"),
    ),
    Rule(
        id="fiat.record.created-by",
        says="createdBy is the user who created it.",
        on=(READ,),
        shown_by=_records("test_a_disbursement_names_the_user_who_created_it"),
    ),
    Rule(
        id="fiat.record.times",
        says="updatedAt is the time of the last change, of the record as of each entry of its history.",
        on=(READ,),
        shown_by=tests_of("sandbox/disbursements/test_update.py")("test_a_pending_disbursement_takes_the_status_sent"),
    ),
    Rule(
        id="fiat.list.paged",
        says="The list holds the records that are read one by one, in the envelope of pages.",
        on=(LIST,),
        gives=("statusCode: 200", "message: string", *under("data.", (*PAGE, *under("docs[].", _RECORD)))),
        shown_by=_records("test_a_listed_disbursement_is_the_one_that_is_read"),
    ),
    Rule(
        id="fiat.list.plain",
        says="Whether the list is paged is open; a plain array holds the same records.",
        on=(LIST,),
        gives=("data: array | object", *under("data[].", _RECORD)),
        shown_by=_records(
            "test_unknown_fiat_list_array_holds_the_same_records", "test_a_listed_disbursement_is_the_one_that_is_read"
        ),
        kept_by_client=tests_of("client/test_paging.py")("test_paged_or_plain_reads_the_same_records"),
    ),
    Rule(
        id="fiat.list.limit-and-page",
        says="Ten a page unless limit says otherwise, the first page unless page does.",
        on=(LIST,),
        asks=("limit?: integer = 10", "page?: integer = 1"),
        shown_by=_reading(
            "test_ten_records_a_page_by_default_in_the_order_of_their_making",
            "test_items_of_one_batch_keep_their_order_over_pages",
        ),
    ),
    Rule(
        id="fiat.list.sort",
        says="Sorted by creation unless sort says otherwise; a minus turns the order around.",
        on=(LIST,),
        asks=(SORT,),
        shown_by=_reading(
            "test_the_order_turns_around_with_a_minus",
            "test_sorting_by_the_last_change",
            "test_ten_records_a_page_by_default_in_the_order_of_their_making",
        ),
    ),
    Rule(
        id="fiat.list.filters",
        says="The list is narrowed by id, by status and by currency, and by all that are given together.",
        on=(LIST,),
        asks=("disbursementId?: string", "currency?: string"),
        shown_by=_reading("test_filters_by_id_status_and_currency_all_hold"),
    ),
    Rule(
        id="fiat.list.status",
        says="The status to filter by is pending, failed or completed; others are refused.",
        on=(LIST,),
        asks=("status?: pending | failed | completed",),
        shown_by=_reading(
            "test_filters_by_id_status_and_currency_all_hold", "test_a_wrong_query_is_refused_naming_the_parameter"
        ),
    ),
    Rule(
        id="fiat.methods.record",
        says="A bank that can be paid has a code in lower-case words, limits and fees.",
        on=(METHODS,),
        gives=answered(data="array") + under("data[].", _METHOD),
        shown_by=_methods(
            "test_every_method_has_limits_and_fees", "test_bank_codes_are_lowercase_snake_case_and_unique"
        ),
        kept_by_client=_client("test_payment_methods_have_limits_and_fees"),
    ),
    Rule(
        id="fiat.methods.currency",
        says="All banks are listed, or those of one currency.",
        on=(METHODS,),
        asks=("currency?: string",),
        shown_by=_methods("test_the_currency_filters", "test_every_method_has_limits_and_fees"),
    ),
    Rule(
        id="fiat.report.document",
        says="The proof of a completed disbursement is a PDF, attached under a name that holds the id.",
        on=(REPORT,),
        gives=("body: application/pdf",),
        shown_by=_report("test_it_is_a_pdf_attachment_named_after_the_disbursement"),
        kept_by_client=_client("test_the_report_is_the_pdf"),
    ),
    Rule(
        id="fiat.report.completed-only",
        says="Only a completed disbursement has a proof.",
        on=(REPORT,),
        shown_by=_report("test_unknown_report_of_unfinished", "test_it_says_who_got_what_and_when"),
    ),
)

"""Rules of payments and their quotes, all deprecated."""

from __future__ import annotations

from tests.rules.rule import PAGE, SORT, Lines, Rule, answered, tests_of, under

QUOTE, CREATE, READ = "GET /v2/payment/quote", "POST /v2/payment", "GET /v2/payment/detail/{paymentId}"
#: The heading's path and the sample's.
LISTS = ("GET /v2/payments", "GET /v2/payment")

_quotes = tests_of("sandbox/payments/test_quotes.py")
_creating = tests_of("sandbox/payments/test_creating.py")
_listing = tests_of("sandbox/payments/test_listing.py")
_records = tests_of("sandbox/payments/test_schemas.py")
_client = tests_of("client/test_references.py")

_QUOTE: Lines = (
    "status: boolean",
    "coin: string",
    "currency: string",
    "amount: number",
    "rate_amount: number",
    "amount_in_currency: number",
    "total_fee_percentage: number",
    "total_fee_amount: number",
    "total_fee_amount_in_currency: number",
    "total_received_amount: number",
    "total_received_amount_in_currency: number",
    "payout_wallet: string",
)
_PAYMENT: Lines = (
    "id: string",
    "paymentId: string",
    "paymentType: string",
    "sender: object",
    "sender.id: string",
    "sender.name: string",
    "sender.email: string",
    "sender.walletAddress: string",
    "receiver: object",
    "receiver.id: string",
    "receiver.name: string",
    "receiver.email: string",
    "receiver.accountNumber?: string",
    "inputAmount: number",
    "inputAmountExact: number",
    "inputCurrency: string",
    "outputCurrency: string",
    "outputAmount: number",
    "outputAmountExact: number",
    "exchangeFees: number",
    "platformFees: number",
    "reason?: string",
    "description?: string",
    "status: string",
    "organizationId: string",
    "organizationName: string",
    "blockchain: string",
    "payOutWallet: string",
    "expiredDate: timestamp",
    "createdAt: timestamp",
    "updatedAt: timestamp",
)
_LISTED: Lines = (*_PAYMENT, "receiver.bankName?: string")
_DETAIL: Lines = (
    *_PAYMENT,
    "receiver.ifsc?: string",
    "receiver.achNumber?: string",
    "receiver.fedwireNumber?: string",
    "receiver.ibanNumber?: string",
    "transactionHash?: string",
    "activityHistory: array",
    "activityHistory[].activity: string",
    "activityHistory[].status: string",
    "activityHistory[].description: string",
    "activityHistory[]._id: string",
    "activityHistory[].updatedAt: timestamp",
)

RULES = (
    Rule(
        id="payment.quote.query",
        says="A quote is asked for with an amount, the token that comes in and the currency that goes out.",
        on=(QUOTE,),
        asks=("amount: number", "inputCurrency: string", "outputCurrency: string"),
        shown_by=_records("test_a_quote_needs_amount_and_both_currencies"),
    ),
    Rule(
        id="payment.quote.with-limit",
        says="withLimit asks with the client's id alone and looks at the daily limit; a quote without it is pure.",
        on=(QUOTE,),
        asks=("withLimit?: boolean",),
        shown_by=_quotes(
            "test_a_signed_caller_may_ask_in_every_way",
            "test_with_limit_the_client_id_alone_is_enough",
            "test_without_limit_the_client_id_alone_is_not_enough",
            "test_with_limit_the_status_says_whether_the_day_has_room",
            "test_a_pure_quote_does_not_look_at_the_limit",
        ),
    ),
    Rule(
        id="payment.quote.answer",
        says="A quote tells rate, fees and what is received, in the token and in the currency.",
        on=(QUOTE,),
        gives=answered(*_QUOTE),
        shown_by=_quotes("test_a_quote_has_the_fields_of_its_record"),
        kept_by_client=_client("test_a_quote_keeps_the_services_own_names"),
    ),
    Rule(
        id="payment.create.required",
        says="A payment needs wallet, amount, sender, recipient and both currencies.",
        on=(CREATE,),
        takes=(
            "walletAddress: string",
            "inputAmount: number",
            "senderName: string",
            "senderEmail: string",
            "receiverId: string",
            "inputCurrency: string",
            "outputCurrency: string",
        ),
        shown_by=_creating("test_a_required_field_is_required", "test_a_payment_names_both_sides"),
    ),
    Rule(
        id="payment.create.reason-and-description",
        says="Reason and description may be told, and are kept.",
        on=(CREATE,),
        takes=("reason?: string", "description?: string"),
        shown_by=_creating("test_an_optional_field_may_be_absent_or_null", "test_reason_and_description_are_kept"),
    ),
    Rule(
        id="payment.create.us-network",
        says="Within the United States the money may go by ach or by wire.",
        on=(CREATE,),
        takes=("usNetwork?: ach | wire",),
        shown_by=_creating("test_us_network_is_ach_or_wire", "test_an_optional_field_may_be_absent_or_null"),
    ),
    Rule(
        id="payment.create.ids",
        says="Recipient, token and currency are ones that the service's own lists hold.",
        on=(CREATE,),
        shown_by=(
            *_creating("test_what_is_no_payment_is_refused_by_name"),
            *_records("test_tokens_and_currencies_of_the_references_can_be_paid"),
        ),
    ),
    Rule(
        id="payment.create.answer",
        says="Creating answers 201 and the payment in detail, which is pending.",
        on=(CREATE,),
        gives=answered(*_DETAIL, code="statusCode: 201"),
        never_filled=("data.transactionHash",),
        shown_by=(
            *_creating("test_a_payment_is_made_with_201_in_the_body_and_is_pending", "test_unknown_absent_fields_null"),
            *_records("test_a_payment_is_made_with_every_field"),
        ),
        kept_by_client=tests_of("client/test_operations.py")("test_what_goes_on_the_wire"),
    ),
    Rule(
        id="payment.detail",
        says="The detail of a payment has its history and, once the crypto asset arrived, its transaction.",
        on=(READ,),
        gives=answered(*_DETAIL),
        shown_by=_records("test_the_detail_of_a_processed_payment_has_every_field"),
        kept_by_client=_client("test_a_payments_history_and_people"),
    ),
    Rule(
        id="payment.type",
        says="A payment is onramp or offramp; what can be made is the latter.",
        on=(CREATE,),
        shown_by=_creating("test_a_payment_names_both_sides"),
    ),
    Rule(
        id="payment.processed",
        says="A pending payment is processed by itself once the crypto asset was received.",
        on=(READ,),
        shown_by=_creating("test_a_payment_is_processed_once_the_crypto_asset_was_received"),
    ),
    Rule(
        id="payment.ends",
        says="How a payment is completed or fails is open; by default it is completed.",
        on=(READ,),
        shown_by=_creating(
            "test_a_processed_payment_is_completed_when_the_money_arrives", "test_unknown_payment_progress"
        ),
    ),
    Rule(
        id="payment.activities",
        says="The history names the steps in the service's own spelling.",
        on=(READ,),
        shown_by=_creating("test_one_long_advance_makes_every_move"),
    ),
    Rule(
        id="payment.list",
        says="Payments are listed in pages, without history, and with the receiver's bank in place of its numbers.",
        on=LISTS,
        gives=answered(*PAGE, *under("docs[].", _LISTED)),
        shown_by=(
            *_records("test_both_lists_show_every_field_of_a_payment"),
            *_listing("test_a_listed_payment_has_the_fields_of_the_list"),
        ),
    ),
    Rule(
        id="payment.list.two-paths",
        says="The list answers at both paths that the interface gives it.",
        on=LISTS,
        shown_by=_listing("test_both_paths_give_the_same_list"),
    ),
    Rule(
        id="payment.list.limit-and-page",
        says="Ten payments a page, unless limit and page tell otherwise.",
        on=LISTS,
        asks=("limit?: integer = 10", "page?: integer = 1"),
        shown_by=(
            *_listing("test_payments_come_in_pages_of_ten"),
            *_records("test_both_lists_take_every_parameter"),
        ),
    ),
    Rule(
        id="payment.list.sort",
        says="Payments are sorted by creation or update, forwards or backwards.",
        on=LISTS,
        asks=(SORT,),
        shown_by=(
            *_listing("test_payments_are_sorted_by_creation_or_update"),
            *_records("test_both_lists_take_every_parameter"),
        ),
    ),
    Rule(
        id="payment.list.search",
        says="A search looks into the names and e-mail addresses of a payment.",
        on=LISTS,
        asks=("search?: string",),
        shown_by=(
            *_listing("test_a_filter_lets_through_what_it_names"),
            *_records("test_both_lists_take_every_parameter"),
        ),
    ),
    Rule(
        id="payment.list.status",
        says="The list can be narrowed to pending, processed, completed or failed payments.",
        on=LISTS,
        asks=("status?: pending | processed | completed | failed",),
        shown_by=(
            *_listing(
                "test_a_filter_lets_through_what_it_names", "test_a_filter_that_means_nothing_is_refused_by_name"
            ),
            *_records("test_both_lists_take_every_parameter"),
        ),
    ),
    Rule(
        id="payment.list.amounts",
        says="The list can be narrowed to amounts between bounds, on either side of the exchange.",
        on=LISTS,
        asks=(
            "minInputAmount?: number",
            "maxInputAmount?: number",
            "minOutputAmount?: number",
            "maxOutputAmount?: number",
        ),
        shown_by=(
            *_listing("test_a_filter_lets_through_what_it_names"),
            *_records("test_both_lists_take_every_parameter"),
        ),
    ),
    Rule(
        id="payment.list.texts",
        says="The list can be narrowed by reason, organization, blockchain and the receiver's name.",
        on=LISTS,
        asks=(
            "reason?: string",
            "organizationId?: string",
            "organizationName?: string",
            "blockchain?: string",
            "receiverName?: string",
        ),
        shown_by=(
            *_listing("test_a_filter_lets_through_what_it_names"),
            *_records("test_both_lists_take_every_parameter"),
        ),
    ),
)

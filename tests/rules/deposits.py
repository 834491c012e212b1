"""Rules of reading deposits, of how they move, and of the sandbox's update."""

from __future__ import annotations

from tests.rules.rule import Lines, Rule, answered, tests_of

READ, UPDATE = "GET /v1/deposit/{depositId}", "PATCH /v1/deposit/{depositId}"

_deposits = tests_of("sandbox/deposits/test_endpoints.py")
_records = tests_of("sandbox/deposits/test_schemas.py")
_page = tests_of("sandbox/levers/test_hosted_page.py")
_settlement = tests_of("test_settlement.py")

_RECORD: Lines = (
    "depositId: string",
    "depositType: string",
    "userId: string",
    "inputCurrency: string",
    "outputCurrency: string",
    "inputAmount: number",
    "outputAmount: number",
    "fee: object",
    "fee.amount: number",
    "fee.percentage: number",
    "fee.currency: string",
    "paymentFiat?: object",
    "paymentFiat.bankCode: string",
    "paymentFiat.bankName: string",
    "paymentFiat.qrData: string",
    "paymentCrypto?: object",
    "paymentCrypto.token: string",
    "paymentCrypto.network: string",
    "paymentCrypto.address: string",
    "paymentCrypto.amount: number",
    "status: string",
    "activityHistory: array",
    "activityHistory[].activity: string",
    "activityHistory[].description: string",
    "activityHistory[].status: string",
    "activityHistory[].updatedAt: timestamp",
    "exchangeInfo: object",
    "exchangeInfo.exchangeRate: number",
    "exchangeInfo.outputCurrency: string",
    "exchangeInfo.outputAmount: number",
    "createdAt: timestamp",
    "updatedAt: timestamp",
    "expiredAt: timestamp",
)

RULES = (
    Rule(
        id="deposit.record",
        says="A deposit is read with these fields; paid through a bank it has one of two, paid over a chain the other.",
        on=(READ,),
        gives=answered(*_RECORD),
        shown_by=_records("test_a_deposit_is_read_with_every_field"),
        kept_by_client=tests_of("client/test_deposits.py")("test_every_field_is_read"),
    ),
    Rule(
        id="deposit.money",
        says="Fee and exchange are told in the record, and agree with its amounts.",
        on=(READ,),
        shown_by=_records("test_fee_and_exchange_agree_with_the_amounts"),
    ),
    Rule(
        id="deposit.read.id-or-reference",
        says="A deposit is read by its id, or by a reference.",
        on=(READ,),
        shown_by=_deposits(
            "test_a_deposit_is_read_by_its_reference_too", "test_an_id_goes_before_a_reference_of_the_same_text"
        ),
    ),
    Rule(
        id="deposit.begins-with-the-pick",
        says="Only when the customer picks a method there is a deposit: pending, with the checkout's id.",
        on=(READ,),
        shown_by=_deposits(
            "test_before_a_method_is_picked_there_is_no_deposit",
            "test_picking_a_method_makes_a_pending_deposit_with_the_checkouts_id",
        ),
    ),
    Rule(
        id="deposit.pick-in-time",
        says="A method can be picked within the page's 15 minutes only.",
        on=(READ,),
        shown_by=_page("test_after_15_minutes_without_a_method_the_page_has_expired"),
    ),
    Rule(
        id="deposit.paid",
        says="The customer's payment completes a pending deposit.",
        on=(READ,),
        shown_by=(*_deposits("test_paying_completes_the_deposit"), *_page("test_the_way_from_choosing_to_paid")),
    ),
    Rule(
        id="deposit.abandoned",
        says="Not found, more than 15 minutes after its creation, means that a checkout was abandoned.",
        on=(READ,),
        shown_by=_page("test_after_15_minutes_without_a_method_the_page_has_expired"),
        kept_by_client=_settlement("test_never_picked_takes_two_reads_the_later_one_after_the_page_is_gone"),
    ),
    Rule(
        id="deposit.expiry",
        says="What becomes of a deposit past expiredAt is open; by default it stays pending.",
        on=(READ,),
        shown_by=_deposits(
            "test_a_method_picked_in_minute_14_stays_payable_long_after_the_page", "test_unknown_deposit_after_expiry"
        ),
        kept_by_client=_settlement("test_an_unknown_status_counts_as_not_completed"),
    ),
    Rule(
        id="deposit.update.body",
        says="The sandbox's update of a deposit sends a status, a text.",
        on=(UPDATE,),
        takes=("status: string",),
        shown_by=_deposits(
            "test_a_sandbox_update_needs_a_status", "test_a_sandbox_update_forces_the_status_and_sends_the_webhook"
        ),
    ),
    Rule(
        id="deposit.update.answer",
        says="The update answers the whole deposit as it then is.",
        on=(UPDATE,),
        gives=answered(*_RECORD),
        shown_by=_records("test_an_update_answers_the_deposit_as_it_is_read_then"),
    ),
    Rule(
        id="deposit.update.move",
        says="A pending deposit takes the status sent.",
        on=(UPDATE,),
        shown_by=_deposits(
            "test_a_sandbox_update_forces_the_status_and_sends_the_webhook", "test_unknown_forced_status_known"
        ),
    ),
    Rule(
        id="deposit.update.needs-a-deposit",
        says="Before a method was picked there is nothing to update.",
        on=(UPDATE,),
        shown_by=_deposits("test_a_sandbox_update_before_a_method_is_picked_is_a_400"),
    ),
)

"""The rows of limits."""

from __future__ import annotations

from tests.rules import checkouts, crypto_disbursements, fiat_batches, fiat_disbursements, payments, recipients
from tests.rules.rule import Rule, tests_of

_checkouts = tests_of("sandbox/checkouts/test_endpoints.py")
_v2 = tests_of("sandbox/fiat_disbursements/test_creating.py")

RULES = (
    Rule(
        id="limit.page-size",
        says="Lists of disbursements, payments and recipients have ten items a page by default.",
        on=(fiat_disbursements.LIST, payments.LISTS[0], recipients.LIST),
        shown_by=(
            *tests_of("sandbox/fiat_disbursements/test_reading.py")(
                "test_ten_records_a_page_by_default_in_the_order_of_their_making"
            ),
            *tests_of("sandbox/payments/test_listing.py")("test_payments_come_in_pages_of_ten"),
            *tests_of("sandbox/wire/test_paging.py")("test_ten_items_are_the_default_page"),
        ),
    ),
    Rule(
        id="limit.page-size.maximum",
        says="How large a page may be is open; by default larger wishes count as a hundred.",
        on=(recipients.LIST,),
        shown_by=tests_of("sandbox/wire/test_paging.py")(
            "test_unknown_limit_maximum_clamps", "test_unknown_limit_above_maximum_refused"
        ),
    ),
    Rule(
        id="limit.checkout.validity",
        says="A checkout's address is good for 15 minutes, to the second.",
        on=(checkouts.CREATE,),
        shown_by=(
            *tests_of("sandbox/levers/test_hosted_page.py")(
                "test_after_15_minutes_without_a_method_the_page_has_expired"
            ),
            *tests_of("sandbox/checkouts/test_pages.py")(
                "test_a_method_can_be_picked_until_the_last_second_of_15_minutes"
            ),
        ),
    ),
    Rule(
        id="limit.method.amounts",
        says="A fiat disbursement stays within the least and the most of its payment method, both included.",
        on=(fiat_batches.V2,),
        shown_by=_v2("test_the_limits_themselves_are_allowed", "test_a_wrong_item_is_refused_naming_the_field"),
    ),
    Rule(
        id="limit.method.amounts.v1",
        says="The first version keeps the limits of the methods too.",
        on=(fiat_batches.V1,),
        shown_by=tests_of("sandbox/fiat_disbursements/test_creating_v1.py")(
            "test_a_wrong_item_is_refused_and_nothing_is_made"
        ),
    ),
    Rule(
        id="limit.checkout.amount",
        says="One enabled deposit method has to take a checkout's amount, limits included.",
        on=(checkouts.CREATE,),
        shown_by=_checkouts(
            "test_some_enabled_method_must_take_the_amount",
            "test_a_disabled_method_does_not_count",
            "test_the_limits_are_those_of_what_the_customer_pays",
        ),
    ),
    Rule(
        id="limit.batch",
        says="How many items one request may hold is open.",
        on=(fiat_batches.V1, fiat_batches.V2, crypto_disbursements.CREATE),
        shown_by=tests_of("sandbox/disbursements/test_amounts.py")("test_unknown_batch_maximum"),
    ),
)

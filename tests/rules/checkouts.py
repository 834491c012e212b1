"""Rules of making checkouts."""

from __future__ import annotations

from tests.rules.rule import Rule, answered, tests_of

CREATE = "POST /v1/checkout"

_checkouts = tests_of("sandbox/checkouts/test_endpoints.py")
_links = tests_of("sandbox/checkouts/test_pages.py")
_deposits = tests_of("sandbox/deposits/test_endpoints.py")
_page = tests_of("sandbox/levers/test_hosted_page.py")
_client = tests_of("client/test_checkouts.py")
_extension = tests_of("test_checkouts.py")

_LINK = ("id: string", "url: string")

RULES = (
    Rule(
        id="checkout.input-currency",
        says="A checkout names the currency that the customer pays in.",
        on=(CREATE,),
        takes=("inputCurrency: string",),
        shown_by=_checkouts(
            "test_what_is_no_checkout_is_refused_with_the_error_envelope",
            "test_a_checkout_has_an_id_and_an_address_that_ends_with_it",
        )
        + _links("test_a_checkout_without_an_input_currency_is_told_so"),
    ),
    Rule(
        id="checkout.one-amount",
        says="Exactly one of the two amounts is sent, a positive number.",
        on=(CREATE,),
        takes=("inputAmount?: number", "outputAmount?: number"),
        shown_by=_checkouts(
            "test_what_is_no_checkout_is_refused_with_the_error_envelope",
            "test_the_limits_are_those_of_what_the_customer_pays",
            "test_some_enabled_method_must_take_the_amount",
        ),
        kept_by_client=_client("test_a_total_names_exactly_one_amount"),
    ),
    Rule(
        id="checkout.input-amount",
        says="An input amount is what the customer pays, exactly, whichever method is picked.",
        on=(CREATE,),
        shown_by=_deposits("test_the_side_that_was_asked_for_is_exact_whichever_method_is_picked"),
    ),
    Rule(
        id="checkout.output-amount",
        says="An output amount is what arrives, exactly; each method makes its own amount of it, fees included.",
        on=(CREATE,),
        shown_by=(
            *_page("test_every_usable_method_is_offered_with_its_amount_and_fee"),
            *_deposits("test_the_side_that_was_asked_for_is_exact_whichever_method_is_picked"),
        ),
    ),
    Rule(
        id="checkout.output-currency",
        says="The output currency is that of the input unless another is named, which may be a token.",
        on=(CREATE,),
        takes=("outputCurrency?: string",),
        shown_by=(
            *_checkouts("test_the_output_currency_defaults_to_the_input_currency", "test_a_conversion_can_be_enabled"),
            *_deposits("test_the_side_that_was_asked_for_is_exact_whichever_method_is_picked"),
        ),
    ),
    Rule(
        id="checkout.answer",
        says="A checkout answers its id and the address of its hosted page, which ends with the id.",
        on=(CREATE,),
        gives=answered(*_LINK),
        shown_by=_checkouts("test_a_checkout_has_an_id_and_an_address_that_ends_with_it"),
        kept_by_client=_client("test_half_a_link_is_no_link"),
    ),
    Rule(
        id="checkout.code",
        says="Which success number a checkout has is open.",
        on=(CREATE,),
        gives=answered(*_LINK, code="statusCode: 201"),
        shown_by=_checkouts("test_unknown_checkout_status_code"),
    ),
    Rule(
        id="checkout.url-as-returned",
        says="A client sends customers to the address it was given and builds none; its host may be another one.",
        on=(CREATE,),
        shown_by=_links("test_the_host_of_the_hosted_page_is_that_of_the_environment"),
        kept_by_client=_extension("test_a_start_stores_what_was_asked_for_and_hands_out_the_services_own_url"),
    ),
    Rule(
        id="checkout.id-is-deposit-id",
        says="The checkout's id is the id of its deposit and the orderId of its webhook.",
        on=(CREATE,),
        shown_by=(
            *_deposits("test_picking_a_method_makes_a_pending_deposit_with_the_checkouts_id"),
            *tests_of("sandbox/outgoing/test_webhooks.py")("test_a_completed_deposit_is_told_once"),
        ),
    ),
    Rule(
        id="checkout.validity",
        says="The hosted page can be used for 15 minutes after the checkout was made.",
        on=(CREATE,),
        shown_by=(
            *_page(
                "test_after_15_minutes_without_a_method_the_page_has_expired",
                "test_the_time_left_is_in_the_page_without_any_script",
            ),
            *_deposits("test_a_method_picked_in_minute_14_stays_payable_long_after_the_page"),
        ),
    ),
    Rule(
        id="checkout.no-status",
        says="A checkout has no state of its own: it answers id and address only.",
        on=(CREATE,),
        shown_by=_checkouts("test_a_checkout_has_an_id_and_an_address_that_ends_with_it"),
    ),
)

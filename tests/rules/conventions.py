"""Rules that hold for every operation: bodies, envelopes, pages, times and identifiers."""

from __future__ import annotations

from tests.rules import checkouts, deposits, recipients
from tests.rules.rule import Rule, tests_of

_checkouts = tests_of("sandbox/checkouts/test_endpoints.py")
_conventions = tests_of("sandbox/wire/test_conventions.py")
_paging = tests_of("sandbox/wire/test_paging.py")
_unknowns = tests_of("sandbox/world/test_assumptions.py")
_wire = tests_of("client/test_operations.py")
_envelope = tests_of("client/test_envelope.py")

RULES = (
    Rule(
        id="convention.base-address",
        says="Paths are appended to one base address, which may have a path of its own.",
        shown_by=_conventions("test_every_operation_is_below_the_base_address"),
        kept_by_client=tests_of("client/test_transport.py")("test_calls_go_below_the_base_url"),
    ),
    Rule(
        id="convention.json-bodies",
        says="A body is a JSON object, sent as application/json.",
        on=(checkouts.CREATE,),
        shown_by=_checkouts("test_what_is_no_checkout_is_refused_with_the_error_envelope"),
        kept_by_client=_wire("test_what_goes_on_the_wire"),
    ),
    Rule(
        id="convention.success",
        says="A success says statusCode and message and holds its data, an object or an array.",
        shown_by=_conventions("test_every_operation_answers_the_success_envelope"),
        kept_by_client=_envelope("test_success_gives_its_data", "test_a_list_is_data_too"),
    ),
    Rule(
        id="convention.body-decides",
        says="The number in the body says how it went, whatever the HTTP status is.",
        on=(deposits.READ,),
        shown_by=_unknowns("test_http_status_always_200_leaves_the_code_to_the_body"),
        kept_by_client=(*_wire("test_the_body_decides_that_it_is_a_refusal"), *_envelope("test_refusals_by_the_body")),
    ),
    Rule(
        id="convention.error",
        says="An error says statusCode, error and message and nothing else.",
        shown_by=_conventions("test_every_refusal_has_the_error_envelope"),
        kept_by_client=_envelope("test_a_refusal_keeps_what_was_said"),
    ),
    Rule(
        id="convention.pages",
        says="A page tells how many items there are, which of them it holds, and which pages stand beside it.",
        on=(recipients.LIST,),
        shown_by=_paging(
            "test_the_envelope_has_all_eleven_fields",
            "test_ten_items_are_the_default_page",
            "test_the_last_page_holds_the_rest",
            "test_a_middle_page_has_both_neighbours",
            "test_a_full_last_page_has_no_next",
        ),
        kept_by_client=tests_of("client/test_paging.py")("test_a_page_says_where_it_is"),
    ),
    Rule(
        id="convention.sort",
        says="sort is createdAt or updatedAt, turned around by a leading minus; other words are refused.",
        on=(recipients.LIST,),
        shown_by=_paging(
            "test_sort_is_created_at_or_updated_at",
            "test_the_default_order_is_by_creation",
            "test_a_leading_minus_reverses_the_order",
            "test_updated_at_sorts_by_the_last_change",
        ),
    ),
    Rule(
        id="convention.times",
        says="Times are ISO 8601 in UTC.",
        shown_by=tests_of("sandbox/wire/test_openapi.py")("test_every_time_in_a_record_is_a_date_time"),
    ),
    Rule(
        id="convention.identifiers",
        says="Identifiers are texts.",
        shown_by=_conventions("test_every_identifier_is_a_text"),
    ),
    Rule(
        id="convention.activity-status",
        says="An entry of a history is pending or completed, unless a test moved it elsewhere.",
        shown_by=_conventions("test_histories_say_pending_and_completed"),
    ),
)

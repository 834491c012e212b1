"""Rules of versions, of what is deprecated, and of what only a sandbox has."""

from __future__ import annotations

from tests.rules import deposits, fiat_batches, payments, references
from tests.rules.rule import Rule, tests_of

_document = tests_of("sandbox/wire/test_openapi.py")
_deprecated = _document("test_what_the_interface_calls_deprecated_is_marked")
_wire = tests_of("client/test_operations.py")

RULES = (
    Rule(
        id="version.prefix",
        says="The version begins the path: v2 of payments and of the newer fiat create, v1 of everything else.",
        shown_by=_document(
            "test_it_has_the_28_operations_of_the_interface", "test_every_route_of_the_service_is_in_it"
        ),
        kept_by_client=_wire("test_no_method_is_missing_here"),
    ),
    Rule(
        id="version.fiat-create",
        says="The first version of creating fiat disbursements is deprecated; the second one takes its place.",
        on=(fiat_batches.V1,),
        is_deprecated=True,
        shown_by=_deprecated,
    ),
    Rule(
        id="version.payments",
        says="Everything about payments is deprecated.",
        on=(payments.QUOTE, *payments.LISTS, payments.READ, payments.CREATE),
        is_deprecated=True,
        shown_by=_deprecated,
    ),
    Rule(
        id="version.references",
        says="The reference lists are deprecated.",
        on=(references.CURRENCIES, references.CRYPTOS, references.BANKS, references.METHODS),
        is_deprecated=True,
        shown_by=_deprecated,
    ),
    Rule(
        id="version.sandbox-only",
        says="Only a sandbox lets a status be forced, of a disbursement and of a deposit.",
        on=(fiat_batches.UPDATE, deposits.UPDATE),
        shown_by=(
            *tests_of("sandbox/disbursements/test_update.py")("test_a_pending_disbursement_takes_the_status_sent"),
            *tests_of("sandbox/deposits/test_endpoints.py")(
                "test_a_sandbox_update_forces_the_status_and_sends_the_webhook"
            ),
        ),
    ),
)

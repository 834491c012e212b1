"""Rules of which credentials an operation is called with. Those that need none say so where they are."""

from __future__ import annotations

from tests.rules import (
    checkouts,
    crypto_disbursements,
    deposits,
    fiat_batches,
    fiat_disbursements,
    payments,
    recipients,
)
from tests.rules.rule import Rule, tests_of

_guards = tests_of("sandbox/wire/test_credentials.py")
_access = tests_of("sandbox/auth/test_access.py")
_signing = tests_of("client/test_signing.py")
_wire = tests_of("client/test_operations.py")

_EACH = _guards(
    "test_each_guarded_operation_takes_its_own_scheme_and_not_the_other",
    "test_only_open_operations_answer_without_credentials",
)

RULES = (
    Rule(
        id="access.signature",
        says="Reads, proofs, estimates, checkouts, deposits, recipients and payments take the three signature headers.",
        on=(
            *(fiat_disbursements.LIST, fiat_disbursements.READ, fiat_disbursements.REPORT),
            crypto_disbursements.ESTIMATE,
            *(checkouts.CREATE, deposits.READ, deposits.UPDATE),
            *(recipients.LIST, recipients.READ, recipients.CREATE, recipients.UPDATE),
            *(recipients.DELETE, recipients.DELETE_BY_QUERY),
            *(payments.QUOTE, *payments.LISTS, payments.READ, payments.CREATE),
        ),
        needs="signature",
        shown_by=_EACH,
        kept_by_client=_wire("test_what_goes_on_the_wire"),
    ),
    Rule(
        id="access.token",
        says="Creating disbursements, listing banks that can be paid and the sandbox's update take an access token.",
        on=(
            fiat_batches.V1,
            fiat_batches.V2,
            crypto_disbursements.CREATE,
            fiat_disbursements.METHODS,
            fiat_batches.UPDATE,
        ),
        needs="access token",
        shown_by=_EACH,
        kept_by_client=(
            *_wire("test_what_goes_on_the_wire"),
            *_signing("test_bearer_token_is_the_authorization_header"),
        ),
    ),
    Rule(
        id="access.signature.computed",
        says="How a signature is made is open; client and sandbox each hold a stand-in against fixed vectors.",
        shown_by=_access("test_the_contracts_vectors_hold"),
        kept_by_client=_signing("test_published_vectors"),
    ),
    Rule(
        id="access.signature.checked",
        says="A signature of something else, of somebody else or without its headers is refused.",
        on=(deposits.READ,),
        shown_by=_access(
            "test_a_signed_request_reaches_the_operation",
            "test_a_wrong_signature_is_refused",
            "test_a_request_without_headers_is_refused",
            "test_wrong_secret_and_unknown_client_get_the_same_answer",
        ),
    ),
    Rule(
        id="access.timestamp",
        says="How far a timestamp may be off is open; by default five minutes.",
        on=(deposits.READ,),
        shown_by=_access("test_a_timestamp_may_be_five_minutes_away", "test_unknown_timestamp_window"),
    ),
    Rule(
        id="access.token.format",
        says="Whether the access token is sent with a scheme before it is open; both are understood.",
        shown_by=tests_of("sandbox/auth/test_access_tokens.py")("test_unknown_authorization_format"),
        kept_by_client=tests_of("client/test_client.py")("test_another_form_of_the_authorization_header_can_be_had"),
    ),
    Rule(
        id="access.token.lifetime",
        says="How long an access token lives is open; by default a day.",
        on=("POST /v1/auth/verify-login",),
        shown_by=tests_of("sandbox/auth/test_access_tokens.py")(
            "test_a_token_expires_after_a_day_of_the_virtual_clock", "test_unknown_access_token_minutes"
        ),
    ),
    Rule(
        id="access.scheme",
        says="Which operation insists on which credentials is open; where either is taken, both work.",
        shown_by=_guards(
            "test_unknown_access_scheme_either", "test_each_operation_declares_the_scheme_that_the_interface_shows"
        ),
    ),
)

"""The rows of errors, each with its number, its name and its words as far as the interface gives them."""

from __future__ import annotations

from tests.rules import checkouts, crypto_disbursements, deposits, fiat_batches, fiat_disbursements
from tests.rules.rule import Refused, Rule, tests_of

_checkouts = tests_of("sandbox/checkouts/test_endpoints.py")
_deposits = tests_of("sandbox/deposits/test_endpoints.py")
_v1 = tests_of("sandbox/fiat_disbursements/test_creating_v1.py")
_v2 = tests_of("sandbox/fiat_disbursements/test_creating.py")
_crypto = tests_of("sandbox/crypto_disbursements/test_creating.py")

_NO_METHOD = Refused(400, "Not Found", "Payment method not found")

RULES = (
    Rule(
        id="error.payment-method.fiat-v1",
        says="A fiat disbursement of the first version without a payment method is a 400 that calls itself not found.",
        on=(fiat_batches.V1,),
        refuses=(_NO_METHOD,),
        shown_by=_v1("test_a_recipient_whose_bank_has_no_method_is_not_found_as_the_interface_words_it"),
    ),
    Rule(
        id="error.payment-method.crypto",
        says="A token that cannot be sent is refused in the same words.",
        on=(crypto_disbursements.CREATE,),
        refuses=(_NO_METHOD,),
        shown_by=_crypto("test_an_unknown_token_is_not_found_as_the_interface_words_it"),
    ),
    Rule(
        id="error.update.unknown-disbursement",
        says="Updating a disbursement that does not exist is a 400.",
        on=(fiat_batches.UPDATE,),
        refuses=(Refused(400, "Bad Request", "Disbursement not found"),),
        shown_by=tests_of("sandbox/disbursements/test_update.py")("test_an_unknown_disbursement_is_a_bad_request"),
    ),
    Rule(
        id="error.report.unknown-disbursement",
        says="The proof of a disbursement that does not exist is a 404.",
        on=(fiat_disbursements.REPORT,),
        refuses=(Refused(404, "Not Found", "Disbursement not found"),),
        shown_by=tests_of("sandbox/transfer_proofs/test_endpoints.py")("test_an_unknown_disbursement_is_not_found"),
        kept_by_client=tests_of("client/test_fiat_disbursements.py")("test_without_a_pdf_the_envelope_decides"),
    ),
    Rule(
        id="error.checkout.not-enabled",
        says="An account without checkout is told so.",
        on=(checkouts.CREATE,),
        refuses=(Refused(400, "Bad Request", "Checkout is not enabled"),),
        shown_by=_checkouts("test_an_account_without_checkout_is_told_so"),
    ),
    Rule(
        id="error.checkout.amount",
        says="A checkout that no enabled method can take is a 400, on either side of the limits.",
        on=(checkouts.CREATE,),
        refuses=(Refused(400, "Bad Request"),),
        shown_by=_checkouts("test_some_enabled_method_must_take_the_amount", "test_a_disabled_method_does_not_count"),
    ),
    Rule(
        id="error.checkout.conversion",
        says="A checkout into a token is refused where the pair is not converted; the number is open.",
        on=(checkouts.CREATE,),
        refuses=(Refused(400, "Bad Request"), Refused(422, "Unprocessable Entity")),
        shown_by=_checkouts("test_a_pair_without_conversion_is_refused", "test_unknown_conversion_refused"),
    ),
    Rule(
        id="error.deposit.not-yet",
        says="A deposit cannot be found before a method was picked.",
        on=(deposits.READ,),
        refuses=(Refused(404, "Not Found", "Deposit not found"),),
        shown_by=_deposits(
            "test_before_a_method_is_picked_there_is_no_deposit", "test_an_id_that_never_was_reads_the_same"
        ),
        kept_by_client=tests_of("client/test_deposits.py")("test_no_deposit_yet"),
    ),
    Rule(
        id="error.deposit.update-not-yet",
        says="Nor can it be updated before that.",
        on=(deposits.UPDATE,),
        refuses=(Refused(400, "Bad Request"),),
        shown_by=_deposits("test_a_sandbox_update_before_a_method_is_picked_is_a_400"),
    ),
    Rule(
        id="error.positive-amounts",
        says="An amount that is zero or less is refused wherever one is taken.",
        on=(checkouts.CREATE, fiat_batches.V1, fiat_batches.V2, crypto_disbursements.CREATE),
        refuses=(Refused(400, "Bad Request"),),
        shown_by=(
            *_checkouts("test_what_is_no_checkout_is_refused_with_the_error_envelope"),
            *_v1("test_a_wrong_item_is_refused_and_nothing_is_made"),
            *_v2("test_a_wrong_item_is_refused_naming_the_field"),
            *_crypto("test_a_wrong_receiver_is_refused_and_nothing_is_sent"),
        ),
        kept_by_client=(
            *tests_of("client/test_fiat_disbursements.py")("test_a_wrong_item_is_named_and_nothing_is_sent"),
            *tests_of("client/test_crypto_disbursements.py")("test_a_wrong_receiver_is_named_and_nothing_is_sent"),
        ),
    ),
    Rule(
        id="error.valid-codes",
        says="A code that is no currency and no token is refused wherever one is taken.",
        on=(checkouts.CREATE, fiat_batches.V1, fiat_batches.V2, fiat_disbursements.METHODS, "POST /v1/recipient"),
        refuses=(Refused(400, "Bad Request"),),
        shown_by=(
            *_checkouts("test_what_is_no_checkout_is_refused_with_the_error_envelope"),
            *_v1("test_a_wrong_item_is_refused_and_nothing_is_made"),
            *_v2("test_a_wrong_body_is_refused_naming_the_field"),
            *tests_of("sandbox/fiat_disbursements/test_methods.py")("test_what_is_no_currency_is_refused"),
            *tests_of("sandbox/recipients/test_create_and_change.py")("test_the_currency_must_be_a_valid_code"),
        ),
    ),
    Rule(
        id="error.authentication",
        says="How wrong passwords and wrong one-time passwords are answered is open.",
        on=("POST /v1/auth/login", "POST /v1/auth/verify-login"),
        refuses=(Refused(401, "Unauthorized"),),
        shown_by=(
            *tests_of("sandbox/auth/test_login.py")(
                "test_a_wrong_password_and_an_unknown_address_get_the_same_answer", "test_unknown_wrong_password_error"
            ),
            *tests_of("sandbox/auth/test_verify_login.py")("test_a_token_works_once", "test_unknown_wrong_otp_error"),
        ),
    ),
)

"""Rules of sending tokens to wallets, and of estimating what that costs."""

from __future__ import annotations

from tests.rules.fiat_disbursements import ACTIVITIES
from tests.rules.rule import Lines, Rule, answered, tests_of, under

CREATE, ESTIMATE = "POST /v1/disbursement/crypto", "GET /v1/disbursement/crypto/estimate"

_creating = tests_of("sandbox/crypto_disbursements/test_creating.py")
_estimate = tests_of("sandbox/crypto_disbursements/test_estimate.py")
_amounts = tests_of("sandbox/disbursements/test_amounts.py")
_client = tests_of("client/test_crypto_disbursements.py")

_RECORD: Lines = (
    "disbursementId: string",
    "groupId: string",
    "tokenAddress?: string",
    "receiverAddress: string",
    "senderAddress: string",
    "amount: number",
    "token: string",
    "tokenDecimal: integer",
    "network: string",
    "blockchainType: string",
    "feeAmount: number",
    "feePercentage: number",
    "feeConfig: object",
    "feeConfig.feeFlat: number",
    "feeConfig.feePercentage: number",
    "feeConfig.feeNetwork: number",
    "status: string",
    "createdBy: string",
    *ACTIVITIES,
    "reference?: string",
)

RULES = (
    Rule(
        id="crypto.batch",
        says="A request names one token and a list of receivers.",
        on=(CREATE,),
        takes=("token: string", "receivers: array"),
        shown_by=_creating("test_token_and_receivers_are_required", "test_the_answer_holds_the_batch"),
    ),
    Rule(
        id="crypto.receiver",
        says="A receiver has an amount and a wallet address.",
        on=(CREATE,),
        takes=("receivers[].amount: number", "receivers[].receiverWalletAddress: string"),
        shown_by=_creating("test_a_wrong_receiver_is_refused_and_nothing_is_sent", "test_the_answer_holds_the_batch"),
        kept_by_client=_client("test_a_wrong_receiver_is_named_and_nothing_is_sent"),
    ),
    Rule(
        id="crypto.receiver.reference-and-note",
        says="A receiver may have a reference and a note.",
        on=(CREATE,),
        takes=("receivers[].reference?: string", "receivers[].note?: string"),
        shown_by=_creating("test_the_answer_holds_the_batch"),
    ),
    Rule(
        id="crypto.answer",
        says="The answer counts the receivers, sums amounts and fees, and holds a record of each transfer.",
        on=(CREATE,),
        gives=answered(
            *("totalReceiver: integer", "disburseData: array", *under("disburseData[].", _RECORD)),
            *("sumFees: number", "sumAmount: number"),
        ),
        shown_by=_creating("test_the_answer_holds_the_batch"),
        kept_by_client=_client("test_a_batch_is_read_to_the_last_decimal"),
    ),
    Rule(
        id="crypto.code",
        says="Which success number a create has is open here as well.",
        on=(CREATE,),
        gives=("statusCode: 201",),
        shown_by=_creating("test_unknown_disbursement_status_code"),
    ),
    Rule(
        id="crypto.sums",
        says="The sums are those of the receivers, in the token.",
        on=(CREATE,),
        shown_by=_amounts("test_the_sums_of_tokens"),
    ),
    Rule(
        id="crypto.token",
        says="A token's id is symbol and network; the record tells network, decimals, contract and kind of blockchain.",
        on=(CREATE,),
        shown_by=_creating("test_every_token_can_be_sent_and_shows_its_network"),
    ),
    Rule(
        id="crypto.blockchain-type",
        says="The kind of blockchain is EVM or STELLAR.",
        on=(CREATE,),
        shown_by=_creating(
            "test_every_token_can_be_sent_and_shows_its_network", "test_the_blockchain_type_is_evm_or_stellar"
        ),
    ),
    Rule(
        id="crypto.fee-config",
        says="The fee is made of a flat part, a percentage and what the network takes.",
        on=(CREATE,),
        shown_by=_creating("test_the_fee_is_what_its_configuration_says"),
    ),
    Rule(
        id="crypto.wallets",
        says="Receiver and sender are wallets of the token's chain, and the sender is the account's own.",
        on=(CREATE,),
        shown_by=_creating("test_a_record_names_both_wallets_and_its_user"),
    ),
    Rule(
        id="crypto.group",
        says="The transfers of one request share a group id.",
        on=(CREATE,),
        shown_by=_creating("test_the_answer_holds_the_batch"),
    ),
    Rule(
        id="crypto.begins-pending",
        says="A new transfer is pending, and its history says that it was sent to the wallet.",
        on=(CREATE,),
        shown_by=_creating("test_a_new_disbursement_is_pending_and_its_history_says_sent"),
    ),
    Rule(
        id="crypto.estimate.query",
        says="An estimate is asked for with a token and an amount, which is a whole number unless told otherwise.",
        on=(ESTIMATE,),
        asks=("token: string", "amount: number"),
        shown_by=_estimate(
            "test_a_wrong_query_is_refused_naming_the_parameter",
            "test_it_is_what_sending_costs",
            "test_unknown_estimate_amount_decimal",
        ),
        kept_by_client=_client("test_an_estimate_is_asked_for_a_whole_number"),
    ),
    Rule(
        id="crypto.estimate.answer",
        says="An estimate tells token, amount and the fee that sending it would have.",
        on=(ESTIMATE,),
        gives=answered("token: string", "amount: number", "fee: number"),
        shown_by=_estimate("test_it_is_what_sending_costs"),
    ),
)

"""`POST /v1/disbursement/crypto` and its estimate: token, receivers, fees, and that a batch is all or nothing."""

from __future__ import annotations

from decimal import Decimal

import pytest

from flask_paycheckout.sandbox.world.money import TOKENS
from tests.sandbox.disbursements.payers import STELLAR_WALLET, WALLET, Payer

SENT = {"receiverWalletAddress": WALLET, "amount": 5}


def test_the_answer_holds_the_batch(payer: Payer) -> None:
    batch = payer.sends_tokens(SENT | {"reference": "r-1", "note": "May"}, SENT).data
    assert (batch["totalReceiver"], batch["sumAmount"], batch["sumFees"]) == (2, 10, Decimal("0.24"))
    item, other = batch["disburseData"]
    assert (item["status"], item["groupId"]) == ("pending", other["groupId"])
    (entry,) = item["activityHistory"]
    assert (entry["activity"], entry["status"]) == ("Sent to recipient wallet", "pending")
    config = item["feeConfig"]
    share = item["amount"] * config["feePercentage"] / 100
    assert item["feeAmount"] == config["feeFlat"] + config["feeNetwork"] + share
    assert item["feePercentage"] == config["feePercentage"]


def test_every_token_can_be_sent_and_shows_its_network(payer: Payer) -> None:
    for token in TOKENS:
        wallet = WALLET if token.blockchain_type == "EVM" else STELLAR_WALLET
        batch = payer.sends_tokens(SENT | {"receiverWalletAddress": wallet}, token=token.id).data
        item = batch["disburseData"][0]
        assert (item["token"], item["network"], item["blockchainType"], item["tokenDecimal"]) == (
            *(token.id, token.network, token.blockchain_type, token.decimal),
        )
        assert item.get("tokenAddress", "") == token.address


def test_an_unknown_token_is_not_found_as_the_interface_words_it(payer: Payer) -> None:
    for token in ("doge-moon", "USDC-polygon"):
        refused = payer.sends_tokens(SENT | {"reference": "r"}, token=token)
        assert refused.body == {"statusCode": 400, "error": "Not Found", "message": "Payment method not found"}
    assert payer.sends_tokens(SENT | {"reference": "r"}).code == 200, "nothing was sent"


@pytest.mark.parametrize(("token", "wallet"), [("usdc-polygon", WALLET), ("usdc-stellar", STELLAR_WALLET)])
def test_a_record_names_both_wallets_and_its_user(payer: Payer, token: str, wallet: str) -> None:
    first, second = payer.sends_tokens(*[SENT | {"receiverWalletAddress": wallet}] * 2, token=token).data[
        "disburseData"
    ]
    assert first["receiverAddress"] == second["receiverAddress"] == wallet
    assert first["senderAddress"] == second["senderAddress"] != wallet
    # It is a wallet of the same chain: tokens can be sent to it.
    back = SENT | {"receiverWalletAddress": first["senderAddress"]}
    assert payer.sends_tokens(back, token=token).code == 200
    assert first["createdBy"] == "5a6d00000000000000000001"


PATH = "/v1/disbursement/crypto/estimate"


def test_it_is_what_sending_costs(payer: Payer) -> None:
    estimate = payer.reads(f"{PATH}?token=usdc-polygon&amount=7").data
    sent = payer.sends_tokens({"receiverWalletAddress": WALLET, "amount": 7}).data["disburseData"][0]
    assert estimate == {"token": "usdc-polygon", "amount": 7, "fee": sent["feeAmount"]}
    assert estimate["fee"] == Decimal("0.124")

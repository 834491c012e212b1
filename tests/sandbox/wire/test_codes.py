"""An unknown code has the same refusal everywhere, and so does an amount with too many decimals."""

from __future__ import annotations

from decimal import Decimal
from io import BytesIO

from pypdf import PdfReader

from tests.sandbox.actors import Merchant
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, WALLET, Payer
from tests.sandbox.payments.customers import sends
from tests.sandbox.recipients.payees import bank, changes, creates


def test_unknown_surplus_decimals(make_sandbox: MakeSandbox) -> None:
    asks = {"inputCurrency": "USD", "inputAmount": Decimal("12.345")}
    item = {"recipientId": RECIPIENTS["USD"], "amount": Decimal("5.005")}
    tokens = {"receiverWalletAddress": WALLET, "amount": Decimal("5.0000005")}
    for value, code in (("refused", 400), ("rounded", 200)):
        payer = Payer(make_sandbox(surplus_decimals=value))
        fiat, crypto = payer.pays(item), payer.sends_tokens(tokens)
        assert [payer.asks_checkout(**asks).code, fiat.code, crypto.code] == [code] * 3
        assert payer.asks_checkout(**asks | {"inputAmount": Decimal("0.001")}).code == 400
    assert (fiat.data["sumAmount"], crypto.data["sumAmount"]) == (Decimal("5.01"), Decimal("5.000001"))


def test_unknown_empty_strings(make_sandbox: MakeSandbox) -> None:
    for value, code in (("refused", 400), ("absent", 200)):
        merchant = Merchant(make_sandbox(empty_strings=value))
        answer = creates(merchant, reference="", bank=bank(bankName=""))
        assert answer.code == code
        assert creates(merchant, city="").code == 400
        # These must not be empty in a change either.
        assert changes(merchant, RECIPIENTS["USD"], address="").code == 400
    assert "reference" not in answer.data


NOTE = "For the bridge:\n\t1 Arch\r\n\t2 Piers"


def test_free_text_takes_line_breaks(payer: Payer) -> None:
    disbursement_id = payer.pays_one(note=NOTE)
    assert payer.sees(disbursement_id)["note"] == NOTE
    assert creates(payer, reference=NOTE).data["reference"] == NOTE
    payment = sends(payer, reason=NOTE, description=NOTE).data
    assert (payment["reason"], payment["description"]) == (NOTE, NOTE)
    payer.forces(disbursement_id)
    proof = PdfReader(BytesIO(payer.downloads(disbursement_id).data)).pages[0].extract_text()
    assert "bridge: 1 Arch 2 Piers\n" in proof

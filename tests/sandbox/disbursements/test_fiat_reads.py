"""Fiat disbursements and payment methods as they are read: every filter, the order, the pages."""

from __future__ import annotations

import re
from decimal import Decimal

from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import Payer


def test_a_crypto_disbursement_is_no_fiat_one(payer: Payer) -> None:
    for unknown in (payer.sends_one(), "none"):
        assert payer.reads(f"/v1/disbursement/fiat/{unknown}").code == 404
    assert payer.lists()["totalDocs"] == 0


def test_filters_by_id_status_and_currency_all_hold(payer: Payer) -> None:
    dollars, yen, settled = payer.pays_one(), payer.pays_one(1000, "JPY"), payer.pays_one()
    payer.forces(settled)
    assert payer.ids_listed(f"disbursementId={yen}") == [yen]
    assert payer.ids_listed("status=completed") == [settled]
    assert payer.ids_listed("status=pending") == [dollars, yen]
    assert payer.ids_listed("status=failed") == []
    assert payer.ids_listed("currency=USD") == [dollars, settled]
    assert payer.ids_listed("currency=USD&status=pending") == [dollars]
    assert payer.ids_listed(f"currency=USD&disbursementId={yen}") == []


def test_unknown_fiat_list_array(make_sandbox: MakeSandbox) -> None:
    payer = Payer(make_sandbox(fiat_list="array"))
    made = [payer.pays_one() for _ in range(3)]
    assert [record["disbursementId"] for record in payer.lists("limit=2&sort=-createdAt")] == made[:0:-1]


PATH = "/v1/disbursement/fiat/payment-method"


def test_every_method_has_limits_and_fees(payer: Payer) -> None:
    methods = payer.sends("GET", PATH).data
    for method in methods:
        assert 0 < method["minAmount"] < method["maxAmount"]
        assert re.fullmatch("[a-z]+(_[a-z]+)+", method["bankCode"])
    assert len({method["bankCode"] for method in methods}) == len(methods)


def test_the_currency_filters(payer: Payer) -> None:
    methods = payer.sends("GET", f"{PATH}?currency=KWD").data
    assert [method["bankCode"] for method in methods] == ["kw_al_marsa"]
    assert methods[0]["feeFlat"] == Decimal("0.150")
    assert payer.sends("GET", f"{PATH}?currency=CHF").data == []

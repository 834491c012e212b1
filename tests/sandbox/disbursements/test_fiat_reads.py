"""Fiat disbursements and payment methods as they are read: every filter, the order, the pages."""

from __future__ import annotations

import re
from decimal import Decimal

from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import Payer


def test_filters_by_id_status_and_currency_all_hold(payer: Payer) -> None:
    dollars, yen, settled = payer.pays_one(), payer.pays_one(1000, "JPY"), payer.pays_one()
    payer.forces(settled)
    assert payer.reads(f"/v1/disbursement/fiat/{payer.sends_one()}").code == 404
    for query, listed in {
        f"disbursementId={yen}": [yen],
        "status=completed": [settled],
        "status=failed": [],
        "currency=USD": [dollars, settled],
        "currency=USD&status=pending": [dollars],
        f"currency=USD&disbursementId={yen}": [],
        "": [dollars, yen, settled],
    }.items():
        assert [record["disbursementId"] for record in payer.lists(query)["docs"]] == listed, query


def test_unknown_fiat_list_array(make_sandbox: MakeSandbox) -> None:
    """The value `record` is tested too, which shows the first record alone."""
    payer, other = (Payer(make_sandbox(fiat_list=value)) for value in ("array", "record"))
    assert other.lists() == {}
    ids_array, ids_record = ([each.pays_one() for _ in range(3)] for each in (payer, other))
    assert [record["disbursementId"] for record in payer.lists("limit=2&sort=-createdAt")] == ids_array[:0:-1]
    for query, place in (("", 0), ("limit=1&page=2", 1), ("sort=-createdAt", 2)):
        assert other.lists(query)["disbursementId"] == ids_record[place]
    assert other.lists("limit=1&page=4") == {}


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

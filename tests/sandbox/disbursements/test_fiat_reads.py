"""Fiat disbursements and payment methods as they are read: every filter, the order, the pages."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from tests.sandbox.actors import Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, Payer


@pytest.mark.rule("A fiat disbursement is read with all of these fields.")
def test_a_record_holds_every_field(payer: Payer) -> None:
    record = payer.sees(payer.pays_one(reference="r-1", note="May"))
    assert (record["amount"], record["reference"], record["note"]) == (Decimal("12.50"), "r-1", "May")


def test_a_crypto_disbursement_is_no_fiat_one(payer: Payer) -> None:
    for unknown in (payer.sends_one(), "none"):
        assert payer.reads(f"/v1/disbursement/fiat/{unknown}").code == 404
    assert payer.lists()["totalDocs"] == 0


@pytest.mark.rule("Lists of disbursements, payments and recipients have ten items a page by default.")
@pytest.mark.rule("Ten a page unless limit says otherwise, the first page unless page does.")
@pytest.mark.rule("Sorted by creation unless sort says otherwise; a minus turns the order around.")
def test_ten_records_a_page_by_default_in_the_order_of_their_making(payer: Payer) -> None:
    batch = payer.pays(*[{"recipientId": RECIPIENTS["USD"], "amount": 5}] * 12).data["disburseData"]
    made = [item["disbursementId"] for item in batch]
    page = payer.lists()
    assert (page["limit"], page["totalDocs"], page["totalPages"], page["nextPage"]) == (10, 12, 2, 2)
    assert [record["disbursementId"] for record in page["docs"]] == made[:10]
    assert payer.ids_listed("page=2") == made[10:]
    assert payer.ids_listed("sort=-createdAt&limit=5&page=2") == made[-6:-11:-1]


def test_sorting_by_the_last_change(payer: Payer, tester: Tester) -> None:
    first, second = payer.pays_one(), payer.pays_one()
    tester.advances(minutes=1)
    payer.forces(first)
    assert payer.ids_listed("sort=updatedAt") == [second, first]
    assert payer.ids_listed("sort=-updatedAt") == [first, second]


@pytest.mark.rule("The status to filter by is pending, failed or completed; others are refused.")
@pytest.mark.rule("The list is narrowed by id, by status and by currency, and by all that are given together.")
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


@pytest.mark.rule("Whether the list is paged is open; a plain array holds the same records.")
def test_unknown_fiat_list_array(make_sandbox: MakeSandbox) -> None:
    payer = Payer(make_sandbox(fiat_list="array"))
    made = [payer.pays_one() for _ in range(3)]
    assert [record["disbursementId"] for record in payer.lists("limit=2&sort=-createdAt")] == made[:0:-1]


PATH = "/v1/disbursement/fiat/payment-method"


@pytest.mark.rule("A bank that can be paid has a code in lower-case words, limits and fees.")
def test_every_method_has_limits_and_fees(payer: Payer) -> None:
    methods = payer.sends("GET", PATH).data
    for method in methods:
        assert 0 < method["minAmount"] < method["maxAmount"]
        assert re.fullmatch("[a-z]+(_[a-z]+)+", method["bankCode"])
    assert len({method["bankCode"] for method in methods}) == len(methods)


@pytest.mark.rule("All banks are listed, or those of one currency.")
def test_the_currency_filters(payer: Payer) -> None:
    methods = payer.sends("GET", f"{PATH}?currency=KWD").data
    assert [method["bankCode"] for method in methods] == ["kw_al_marsa"]
    assert methods[0]["feeFlat"] == Decimal("0.150")
    assert payer.sends("GET", f"{PATH}?currency=CHF").data == []

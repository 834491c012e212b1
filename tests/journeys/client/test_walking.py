"""A list of the sandbox is walked while disbursements are made, in either form that the service may give it."""

from __future__ import annotations

import pytest

from flask_paycheckout.client import FiatItem, NewRecipient, PayoutBank
from flask_paycheckout.client.vocabulary import Sort
from tests.journeys.client.conftest import SetUp


@pytest.mark.parametrize("form", ["paged", "array"])
@pytest.mark.parametrize("sort", ["createdAt", "-createdAt"])
def test_a_page_of_new_disbursements_hides_none(set_up: SetUp, form: str, sort: Sort) -> None:
    payouts = set_up(fiat_list=form).client.fiat_disbursements
    bank = payouts.payment_methods("USD")[0]
    account = PayoutBank(
        bank_name=bank.bank_name or "", bank_code=bank.bank_code, account_name="Bo", account_number="4000123412"
    )

    def pays_ten() -> list[str]:
        items = [FiatItem(amount="1.50", recipient=NewRecipient(bank=account, name="Bo"))] * 10
        return [made.disbursement_id for made in payouts.create("USD", items).disburse_data]

    before = [*pays_ten(), *pays_ten(), *pays_ten()]
    found = payouts.iterate(limit=10, sort=sort)
    seen = [next(found).disbursement_id]
    pays_ten()
    seen += [one.disbursement_id for one in found]
    assert len(seen) == len(set(seen))
    assert set(before) <= set(seen)

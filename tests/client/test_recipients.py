from __future__ import annotations

import pytest

from flask_paycheckout.client import BankDetails
from tests.client.samples import PERSON, RECIPIENT
from tests.client.wire import Script, Shop, success


@pytest.mark.parametrize(("wire", "read"), [(1234567890, "1234567890"), ("0012", "0012"), (1.5, None), (True, None)])
def test_an_account_number_is_a_string_whatever_it_was(wire: object, read: str | None) -> None:
    data = {**RECIPIENT, "bank": [{**RECIPIENT["bank"][0], "accountNumber": wire}]}
    recipient = Shop(Script(success(data))).recipients.get("r1")
    assert recipient.bank[0].account_number == read
    assert recipient.bank[0].bank_name == "some bankName"
    assert repr(recipient).count("1234567890") == 0


def test_a_field_that_cannot_be_sent_is_named() -> None:
    script = Script(success(RECIPIENT))
    with pytest.raises(ValueError, match=r"bank\.currency is missing"):
        Shop(script).recipients.create(**PERSON, bank=BankDetails(account_name="Bo", country="US"))
    assert script.requests == []

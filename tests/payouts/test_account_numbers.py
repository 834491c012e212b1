"""Account numbers as people paste them."""

from __future__ import annotations

import pytest

from flask_paycheckout import ToBank
from flask_paycheckout.payouts.account_numbers import bank_in_iban, iban_of, last_digits, pasted
from flask_paycheckout.payouts.claims import Fault, read_form

IBAN = "DE89 3704 0044 0532 0130 00"


BLANKS = ["", " ", "\u00a0", "\u202f", "\u2009", "\u200b", "\u2060", "\t", "  "]


@pytest.mark.parametrize(
    "typed",
    [
        *(IBAN.replace(" ", blank) for blank in BLANKS),
        *(before + IBAN for before in ("IBAN ", "iban:\u00a0", " IBAN. ")),
    ],
    ids=ascii,
)
def test_an_iban_is_taken_with_any_blanks_and_the_word_before_it(typed: str) -> None:
    number = read_form("EUR", {"account_number": typed}).values["account_number"]
    assert iban_of(number) == "DE89370400440532013000"
    assert bank_in_iban("DE89370400440532013000") == "Germany, 37040044"
    assert iban_of(ToBank("Bo", typed, "b1", "Bank").account_number) == iban_of(number)


@pytest.mark.parametrize("typed", ["IBAN DE88 3704 0044 0532 0130 00", "DE88\u00a03704 0044 0532 0130 00"])
def test_an_account_number_is_judged_as_it_was_meant(typed: str) -> None:
    assert read_form("EUR", {"account_number": typed}).faults["account_number"] is Fault.NO_IBAN


@pytest.mark.parametrize(
    ("number", "masked"),
    [
        ("9876543210", "210"),
        ("1111222233338999", "8999"),
        ("12", ""),
        ("12-34 56", "56"),
        ("１２３４５６７", "67"),
        (IBAN, "3000"),
    ],
)
def test_never_more_than_a_third_of_a_number_is_shown(number: str, masked: str) -> None:
    assert last_digits(pasted(number)) == masked

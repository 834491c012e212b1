"""Destinations: what is refused, what is shown, and what is stored."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet

from flask_paycheckout import ToBank, ToRecipient, ToWallet
from flask_paycheckout.payouts.destinations import Sealing, Unreadable, require_destination

NUMBER = "DE12 5001 0517 0648 4898 90"
BANK: dict[str, Any] = {"account_name": "Bo", "account_number": NUMBER, "bank_code": "b1", "bank_name": "Bank"}
EVM, STELLAR = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "G" + "A" * 55


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"account_name": "\u3164 "}, "account_name must have 1 to 255 characters"),
        ({"bank_name": "a\nb"}, "bank_name must have 1 to 255 characters"),
        ({"bank_code": "x" * 256}, "bank_code must have 1 to 255 characters"),
        ({"email": "nobody"}, "email is no e-mail address"),
        ({"account_number": ""}, "account_number must be"),
        ({"account_number": "1" * 65}, "account_number must be"),
        ({"account_number": "12<script>"}, "account_number must be"),
    ],
)
def test_a_bank_account_is_refused_by_field_fault_and_remedy(changed: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault) as refused:
        ToBank(**BANK | changed)
    assert "script" not in str(refused.value)


@pytest.mark.parametrize("name", BANK)
def test_a_value_that_is_no_string_is_no_part_of_a_bank_account(name: str) -> None:
    for missing in (None, 40001234):
        with pytest.raises(TypeError, match=f"{name} must be a string, not {type(missing).__name__}"):
            ToBank(**BANK | {name: missing})


def test_an_account_number_shows_itself_nowhere() -> None:
    to = ToBank(**BANK)
    assert NUMBER not in f"{to!r} {to} {to.masked} {to.account_number!r}"
    assert to.masked == "Name: Bo\nBank: Bank\nIBAN: Germany, 50010517\nNumber ends with: 9890"
    assert ToBank(**BANK | {"account_number": "12"}).masked.endswith("Number ends with: …")


@pytest.mark.parametrize(
    ("to", "currency", "fault"),
    [
        (ToBank(**BANK), "usdc-polygon", "only a wallet takes"),
        (ToRecipient("rec_1"), "usdc-polygon", "only a wallet takes"),
        (ToWallet(EVM), "USD", "is paid to bank accounts"),
        (ToWallet(STELLAR), "usdc-polygon", "0x and 40 hexadecimal digits"),
        (ToWallet(EVM), "usdc-stellar", "begins with G or M"),
    ],
)
def test_a_destination_must_take_the_currency(to: Any, currency: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        require_destination(to, currency)


def test_an_address_on_a_network_that_is_not_known_here_is_left_to_the_service() -> None:
    assert require_destination(ToWallet("any"), "x-new") == ToWallet("any")


def test_details_are_sealed_by_the_first_key_and_opened_by_each() -> None:
    old, new = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    to = ToBank(**BANK)
    stored = Sealing([old], lambda: [b"k"]).seal(to)
    assert NUMBER not in stored
    assert Sealing([new, old], lambda: [b"k"]).open("bank", stored) == to
    for keys in ([new], list[str]()):
        with pytest.raises(Unreadable, match="add that key"):
            Sealing(keys, lambda: [b"k"]).open("bank", stored)
